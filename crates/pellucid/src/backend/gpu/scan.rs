//! Running reductions along one axis: an invocation for each run where there are many, else a workgroup for each, which
//! goes through its run in blocks.

use std::fmt::Write;

use smallvec::SmallVec;

use super::elementwise;
use super::pipeline::Key;
use super::record::{Bind, folded};
use super::reduce::{Combine, Source, convert, push_axes, source_window, take_axes};
use super::tensor::{Context, In, Out, position_sum, positions, share_memory};
use super::wgsl::{self, GROUP, ROW, Text};
use crate::array::{Dtype, Shape};
use crate::error::Result;
use crate::op::ScanOp;

/// From this many runs on, each is one invocation's.
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
        let value = wgsl::rounded(out.dtype, "x0.x + log_(x0.y)");
        return elementwise::formula(context, "logsumexp_end", &[sums], out, &value);
    }
    convert(context, &made, acc, out)
}

fn steps(
    context: &Context,
    scan: &Scan,
    x: &In,
    target: &crate::memory::Buffer,
    acc: Dtype,
    shape: &[usize],
) -> Result<()> {
    let combine = scan.combine();
    let source = Source::unjoined(x, &[scan.axis]);
    let inner: usize = shape[scan.axis + 1..].iter().product();
    let length = shape[scan.axis];
    let runs = shape.iter().product::<usize>() / length.max(1);
    let many = runs >= MANY || length < 64;
    let shared = share_memory(x.buffer, target);
    let flags = u32::from(scan.reverse)
        | u32::from(scan.inclusive) << 1
        | u32::from(many) << 2
        | u32::from(shared) << 3;
    let words = [combine as u32, acc as u32, x.dtype as u32, flags, source.kept.len() as u32];
    let pipeline = context.pipeline(Key { family: "scan", words: SmallVec::from_slice(&words) }, || {
        (format!("scan_{combine:?}").to_lowercase(), text(scan, acc, &source, many, shared))
    })?;
    let window = source_window(context, &source)?;
    let stride = x.strides[scan.axis];
    let mut params: SmallVec<[u32; 24]> = SmallVec::from_slice(&[
        runs as u32,
        length as u32,
        inner as u32,
        (source.offset - window.skipped) as u32,
        stride as i32 as u32,
    ]);
    push_axes(&mut params, &source.kept);
    let bytes = (shape.iter().product::<usize>() * acc.size()) as u64;
    let groups = if many { (runs as u64).div_ceil(u64::from(GROUP)) } else { runs as u64 };
    let binds = [Bind { buffer: target, start: 0, bytes }, window.bind];
    context.launch(&pipeline, &binds, &params, folded(groups))
}

fn text(scan: &Scan, acc: Dtype, source: &Source, many: bool, shared: bool) -> Text {
    let combine = scan.combine();
    let mut text = Text::new(shared);
    text.output(acc);
    text.input(source.dtype);
    // Runs, length, distance of a run's neighbours in the output, offset, stride of the axis.
    text.take(5);
    let kept = source.kept.len();
    let (sizes, strides) = take_axes(&mut text, kept);
    let ty = wgsl::scalar(acc);
    let lifted = combine.lift(source.dtype, acc, "v");
    let place = if scan.reverse { "(p.p1 - 1u - j)" } else { "j" };
    let mut body = combine.functions(acc, source.dtype);
    let _ = writeln!(body, "fn base_(o: u32) -> u32 {{");
    positions(&mut body, "c", "o", kept, sizes);
    let _ = writeln!(body, "    return {};\n}}", position_sum("p.p3", "c", kept, strides));
    let _ = writeln!(
        body,
        "fn to_(o: u32, j: u32) -> u32 {{ return (o / p.p2 * p.p1 + {place}) * p.p2 + o % p.p2; }}"
    );
    let _ = writeln!(
        body,
        "fn at_(base: u32, j: u32) -> {ty} {{ let v = ld0(base + {place} * p.p4); return {lifted}; }}"
    );
    let main = if many {
        let order = if scan.inclusive {
            "acc = combine_(acc, at_(base, j)); out[to_(o, j)] = acc;"
        } else {
            "let v = at_(base, j); out[to_(o, j)] = acc; acc = combine_(acc, v);"
        };
        format!(
            "    let o = (wg.y * {ROW}u + wg.x) * {GROUP}u + li;
    if (o >= p.p0) {{ return; }}
    let base = base_(o);
    var acc = identity_();
    for (var j = 0u; j < p.p1; j = j + 1u) {{ {order} }}\n"
        )
    } else {
        let _ = writeln!(body, "var<workgroup> part: array<{ty}, {GROUP}>;");
        let result = if scan.inclusive { "combine_(carry, part[li])" } else { "before_(carry, li)" };
        if !scan.inclusive {
            let _ = writeln!(
                body,
                "fn before_(carry: {ty}, li: u32) -> {ty} {{\n    if (li == 0u) {{ return carry; }}\n    \
                 return combine_(carry, part[li - 1u]);\n}}"
            );
        }
        format!(
            "    let o = wg.y * {ROW}u + wg.x;
    if (o >= p.p0) {{ return; }}
    let base = base_(o);
    var carry = identity_();
    for (var first = 0u; first < p.p1; first = first + {GROUP}u) {{
        let j = first + li;
        var v = identity_();
        if (j < p.p1) {{ v = at_(base, j); }}
        part[li] = v;
        workgroupBarrier();
        for (var d = 1u; d < {GROUP}u; d = d << 1u) {{
            var w = part[li];
            if (li >= d) {{ w = combine_(part[li - d], w); }}
            workgroupBarrier();
            part[li] = w;
            workgroupBarrier();
        }}
        if (j < p.p1) {{ out[to_(o, j)] = {result}; }}
        carry = combine_(carry, part[{GROUP}u - 1u]);
        workgroupBarrier();
    }}\n"
        )
    };
    let _ = write!(
        body,
        "@compute @workgroup_size({GROUP})
fn main(@builtin(workgroup_id) wg: vec3<u32>, @builtin(local_invocation_index) li: u32) {{\n{main}}}\n"
    );
    text.body = body;
    text
}
