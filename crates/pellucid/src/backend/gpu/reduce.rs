//! Reductions of one or more axes.
//!
//! Two shapes of kernel: a workgroup for each run of elements, or an invocation for each output where neighbouring
//! outputs lie side by side. Long runs are cut into segments, whose results are reduced again until one is left.

use std::fmt::Write;

use smallvec::SmallVec;

use super::elementwise::{self, Convert, Expression, Operands};
use super::kernel::Kernel;
use super::record::{Bind, folded};
use super::tensor::{Context, In, Out, position_sum, positions, share_memory};
use super::wgsl::{self, GROUP, ROW, Text};
use super::{pieces, software};
use crate::array::{Dtype, Shape};
use crate::error::Result;
use crate::memory::Buffer;
use crate::op::ReduceOp;

/// Elements that one invocation adds up in a row; more cost accuracy and time.
pub(super) const RUN: usize = 512;
/// Invocations that keep a large device busy.
const BUSY: usize = 16_384;

/// How elements are combined. The accumulator of `ExpSum` is the maximum and the sum of exponentials relative to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
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

    /// Whether each output is better made by a workgroup: its elements lie closer than those of its neighbours.
    pub fn prefers_rows(&self) -> bool {
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
        return elementwise::map(context, LogSumExp, &[sums], &flat);
    }
    if acc == out.dtype {
        return pieces::reduce(context, combine, acc, x, axes, out.buffer);
    }
    let made = context.scratch(out.elements() * acc.size())?;
    pieces::reduce(context, combine, acc, x, axes, &made)?;
    convert(context, &made, acc, out)
}

/// The logarithm of a sum of exponentials, from its accumulator.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct LogSumExp;

impl Expression for LogSumExp {
    fn label(&self) -> &'static str {
        "logsumexp_end"
    }

    fn value(&self, operands: &Operands) -> String {
        wgsl::rounded(operands.out, "x0.x + log_(x0.y)")
    }
}

/// Writes accumulators, row-major, as elements of the output.
pub(super) fn convert(context: &Context, made: &Buffer, acc: Dtype, out: &Out) -> Result<()> {
    let strides = Shape::from(out.shape).row_major();
    let made = In { buffer: made, dtype: acc, shape: out.shape, strides: &strides, offset: 0 };
    elementwise::map(context, Convert, &[made], out)
}

/// A source to be reduced to accumulators, row-major in `target`.
pub(super) struct Job<'a> {
    pub combine: Combine,
    pub acc: Dtype,
    pub source: Source<'a>,
    pub outputs: usize,
    pub target: &'a Buffer,
}

/// The segments that runs are cut into.
#[derive(Clone, Copy)]
pub(super) struct Segments {
    length: usize,
    count: usize,
}

impl Segments {
    /// Segments of up to `longest` elements, multiples of `unit`; more of them where they do not keep so many workgroups
    /// or invocations busy.
    pub fn new(job: &Job, longest: usize, busy: usize, unit: usize) -> Segments {
        let elements = count(&job.source.reduced);
        let wanted = busy.div_ceil(job.outputs).min(elements.div_ceil(longest / 8).max(1));
        let length = elements.div_ceil(elements.div_ceil(longest).max(wanted)).next_multiple_of(unit);
        match elements.div_ceil(length) {
            1 => Segments { length: elements, count: 1 },
            count => Segments { length, count },
        }
    }
}

/// Reduces to accumulators.
pub(super) fn run(context: &Context, job: &Job) -> Result<()> {
    if let Some(done) = software::reduce(context, job) {
        return done;
    }
    let rows = job.source.prefers_rows();
    let group = GROUP as usize;
    let (longest, busy) = if rows { (RUN * group / 4, BUSY / group) } else { (RUN, BUSY) };
    stage(context, job, Segments::new(job, longest, busy, 1), rows, |shared| Reduce {
        reduction: Reduction::of(job),
        reduced: job.source.reduced.len(),
        rows: rows.then_some(GROUP),
        shared,
    })
}

/// Reduces segments of each run with a kernel, then their results. With `rows`, a workgroup has a segment, else an
/// invocation. The kernel is told whether its source and its target share memory.
pub(super) fn stage<K: Kernel>(
    context: &Context,
    job: &Job,
    segments: Segments,
    rows: bool,
    kernel: impl Fn(bool) -> K,
) -> Result<()> {
    if segments.count == 1 {
        let shared = share_memory(job.source.buffer, job.target);
        return launch(context, job, segments, rows, &kernel(shared));
    }
    let partial = context.scratch(job.outputs * segments.count * job.acc.size())?;
    let shared = share_memory(job.source.buffer, &partial);
    let first = Job { source: job.source.clone(), target: &partial, ..*job };
    launch(context, &first, segments, rows, &kernel(shared))?;
    // Results of one output lie side by side where a workgroup made them, else those of one segment.
    let (kept, reduced) = if rows { (segments.count as isize, 1) } else { (1, job.outputs as isize) };
    let source = Source {
        buffer: &partial,
        dtype: job.acc,
        offset: 0,
        kept: joined([(job.outputs, kept)].into_iter()),
        reduced: joined([(segments.count, reduced)].into_iter()),
        partial: true,
    };
    run(context, &Job { source, ..*job })
}

