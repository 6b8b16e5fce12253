//! Reductions: large ones through tiles, then workgroups no larger than what runs at once, and whole vectors where the
//! elements lie so.

use std::fmt::Write;

use super::{LANES, VECTOR, reads_vectors, reduce_tiles};
use crate::backend::gpu::kernel::Kernel;
use crate::backend::gpu::reduce::{self, Job, RUN, Reduce, Reduction, Segments, Source, stage};
use crate::backend::gpu::tensor::Context;
use crate::backend::gpu::wgsl::{self, Text};
use crate::error::Result;

/// Workgroups that keep the cores busy.
const BUSY: usize = 64;

/// Reduces to accumulators; `None` if the ordinary kernel does as well.
pub(in crate::backend::gpu) fn reduce(context: &Context, job: &Job) -> Option<Result<()>> {
    if !context.gpu.is_software() {
        return None;
    }
    match reduce_tiles::run(context, job) {
        Ok(None) => {}
        Ok(Some((partial, [kept, reduced]))) => {
            let source = Source { buffer: &partial, dtype: job.acc, offset: 0, kept, reduced, partial: true };
            return Some(reduce::run(context, &Job { source, ..*job }));
        }
        Err(error) => return Some(Err(error)),
    }
    if !job.source.prefers_rows() {
        return None;
    }
    let (reduction, group) = (Reduction::of(job), LANES as u32);
    let vectors = reads_vectors(context.gpu, &job.source);
    let segments = Segments::new(job, RUN * LANES, BUSY, if vectors { VECTOR } else { 1 });
    if vectors {
        return Some(stage(context, job, segments, true, |shared| OfVectors { reduction, group, shared }));
    }
    let reduced = job.source.reduced.len();
    let kernel = |shared| Reduce { reduction, reduced, rows: Some(group), shared };
    Some(stage(context, job, segments, true, kernel))
}

/// Workgroups of this size that each reduce a segment of whole vectors.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct OfVectors {
    reduction: Reduction,
    group: u32,
    shared: bool,
}

impl Kernel for OfVectors {
    fn label(&self) -> String {
        format!("{:?}_rows", self.reduction.combine).to_lowercase()
    }

    fn text(&self) -> Text {
        let &OfVectors { reduction, group, shared } = self;
        let mut text = Text::new(shared);
        text.output(reduction.acc);
        text.input_of("vec4<u64>");
        reduction.start(&mut text, 1);
        let (ty, lifted) = (wgsl::scalar(reduction.acc), reduction.lifted());
        let value = wgsl::decoded(reduction.from, "bits");
        let _ = write!(
            text.body,
            "fn lift_(bits: u32) -> {ty} {{\n    let v = {value};\n    return {lifted};\n}}
fn both_(pair: u64) -> {ty} {{ return combine_(lift_(u32(pair)), lift_(u32(pair >> 32u))); }}
fn at_(base: u32, j: u32) -> {ty} {{
    let pairs = in0[base / {VECTOR}u + j];
    return combine_(combine_(both_(pairs[0]), both_(pairs[1])), combine_(both_(pairs[2]), both_(pairs[3])));
}}
"
        );
        text.body.push_str(&reduction.rows_entry(group, VECTOR));
        text
    }
}
