//! Reductions of one or more axes.
//!
//! Two shapes of kernel: a workgroup for each run of elements, or an invocation for each output where neighbouring
//! outputs lie side by side. Long runs are cut into segments, whose results are reduced again until one is left.

use std::fmt::Write;

use smallvec::SmallVec;

use super::device::Gpu;
use super::pipeline::Key;
use super::record::{Bind, folded};
use super::software::{VECTOR, reduce_tiles};
use super::tensor::{Context, In, Out, position_sum, positions, share_memory};
use super::wgsl::{self, GROUP, ROW, Text};
use super::{elementwise, pieces, softmax_rows};
use crate::array::{Dtype, Shape};
use crate::error::Result;
use crate::memory::Buffer;
use crate::op::ReduceOp;

/// Elements that one invocation adds up in a row; more cost accuracy and time.
const RUN: usize = 512;
/// Invocations that keep a large device busy.
const BUSY: usize = 16_384;

/// Workgroups that keep a software adapter busy.
const BUSY_SOFTWARE: usize = 64;

/// Invocations of a workgroup that reduces a run. A software adapter runs eight at once, and pays for each time
/// that more of them wait for one another.
pub(super) fn row_group(gpu: &Gpu) -> u32 {
    if gpu.is_software() { 8 } else { GROUP }
}

/// How elements are combined. The accumulator of `ExpSum` is the maximum and the sum of exponentials relative to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Combine {
    Sum,
    Prod,
    Max,
    Min,
    All,
    Any,
    ExpSum,
}

impl Combine {
    pub fn of(op: ReduceOp) -> Combine {
        match op {
            ReduceOp::Sum => Combine::Sum,
            ReduceOp::Prod => Combine::Prod,
            ReduceOp::Max => Combine::Max,
            ReduceOp::Min => Combine::Min,
            ReduceOp::All => Combine::All,
            ReduceOp::Any => Combine::Any,
            ReduceOp::Logsumexp => Combine::ExpSum,
        }
    }

    /// The type it accumulates in, for results of type `dtype`.
    pub fn accumulator(self, dtype: Dtype) -> Dtype {
        match (self, dtype) {
            (Combine::All | Combine::Any, _) => Dtype::Uint32,
            (Combine::ExpSum, _) => Dtype::Complex64,
            (_, Dtype::Float16 | Dtype::Bfloat16) => Dtype::Float32,
            (_, Dtype::Bool | Dtype::Uint8 | Dtype::Uint16) => Dtype::Uint32,
            (_, Dtype::Int8 | Dtype::Int16) => Dtype::Int32,
            (_, other) => other,
        }
    }

    /// An element `x` of type `from` as an accumulator of type `acc`.
    pub fn lift(self, from: Dtype, acc: Dtype, x: &str) -> String {
        match self {
            Combine::All | Combine::Any => format!("select(0u, 1u, {})", wgsl::cast(from, Dtype::Bool, x)),
            Combine::ExpSum => format!("vec2<f32>({}, 1.0)", wgsl::cast(from, Dtype::Float32, x)),
            _ => wgsl::cast(from, acc, x),
        }
    }

