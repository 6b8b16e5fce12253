//! Reading at positions in whole vectors, where what is taken lies side by side.

use std::fmt::Write;
use std::sync::Arc;

use super::{VECTOR, has_vectors};
use crate::backend::gpu::index::{Gather, Way};
use crate::backend::gpu::kernel::Kernel;
use crate::backend::gpu::pipeline::Pipeline;
use crate::backend::gpu::tensor::{Context, In};
use crate::backend::gpu::wgsl::{GROUP, ROW, Text};
use crate::error::Result;

/// The kernel that takes the place of another one, and the elements that an invocation of it makes. `moves` are the
/// strides of `x` along the axes of the output.
pub(in crate::backend::gpu) fn gather(
    context: &Context,
    kernel: &Gather,
    x: &In,
    axis: usize,
    moves: &[isize],
) -> Option<(Result<Arc<Pipeline>>, usize)> {
    let last = x.shape.len() - 1;
    let whole = |stride: &isize| stride % VECTOR as isize == 0;
    let vectors = has_vectors(context.gpu)
        && kernel.way == Way::Take
        && axis < last
        && x.dtype.size() == 4
        && x.offset.is_multiple_of(VECTOR)
        && x.shape[last].is_multiple_of(VECTOR)
        && x.strides[last] == 1
        && whole(&x.strides[axis])
        && moves[..moves.len() - 1].iter().all(whole);
    vectors.then(|| (context.pipeline(&OfVectors { kernel: kernel.clone() }), VECTOR))
}

/// The same, with vectors for elements.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct OfVectors {
    kernel: Gather,
}

impl Kernel for OfVectors {
    fn label(&self) -> String {
        self.kernel.label()
    }

    fn text(&self) -> Text {
        let vector = format!("vec{}<u64>", VECTOR / 2);
        let mut text = Text::new(self.kernel.shared);
        text.output_of(&vector);
        text.input_of(&vector);
        let body = self.kernel.body(&mut text);
        let _ = write!(
            text.body,
            "fn value(i: u32) -> {vector} {{
{body}    return in0[source / {VECTOR}u];
}}
@compute @workgroup_size({GROUP})
fn main(@builtin(workgroup_id) wg: vec3<u32>, @builtin(local_invocation_index) li: u32) {{
    let w = (wg.y * {ROW}u + wg.x) * {GROUP}u + li;
    if (w * {VECTOR}u >= p.p0) {{ return; }}
    out[w] = value(w * {VECTOR}u);
}}
"
        );
        text
    }
}