fn launch<K: Kernel>(context: &Context, job: &Job, segments: Segments, rows: bool, kernel: &K) -> Result<()> {
    let pipeline = context.pipeline(kernel)?;
    let (source, outputs) = (&job.source, job.outputs);
    let window = source_window(context, source)?;
    let mut params: SmallVec<[u32; 24]> = SmallVec::from_slice(&[
        outputs as u32,
        count(&source.reduced) as u32,
        segments.length as u32,
        segments.count as u32,
        (source.offset - window.skipped) as u32,
    ]);
    push_axes(&mut params, &source.kept);
    push_axes(&mut params, &source.reduced);
    let all = outputs * segments.count;
    let groups = if rows { all as u64 } else { (all as u64).div_ceil(u64::from(GROUP)) };
    let target = Bind { buffer: job.target, start: 0, bytes: (all * job.acc.size()) as u64 };
    context.launch(&pipeline, &[target, window.bind], &params, folded(groups))
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

/// What the texts of all reductions depend on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Reduction {
    pub combine: Combine,
    pub acc: Dtype,
    /// The type of the elements.
    pub from: Dtype,
    /// The elements are accumulators.
    partial: bool,
    /// Axes that stay.
    kept: usize,
}

impl Reduction {
    pub fn of(job: &Job) -> Reduction {
        let Job { combine, acc, source, .. } = job;
        let (from, partial, kept) = (source.dtype, source.partial, source.kept.len());
        Reduction { combine: *combine, acc: *acc, from, partial, kept }
    }

    /// Takes the parameters, with those of `reduced` axes last, whose numbers are returned; writes the functions
    /// `identity_`, `combine_` and `base_`.
    pub fn start(self, text: &mut Text, reduced: usize) -> (usize, usize) {
        // Outputs, elements, elements of a segment, segments, offset.
        text.take(5);
        let (sizes, strides) = take_axes(text, self.kept);
        let axes = take_axes(text, reduced);
        let mut body = self.combine.functions(self.acc, self.from);
        let _ = writeln!(body, "fn base_(o: u32) -> u32 {{");
        positions(&mut body, "c", "o", self.kept, sizes);
        let _ = writeln!(body, "    return {};\n}}", position_sum("p.p4", "c", self.kept, strides));
        text.body.push_str(&body);
        axes
    }

    /// The element `v` as an accumulator.
    pub fn lifted(self) -> String {
        if self.partial { "v".to_owned() } else { self.combine.lift(self.from, self.acc, "v") }
    }

    /// The entry point of workgroups of this size that each reduce a segment, `unit` elements at once with `at_`.
    pub fn rows_entry(self, group: u32, unit: usize) -> String {
        let (ty, half) = (wgsl::scalar(self.acc), group / 2);
        format!(
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
"
        )
    }
}

/// Parameters: outputs, elements, elements of a segment, segments, offset, both groups of axes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Reduce {
    pub reduction: Reduction,
    /// Axes that disappear.
    pub reduced: usize,
    /// The size of the workgroups that each reduce a segment; without it, each invocation does.
    pub rows: Option<u32>,
    pub shared: bool,
}

impl Kernel for Reduce {
    fn label(&self) -> String {
        let way = if self.rows.is_some() { "rows" } else { "columns" };
        format!("{:?}_{way}", self.reduction.combine).to_lowercase()
    }

    fn text(&self) -> Text {
        let &Reduce { reduction, reduced, rows, shared } = self;
        let mut text = Text::new(shared);
        text.output(reduction.acc);
        text.input(reduction.from);
        let (sizes, strides) = reduction.start(&mut text, reduced);
        let ty = wgsl::scalar(reduction.acc);
        let _ = writeln!(text.body, "fn at_(base: u32, j: u32) -> {ty} {{");
        positions(&mut text.body, "r", "j", reduced, sizes);
        let (at, lifted) = (position_sum("base", "r", reduced, strides), reduction.lifted());
        let _ = writeln!(text.body, "    let v = ld0({at});\n    return {lifted};\n}}");
        if let Some(group) = rows {
            text.body.push_str(&reduction.rows_entry(group, 1));
            return text;
        }
        let _ = write!(
            text.body,
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
        text
    }
}