    /// WGSL functions `identity_` and `combine_` for an accumulator of elements of type `of`.
    pub fn functions(self, acc: Dtype, of: Dtype) -> String {
        let ty = wgsl::scalar(acc);
        let complex = acc == Dtype::Complex64;
        let (lowest, highest) = match if of.size() < 4 && !of.is_inexact() { of } else { acc } {
            Dtype::Int8 => ("-128", "127"),
            Dtype::Int16 => ("-32768", "32767"),
            Dtype::Bool => ("0u", "1u"),
            Dtype::Uint8 => ("0u", "255u"),
            Dtype::Uint16 => ("0u", "65535u"),
            Dtype::Float32 => ("-inf_()", "inf_()"),
            Dtype::Complex64 => ("vec2<f32>(-inf_(), -inf_())", "vec2<f32>(inf_(), inf_())"),
            Dtype::Int32 => ("(-2147483647 - 1)", "2147483647"),
            Dtype::Int64 => ("(-9223372036854775807li - 1li)", "9223372036854775807li"),
            Dtype::Uint64 => ("0lu", "18446744073709551615lu"),
            _ => ("0u", "4294967295u"),
        };
        let float = acc == Dtype::Float32;
        let (identity, combine) = match self {
            Combine::Sum => (format!("{ty}()"), "a + b".to_owned()),
            Combine::Prod if complex => ("vec2<f32>(1.0, 0.0)".to_owned(), "cmul_(a, b)".to_owned()),
            Combine::Prod => (format!("{ty}(1)"), "a * b".to_owned()),
            Combine::Max if complex => (lowest.to_owned(), "cmax_(a, b)".to_owned()),
            Combine::Max => (
                lowest.to_owned(),
                if float { "select(a, b, isnan_(b) | (a < b))" } else { "max(a, b)" }.to_owned(),
            ),
            Combine::Min if complex => (highest.to_owned(), "cmin_(a, b)".to_owned()),
            Combine::Min => (
                highest.to_owned(),
                if float { "select(a, b, isnan_(b) | (b < a))" } else { "min(a, b)" }.to_owned(),
            ),
            Combine::All => ("1u".to_owned(), "a & b".to_owned()),
            Combine::Any => ("0u".to_owned(), "a | b".to_owned()),
            Combine::ExpSum => ("vec2<f32>(-inf_(), 0.0)".to_owned(), "expsum_(a, b)".to_owned()),
        };
        let helper = if self == Combine::ExpSum { EXP_SUM } else { "" };
        format!(
            "{helper}fn identity_() -> {ty} {{ return {identity}; }}\n\
             fn combine_(a: {ty}, b: {ty}) -> {ty} {{ return {combine}; }}\n"
        )
    }
}

/// Equal maxima are not subtracted: both may be infinite.
const EXP_SUM: &str = "fn scale_(x: f32, m: f32) -> f32 { return select(exp_(x - m), 1.0, x == m); }
fn expsum_(a: vec2<f32>, b: vec2<f32>) -> vec2<f32> {
    let m = max_(a.x, b.x);
    return vec2<f32>(m, a.y * scale_(a.x, m) + b.y * scale_(b.x, m));
}
";

/// Elements to reduce, in two groups of axes.
#[derive(Clone)]
pub(super) struct Source<'a> {
    pub buffer: &'a Buffer,
    pub dtype: Dtype,
    pub offset: usize,
    pub kept: Axes,
    pub reduced: Axes,
    /// Already accumulators.
    pub partial: bool,
}

/// Sizes and strides of axes, joined where memory allows.
pub(super) type Axes = SmallVec<[(usize, isize); 6]>;

/// Drops axes of size one and joins neighbours that are one longer axis.
fn joined(axes: impl Iterator<Item = (usize, isize)>) -> Axes {
    let mut result = Axes::new();
    for (size, stride) in axes.filter(|a| a.0 != 1) {
        match result.last_mut() {
            Some(last) if last.1 == stride * size as isize => *last = (last.0 * size, stride),
            _ => result.push((size, stride)),
        }
    }
    result
}

fn count(axes: &Axes) -> usize {
    axes.iter().map(|a| a.0).product()
}

