//! Running reductions along one axis. Long runs are cut into segments, whose totals are scanned first. A segment is one
//! invocation's where there are many, else a workgroup's, which goes through it in blocks.

use std::fmt::Write;

use smallvec::SmallVec;

use super::device::Gpu;
use super::elementwise;
use super::kernel::Kernel;
use super::record::{Bind, folded};
use super::reduce::{Combine, LogSumExp, Source, convert, push_axes, source_window, take_axes};
use super::software;
use super::tensor::{Context, In, Out, position_sum, positions, share_memory};
use super::wgsl::{self, GROUP, ROW, Text};
use crate::array::{Dtype, Shape};
use crate::error::Result;
use crate::memory::Buffer;
use crate::op::ScanOp;

/// From this many runs or segments on, each is one invocation's.
const MANY: usize = 1024;

pub(super) struct Scan {
    pub op: ScanOp,
    pub axis: usize,
    pub reverse: bool,
    pub inclusive: bool,
}

impl Scan {
    fn combine(&self) -> Combine {
        match self.op {
            ScanOp::Cumsum => Combine::Sum,
            ScanOp::Cumprod => Combine::Prod,
            ScanOp::Cummax => Combine::Max,
            ScanOp::Cummin => Combine::Min,
            ScanOp::Logcumsumexp => Combine::ExpSum,
        }
    }
}

pub(super) fn run(context: &Context, scan: &Scan, x: &In, out: &Out) -> Result<()> {
    let combine = scan.combine();
    let acc = combine.accumulator(out.dtype);
    if acc == out.dtype && combine != Combine::ExpSum {
        return steps(context, scan, x, out.buffer, acc, out.shape);
    }
    let made = context.scratch(out.elements() * acc.size())?;
    steps(context, scan, x, &made, acc, out.shape)?;
    if combine == Combine::ExpSum {
        let strides = Shape::from(out.shape).row_major();
        let sums = In { buffer: &made, dtype: acc, shape: out.shape, strides: &strides, offset: 0 };
        return elementwise::map(context, LogSumExp, &[sums], out);
    }
    convert(context, &made, acc, out)
}

/// Runs to go through, and where their results go.
struct Task<'a> {
    combine: Combine,
    acc: Dtype,
    /// The type of the elements, which accumulators that are scanned again stand for.
    of: Dtype,
    source: Source<'a>,
    /// Distance of a run's neighbours in the output.
    inner: usize,
    reverse: bool,
    inclusive: bool,
    target: &'a Buffer,
}

/// What a launch makes of the segments that runs are cut into.
#[derive(Clone, Copy)]
enum Pass<'a> {
    /// One accumulator for each.
    Totals,
    /// All results; what comes before each segment is given, unless it is a whole run.
    Results(Option<&'a Buffer>),
}

impl Pass<'_> {
    fn is_totals(self) -> bool {
        matches!(self, Pass::Totals)
    }
}

fn steps(context: &Context, scan: &Scan, x: &In, target: &Buffer, acc: Dtype, shape: &[usize]) -> Result<()> {
    let task = Task {
        combine: scan.combine(),
        acc,
        of: x.dtype,
        source: Source::unjoined(x, &[scan.axis]),
        inner: shape[scan.axis + 1..].iter().product(),
        reverse: scan.reverse,
        inclusive: scan.inclusive,
        target,
    };
    go_through(context, &task)
}

/// Whether each segment is one invocation's, and its length.
fn segments(gpu: &Gpu, runs: usize, length: usize) -> (bool, usize) {
    if let Some(segment) = software::scan_segment(gpu, runs, length) {
        return (true, segment);
    }
    let many = runs >= MANY || length < 64;
    (many, length.min(if many { 32_768 } else { 16_384 }))
}

