//! Positions of extreme elements: small workgroups, and whole vectors where the elements lie so.

use std::fmt::Write;
use std::sync::Arc;

use super::{LANES, LONGEST_LOOP, VECTOR, reads_vectors};
use crate::backend::gpu::arg_reduce::ArgReduce;
use crate::backend::gpu::kernel::Kernel;
use crate::backend::gpu::pipeline::Pipeline;
use crate::backend::gpu::reduce::Source;
use crate::backend::gpu::tensor::Context;
use crate::backend::gpu::wgsl::{self, Text};
use crate::error::Result;

/// The kernel that takes the place of one in which workgroups look at runs.
pub(in crate::backend::gpu) fn arg_reduce(
    context: &Context,
    kernel: &ArgReduce,
    source: &Source,
) -> Option<Result<Arc<Pipeline>>> {
    kernel.rows.filter(|_| context.gpu.is_software())?;
    let mut kernel = kernel.clone();
    if source.reduced[0].0 / LANES <= LONGEST_LOOP {
        kernel.rows = Some(LANES as u32);
    }
    Some(match reads_vectors(context.gpu, source) {
        true => context.pipeline(&OfVectors { kernel }),
        false => context.pipeline(&kernel),
    })
}

/// The same, reading vectors.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct OfVectors {
    kernel: ArgReduce,
}

impl Kernel for OfVectors {
    fn label(&self) -> String {
        self.kernel.label()
    }

    fn text(&self) -> Text {
        let mut text = Text::new(self.kernel.shared);
        text.output(crate::array::Dtype::Uint32);
        text.input_of("vec4<u64>");
        let ty = wgsl::scalar(self.kernel.accumulator());
        let value = wgsl::decoded(self.kernel.from, "bits");
        let read = |lifted: &str| {
            format!(
                "fn lift_(bits: u32) -> {ty} {{ let v = {value}; return {lifted}; }}
fn at_(base: u32, j: u32) -> {ty} {{
    let i = base + j;
    return lift_(u32(in0[i / {VECTOR}u][(i / 2u) % 4u] >> (32u * (i % 2u))));
}}
"
            )
        };
        self.kernel.finish(&mut text, read, &self.kernel.rows.map(walk).unwrap_or_default());
        text
    }
}

/// Each invocation looks at one vector of so many.
fn walk(group: u32) -> String {
    let mut text = format!(
        "    var place = min(li * {VECTOR}u, p.p1 - 1u);
    var best = at_(base, place);
    for (var j = li; j < p.p1 / {VECTOR}u; j = j + {group}u) {{
        let pairs = in0[base / {VECTOR}u + j];
"
    );
    for i in 0..VECTOR {
        let (pair, shift) = (i / 2, i % 2 * 32);
        let _ = writeln!(
            text,
            "        {{ let v = lift_(u32(pairs[{pair}] >> {shift}u)); let wins = beats_(v, best);
        best = select(best, v, wins); place = select(place, j * {VECTOR}u + {i}u, wins); }}"
        );
    }
    text.push_str("    }\n");
    text
}