impl<'a> Source<'a> {
    pub fn new(x: &In<'a>, axes: &[usize]) -> Source<'a> {
        let pick = |reduced: bool| {
            let all = (0..x.shape.len()).filter(move |d| axes.contains(d) == reduced);
            joined(all.map(|d| (x.shape[d], x.strides[d])))
        };
        Source {
            buffer: x.buffer,
            dtype: x.dtype,
            offset: x.offset,
            kept: pick(false),
            reduced: pick(true),
            partial: false,
        }
    }

    /// As [`Source::new`], but the axes that stay keep their order and number, and the reduced one its direction.
    pub fn unjoined(x: &In<'a>, axes: &[usize]) -> Source<'a> {
        let kept =
            (0..x.shape.len()).filter(|d| !axes.contains(d)).map(|d| (x.shape[d], x.strides[d])).collect();
        let reduced = axes.iter().map(|&d| (x.shape[d], x.strides[d])).collect();
        Source { kept, reduced, ..Source::new(x, axes) }
    }

    /// Whether a software adapter can read whole vectors (see `pairs`): then runs are such vectors.
    pub fn has_vectors(&self, gpu: &Gpu) -> bool {
        gpu.has_vectors()
            && self.dtype.size() == 4
            && self.offset.is_multiple_of(VECTOR)
            && self.kept.iter().all(|a| a.1 % VECTOR as isize == 0)
            && matches!(self.reduced.as_slice(), [(size, 1)] if size.is_multiple_of(VECTOR))
    }

    /// Whether each output is better made by a workgroup: its elements lie closer than those of its neighbours.
    fn prefers_rows(&self) -> bool {
        let nearest = |axes: &Axes| {
            axes.iter().map(|a| a.1.unsigned_abs()).filter(|&s| s > 0).min().unwrap_or(usize::MAX)
        };
        let (outputs, elements) = (count(&self.kept), count(&self.reduced));
        elements >= 64 && (outputs < 64 || nearest(&self.reduced) < nearest(&self.kept))
    }
}

/// Reduces `axes` of `x`.
pub(super) fn reduce(context: &Context, op: ReduceOp, x: &In, axes: &[usize], out: &Out) -> Result<()> {
    let combine = Combine::of(op);
    let source_type = if matches!(op, ReduceOp::Sum | ReduceOp::Prod) { out.dtype } else { x.dtype };
    let acc = combine.accumulator(source_type);
    if combine == Combine::ExpSum {
        let sums = context.scratch(out.elements() * 8)?;
        pieces::reduce(context, combine, acc, x, axes, &sums)?;
        let (shape, strides) = ([out.elements()], [1isize]);
        let sums = In { buffer: &sums, dtype: Dtype::Complex64, shape: &shape, strides: &strides, offset: 0 };
        let flat = Out { shape: &shape, ..out.clone() };
        let value = wgsl::rounded(out.dtype, "x0.x + log_(x0.y)");
        return elementwise::formula(context, "logsumexp_end", &[sums], &flat, &value);
    }
    if acc == out.dtype {
        return pieces::reduce(context, combine, acc, x, axes, out.buffer);
    }
    let made = context.scratch(out.elements() * acc.size())?;
    pieces::reduce(context, combine, acc, x, axes, &made)?;
    convert(context, &made, acc, out)
}

/// Writes accumulators, row-major, as elements of the output.
pub(super) fn convert(context: &Context, made: &Buffer, acc: Dtype, out: &Out) -> Result<()> {
    let strides = Shape::from(out.shape).row_major();
    let made = In { buffer: made, dtype: acc, shape: out.shape, strides: &strides, offset: 0 };
    let name = "convert";
    elementwise::formula(context, name, &[made], out, &wgsl::cast(acc, out.dtype, "x0"))
}

/// Reduces to accumulators, row-major in `target`.
pub(super) fn run(
    context: &Context,
    combine: Combine,
    acc: Dtype,
    source: Source,
    outputs: usize,
    target: &Buffer,
) -> Result<()> {
    if let Some((partial, [kept, reduced])) = reduce_tiles::run(context, combine, acc, &source, outputs)? {
        let next = Source { buffer: &partial, dtype: acc, offset: 0, kept, reduced, partial: true };
        return run(context, combine, acc, next, outputs, target);
    }
    let elements = count(&source.reduced);
    let rows = source.prefers_rows();
    let group = row_group(context.gpu) as usize;
    let (per_segment, busy) = match (rows, context.gpu.is_software()) {
        (true, true) => (RUN * group, BUSY_SOFTWARE),
        (true, false) => (RUN * group / 4, BUSY / group),
        (false, _) => (RUN, BUSY),
    };
    let wanted = busy.div_ceil(outputs);
    let segments = elements.div_ceil(per_segment).max(wanted.min(elements.div_ceil(per_segment / 8).max(1)));
    let vectors = rows && source.has_vectors(context.gpu);
    let length = elements.div_ceil(segments).next_multiple_of(if vectors { VECTOR } else { 1 });
    let segments = elements.div_ceil(length);
    if segments == 1 {
        return stage(context, combine, acc, &source, rows, outputs, elements, 1, target);
    }
    let partial = context.scratch(outputs * segments * acc.size())?;
    stage(context, combine, acc, &source, rows, outputs, length, segments, &partial)?;
    // Results of one output lie side by side where a workgroup made them, else those of one segment.
    let (kept, reduced) = if rows { (segments as isize, 1) } else { (1, outputs as isize) };
    let next = Source {
        buffer: &partial,
        dtype: acc,
        offset: 0,
        kept: joined([(outputs, kept)].into_iter()),
        reduced: joined([(segments, reduced)].into_iter()),
        partial: true,
    };
    run(context, combine, acc, next, outputs, target)
}

#[allow(clippy::too_many_arguments, reason = "one launch, described once")]
fn stage(
    context: &Context,
    combine: Combine,
    acc: Dtype,
    source: &Source,
    rows: bool,
    outputs: usize,
    length: usize,
    segments: usize,
    target: &Buffer,
) -> Result<()> {
    let (kept, reduced) = (source.kept.len(), source.reduced.len());
    let shared = share_memory(source.buffer, target);
    let vectors = rows && source.has_vectors(context.gpu);
    let words = [
        combine as u32,
        acc as u32,
        source.dtype as u32,
        u32::from(source.partial) | u32::from(rows) << 1 | u32::from(shared) << 2 | u32::from(vectors) << 3,
        kept as u32,
        reduced as u32,
    ];
    let pipeline =
        context.pipeline_by(Key { family: "reduce", words: SmallVec::from_slice(&words) }, || {
            let label = format!("{combine:?}_{}", if rows { "rows" } else { "columns" }).to_lowercase();
            (label, text(combine, acc, source, rows.then(|| row_group(context.gpu)), shared, vectors))
        })?;
    let window = source_window(context, source)?;
    let mut params: SmallVec<[u32; 24]> = SmallVec::from_slice(&[
        outputs as u32,
        count(&source.reduced) as u32,
        length as u32,
        segments as u32,
        (source.offset - window.skipped) as u32,
    ]);
    push_axes(&mut params, &source.kept);
    push_axes(&mut params, &source.reduced);
    let bytes = (outputs * segments * acc.size()) as u64;
    let all = (outputs * segments) as u64;
    let groups = if rows { all } else { all.div_ceil(u64::from(GROUP)) };
    let binds = [Bind { buffer: target, start: 0, bytes }, window.bind];
    context.launch(&pipeline, &binds, &params, folded(groups))
}

/// The part of the buffer that holds all elements of a source.
pub(super) fn source_window<'a>(context: &Context, source: &Source<'a>) -> Result<super::tensor::Window<'a>> {
    let axes: Axes = source.kept.iter().chain(&source.reduced).copied().collect();
    let shape: SmallVec<[usize; 8]> = axes.iter().map(|a| a.0).collect();
    let strides: SmallVec<[isize; 8]> = axes.iter().map(|a| a.1).collect();
    let x = In {
        buffer: source.buffer,
        dtype: source.dtype,
        shape: &shape,
        strides: &strides,
        offset: source.offset,
    };
    let (low, high) = x.reach();
    super::tensor::window(context.gpu, source.buffer, source.dtype, low, high)
        .ok_or_else(|| crate::Error::internal("gpu", "a reduction outside the limits of bindings"))
}