/// Scans segments of the runs, each from what comes before it: the scan of the totals of all segments.
fn go_through(context: &Context, task: &Task) -> Result<()> {
    let runs: usize = task.source.kept.iter().map(|a| a.0).product();
    let length = task.source.reduced[0].0;
    let (many, segment) = segments(context.gpu, runs, length);
    let count = length.div_ceil(segment);
    if count == 1 {
        return launch(context, task, Pass::Results(None), many, [runs, length, 1]);
    }
    let bytes = runs * count * task.acc.size();
    let (totals, before) = (context.scratch(bytes)?, context.scratch(bytes)?);
    launch(
        context,
        &Task { target: &totals, source: task.source.clone(), ..*task },
        Pass::Totals,
        many,
        [runs, segment, count],
    )?;
    let source = Source {
        buffer: &totals,
        dtype: task.acc,
        offset: 0,
        kept: SmallVec::from_slice(&[(runs, count as isize)]),
        reduced: SmallVec::from_slice(&[(count, 1)]),
        partial: true,
    };
    let outer = Task { source, inner: 1, reverse: false, inclusive: false, target: &before, ..*task };
    go_through(context, &outer)?;
    launch(context, task, Pass::Results(Some(&before)), many, [runs, segment, count])
}

fn launch(
    context: &Context,
    task: &Task,
    pass: Pass,
    many: bool,
    [runs, segment, count]: [usize; 3],
) -> Result<()> {
    let source = &task.source;
    let before = if let Pass::Results(Some(before)) = pass { Some(before) } else { None };
    let shared = share_memory(source.buffer, task.target)
        || before.is_some_and(|before| share_memory(before, task.target));
    let kernel = Segments {
        combine: task.combine,
        acc: task.acc,
        of: task.of,
        partial: source.partial,
        kept: source.kept.len(),
        reverse: task.reverse,
        inclusive: task.inclusive,
        many,
        totals: pass.is_totals(),
        before: before.is_some(),
        shared,
    };
    let pipeline = context.pipeline(&kernel)?;
    let window = source_window(context, source)?;
    let (length, stride) = source.reduced[0];
    let mut params: SmallVec<[u32; 24]> = SmallVec::from_slice(&[
        runs as u32,
        length as u32,
        task.inner as u32,
        (source.offset - window.skipped) as u32,
        stride as i32 as u32,
        segment as u32,
        count as u32,
    ]);
    push_axes(&mut params, &source.kept);
    let made = if pass.is_totals() { runs * count } else { runs * length };
    let bind =
        |buffer, elements: usize| Bind { buffer, start: 0, bytes: (elements * task.acc.size()) as u64 };
    let mut binds: SmallVec<[Bind; 3]> = SmallVec::from_iter([bind(task.target, made), window.bind]);
    binds.extend(before.map(|before| bind(before, runs * count)));
    let all = (runs * count) as u64;
    let groups = if many { all.div_ceil(u64::from(GROUP)) } else { all };
    context.launch(&pipeline, &binds, &params, folded(groups))
}

/// Goes through segments. Parameters: runs, length, distance of a run's neighbours in the output, offset, stride of the
/// axis, length of a segment, segments of a run, the other axes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Segments {
    combine: Combine,
    acc: Dtype,
    /// The type of the elements, which accumulators that are scanned again stand for.
    of: Dtype,
    /// What is read are accumulators.
    partial: bool,
    /// The other axes.
    kept: usize,
    reverse: bool,
    inclusive: bool,
    /// A segment is one invocation's, not a workgroup's.
    many: bool,
    /// One accumulator for each segment, not all results.
    totals: bool,
    /// What comes before each segment is given.
    before: bool,
    shared: bool,
}

impl Kernel for Segments {
    fn label(&self) -> String {
        let name = if self.totals { "scan_totals" } else { "scan" };
        format!("{name}_{:?}", self.combine).to_lowercase()
    }

