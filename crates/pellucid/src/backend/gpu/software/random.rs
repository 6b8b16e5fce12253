//! Random bits of one key, made and written in vectors.

use std::fmt::Write;

use super::{VECTOR, has_vectors};
use crate::array::Dtype;
use crate::backend::gpu::kernel::Kernel;
use crate::backend::gpu::random::threefry;
use crate::backend::gpu::record::{Bind, folded};
use crate::backend::gpu::tensor::{Context, In, Out, share_memory};
use crate::backend::gpu::wgsl::{GROUP, ROW, Text};
use crate::error::Result;

/// Words of one key; `None` if there are several, or they are not whole vectors.
pub(in crate::backend::gpu) fn random_bits(
    context: &Context,
    keys: &In,
    width: u8,
    out: &Out,
) -> Option<Result<()>> {
    let vectors = has_vectors(context.gpu)
        && keys.elements() == 2
        && width == 4
        && out.elements().is_multiple_of(2 * VECTOR)
        && !share_memory(keys.buffer, out.buffer);
    vectors.then(|| run(context, keys, out))
}

fn run(context: &Context, keys: &In, out: &Out) -> Result<()> {
    let pipeline = context.pipeline(&Halves)?;
    let window = context.window(keys)?;
    let vectors = out.elements() / 2 / VECTOR;
    let distance = keys.strides[keys.shape.len() - 1];
    let params = [vectors as u32, (keys.offset - window.skipped) as u32, distance as i32 as u32];
    let target = Bind { buffer: out.buffer, start: 0, bytes: (out.elements() * 4) as u64 };
    let groups = folded((vectors as u64).div_ceil(u64::from(GROUP)));
    context.launch(&pipeline, &[target, window.bind], &params, groups)
}

/// An invocation makes a vector of the first half, and of the second one what comes with it. Parameters: vectors of a
/// half, offset, distance of the key's halves.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Halves;

impl Kernel for Halves {
    fn label(&self) -> String {
        "random_bits".to_owned()
    }

    fn text(&self) -> Text {
        let mut text = Text::new(false);
        text.output_of("vec4<u64>");
        text.input(Dtype::Uint32);
        let [vectors, offset, halves] = [0; 3].map(|_| text.take(1));
        let _ = write!(
            text.body,
            "{}@compute @workgroup_size({GROUP})
fn main(@builtin(workgroup_id) wg: vec3<u32>, @builtin(local_invocation_index) li: u32) {{
    let w = (wg.y * {ROW}u + wg.x) * {GROUP}u + li;
    if (w >= p.p{vectors}) {{ return; }}
    let k0 = ld0(p.p{offset});
    let k1 = ld0(p.p{offset} + p.p{halves});
    let half = p.p{vectors} * {VECTOR}u;
",
            threefry()
        );
        for i in 0..VECTOR {
            let c = format!("w * {VECTOR}u + {i}u");
            let _ = writeln!(text.body, "    let v{i} = threefry_(k0, k1, {c}, half + {c});");
        }
        for (at, part) in [("w", "x"), ("p.p0 + w", "y")] {
            let pairs: Vec<String> =
                (0..VECTOR / 2).map(|i| format!("pack_(v{}.{part}, v{}.{part})", 2 * i, 2 * i + 1)).collect();
            let _ = writeln!(text.body, "    out[{at}] = vec4<u64>({});", pairs.join(", "));
        }
        text.body.push_str("}\n");
        text
    }
}