/// Sizes of all axes but the first, then all strides.
pub(super) fn push_axes(params: &mut SmallVec<[u32; 24]>, axes: &Axes) {
    params.extend(axes.iter().skip(1).map(|a| a.0 as u32));
    params.extend(axes.iter().map(|a| a.1 as i32 as u32));
}

/// Parameter numbers of the sizes and strides that [`push_axes`] wrote.
pub(super) fn take_axes(text: &mut Text, rank: usize) -> (usize, usize) {
    (text.take(rank.saturating_sub(1)), text.take(rank))
}

/// The kernel; `rows` is the size of the workgroups that each reduce a run, if they do.
fn text(
    combine: Combine,
    acc: Dtype,
    source: &Source,
    rows: Option<u32>,
    shared: bool,
    vectors: bool,
) -> Text {
    let mut text = Text::new(shared);
    text.output(acc);
    if vectors {
        text.input_of("vec4<u64>");
    } else {
        text.input(source.dtype);
    }
    let (kept, reduced) = (source.kept.len(), source.reduced.len());
    // Outputs, elements, elements of a segment, segments, offset.
    text.take(5);
    let (kept_sizes, kept_strides) = take_axes(&mut text, kept);
    let (reduced_sizes, reduced_strides) = take_axes(&mut text, reduced);
    let ty = wgsl::scalar(acc);
    let mut body = combine.functions(acc, source.dtype);
    let lifted = if source.partial { "v".to_owned() } else { combine.lift(source.dtype, acc, "v") };
    if vectors {
        let value = wgsl::decoded(source.dtype, "bits");
        let _ = write!(
            body,
            "fn lift_(bits: u32) -> {ty} {{\n    let v = {value};\n    return {lifted};\n}}
fn both_(pair: u64) -> {ty} {{ return combine_(lift_(u32(pair)), lift_(u32(pair >> 32u))); }}
fn at_(base: u32, j: u32) -> {ty} {{
    let pairs = in0[base / {VECTOR}u + j];
    return combine_(combine_(both_(pairs[0]), both_(pairs[1])), combine_(both_(pairs[2]), both_(pairs[3])));
}}
"
        );
    } else {
        let _ = writeln!(body, "fn at_(base: u32, j: u32) -> {ty} {{");
        positions(&mut body, "r", "j", reduced, reduced_sizes);
        let at = position_sum("base", "r", reduced, reduced_strides);
        let _ = writeln!(body, "    let v = ld0({at});\n    return {lifted};\n}}");
    }
    let _ = writeln!(body, "fn base_(o: u32) -> u32 {{");
    positions(&mut body, "c", "o", kept, kept_sizes);
    let _ = writeln!(body, "    return {};\n}}", position_sum("p.p4", "c", kept, kept_strides));
    if let Some(group) = rows {
        let _ = write!(
            body,
            "var<workgroup> part: array<{ty}, {group}>;
@compute @workgroup_size({group})
fn main(@builtin(workgroup_id) wg: vec3<u32>, @builtin(local_invocation_index) li: u32) {{
    let t = wg.y * {ROW}u + wg.x;
    if (t >= p.p0 * p.p3) {{ return; }}
    let base = base_(t / p.p3);
    let first = (t % p.p3) * p.p2;
    let end = min(first + p.p2, p.p1) / {unit}u;
    var acc = identity_();
    for (var j = first / {unit}u + li; j < end; j = j + {group}u) {{ acc = combine_(acc, at_(base, j)); }}
    part[li] = acc;
    workgroupBarrier();
    for (var half = {half}u; half > 0u; half = half >> 1u) {{
        if (li < half) {{ part[li] = combine_(part[li], part[li + half]); }}
        workgroupBarrier();
    }}
    if (li == 0u) {{ out[t] = part[0]; }}
}}
",
            half = group / 2,
            unit = if vectors { VECTOR } else { 1 }
        );
    } else {
        let _ = write!(
            body,
            "@compute @workgroup_size({GROUP})
fn main(@builtin(workgroup_id) wg: vec3<u32>, @builtin(local_invocation_index) li: u32) {{
    let t = (wg.y * {ROW}u + wg.x) * {GROUP}u + li;
    if (t >= p.p0 * p.p3) {{ return; }}
    let base = base_(t % p.p0);
    let first = (t / p.p0) * p.p2;
    let end = min(first + p.p2, p.p1);
    var acc = identity_();
    for (var j = first; j < end; j = j + 1u) {{ acc = combine_(acc, at_(base, j)); }}
    out[t] = acc;
}}
"
        );
    }
    text.body = body;
    text
}

/// exp(x − max) / Σ exp(x − max) over axes.
pub(super) fn softmax(context: &Context, x: &In, axes: &[usize], out: &Out) -> Result<()> {
    if softmax_rows::run(context, x, axes, out)? {
        return Ok(());
    }
    let kept: SmallVec<[usize; 6]> =
        (0..x.shape.len()).map(|d| if axes.contains(&d) { 1 } else { x.shape[d] }).collect();
    let outputs: usize = kept.iter().product();
    let sums = context.scratch(outputs * 8)?;
    pieces::reduce(context, Combine::ExpSum, Dtype::Complex64, x, axes, &sums)?;
    let strides = Shape::from(&kept[..]).row_major();
    let sums = In { buffer: &sums, dtype: Dtype::Complex64, shape: &kept, strides: &strides, offset: 0 };
    // As on the CPU, an infinite maximum leaves no meaningful quotients.
    let value = wgsl::rounded(out.dtype, "select(exp_(x0 - x1.x) / x1.y, nan_(), isinf_(x1.x))");
    elementwise::formula(context, "softmax_end", &[x.clone(), sums], out, &value)
}