    fn text(&self) -> Text {
        let &Segments { combine, acc, of, kept, many, shared, .. } = self;
        let mut text = Text::new(shared);
        text.output(acc);
        let from = if self.partial { acc } else { of };
        text.input(from);
        text.take(7);
        let (sizes, strides) = take_axes(&mut text, kept);
        let ty = wgsl::scalar(acc);
        let lifted = if self.partial { "v".to_owned() } else { combine.lift(from, acc, "v") };
        let place = if self.reverse { "(p.p1 - 1u - j)" } else { "j" };
        let mut body = combine.functions(acc, of);
        let _ = writeln!(body, "fn base_(o: u32) -> u32 {{");
        positions(&mut body, "c", "o", kept, sizes);
        let _ = writeln!(body, "    return {};\n}}", position_sum("p.p3", "c", kept, strides));
        let _ = writeln!(
            body,
            "fn to_(o: u32, j: u32) -> u32 {{ return (o / p.p2 * p.p1 + {place}) * p.p2 + o % p.p2; }}\n\
         fn at_(base: u32, j: u32) -> {ty} {{ let v = ld0(base + {place} * p.p4); return {lifted}; }}"
        );
        let before = if self.before {
            text.input(acc);
            "ld1(t)"
        } else {
            "identity_()"
        };
        let (number, rest) = match (many, self.totals) {
            (true, totals) => {
                (format!("(wg.y * {ROW}u + wg.x) * {GROUP}u + li"), alone(self.inclusive, totals))
            }
            (false, true) => (format!("wg.y * {ROW}u + wg.x"), TOTALS.to_owned()),
            (false, false) => (format!("wg.y * {ROW}u + wg.x"), together(self.inclusive)),
        };
        if !many {
            let _ = writeln!(body, "var<workgroup> part: array<{ty}, {GROUP}>;");
        }
        let _ = write!(
            body,
            "@compute @workgroup_size({GROUP})
fn main(@builtin(workgroup_id) wg: vec3<u32>, @builtin(local_invocation_index) li: u32) {{
    let t = {number};
    if (t >= p.p0 * p.p6) {{ return; }}
    let o = t / p.p6;
    let base = base_(o);
    let first = (t % p.p6) * p.p5;
    let end = min(first + p.p5, p.p1);
    var acc = {before};
{rest}}}
"
        );
        text.body = body;
        text
    }
}

/// One invocation goes through a segment.
fn alone(inclusive: bool, totals: bool) -> String {
    let order = match (totals, inclusive) {
        (true, _) => "acc = combine_(acc, at_(base, j));",
        (false, true) => "acc = combine_(acc, at_(base, j)); out[to_(o, j)] = acc;",
        (false, false) => "let v = at_(base, j); out[to_(o, j)] = acc; acc = combine_(acc, v);",
    };
    let end = if totals { "    out[t] = acc;\n" } else { "" };
    format!("    for (var j = first; j < end; j = j + 1u) {{ {order} }}\n{end}")
}

/// A workgroup adds up a segment.
const TOTALS: &str =
    "    for (var j = first + li; j < end; j = j + 256u) { acc = combine_(acc, at_(base, j)); }
    part[li] = acc;
    workgroupBarrier();
    for (var half = 128u; half > 0u; half = half >> 1u) {
        if (li < half) { part[li] = combine_(part[li], part[li + half]); }
        workgroupBarrier();
    }
    if (li == 0u) { out[t] = part[0]; }
";
const _: () = assert!(GROUP == 256);

/// A workgroup goes through a segment in blocks.
fn together(inclusive: bool) -> String {
    let result = if inclusive {
        "out[to_(o, j)] = combine_(acc, part[li]);"
    } else {
        "var v = acc; if (li > 0u) { v = combine_(acc, part[li - 1u]); } out[to_(o, j)] = v;"
    };
    format!(
        "    for (var block = first; block < end; block = block + {GROUP}u) {{
        let j = block + li;
        var v = identity_();
        if (j < end) {{ v = at_(base, j); }}
        part[li] = v;
        workgroupBarrier();
        for (var d = 1u; d < {GROUP}u; d = d << 1u) {{
            var w = part[li];
            if (li >= d) {{ w = combine_(part[li - d], w); }}
            workgroupBarrier();
            part[li] = w;
            workgroupBarrier();
        }}
        if (j < end) {{ {result} }}
        acc = combine_(acc, part[{GROUP}u - 1u]);
        workgroupBarrier();
    }}
"
    )
}
