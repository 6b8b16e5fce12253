//! Positions of extreme elements along an axis. NaN counts as the extreme, and the first one wins.

use std::fmt::Write;

use smallvec::SmallVec;

use super::kernel::Kernel;
use super::record::{Bind, folded};
use super::reduce::{Combine, Source, push_axes, source_window, take_axes};
use super::software;
use super::tensor::{Context, In, Out, position_sum, positions, shares};
use super::wgsl::{self, Class, GROUP, ROW, Text};
use crate::array::Dtype;
use crate::error::Result;
use crate::op::ArgReduceOp;

pub(super) fn arg_reduce(context: &Context, op: ArgReduceOp, x: &In, axis: usize, out: &Out) -> Result<()> {
    let source = Source::unjoined(x, &[axis]);
    let length = x.shape[axis];
    let outputs = out.elements();
    let rows = length >= 64 && outputs < 4096 || length > 4096;
    let kernel = ArgReduce {
        op,
        from: x.dtype,
        kept: source.kept.len(),
        rows: rows.then_some(GROUP),
        shared: shares(std::slice::from_ref(x), out.buffer),
    };
    let pipeline = match software::arg_reduce(context, &kernel, &source) {
        Some(found) => found?,
        None => context.pipeline(&kernel)?,
    };
    let window = source_window(context, &source)?;
    let mut params: SmallVec<[u32; 24]> = SmallVec::from_slice(&[
        outputs as u32,
        length as u32,
        (source.offset - window.skipped) as u32,
        x.strides[axis] as i32 as u32,
    ]);
    push_axes(&mut params, &source.kept);
    let groups = if rows { outputs as u64 } else { (outputs as u64).div_ceil(u64::from(GROUP)) };
    let binds = [Bind { buffer: out.buffer, start: 0, bytes: outputs as u64 * 4 }, window.bind];
    context.launch(&pipeline, &binds, &params, folded(groups))
}

/// Parameters: outputs, length, offset, stride, the other axes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct ArgReduce {
    op: ArgReduceOp,
    pub from: Dtype,
    kept: usize,
    /// The size of the workgroups that each look at one run; without it, each invocation does.
    pub rows: Option<u32>,
    pub shared: bool,
}

impl Kernel for ArgReduce {
    fn label(&self) -> String {
        format!("{:?}", self.op).to_lowercase()
    }

    fn text(&self) -> Text {
        let mut text = Text::new(self.shared);
        text.output(Dtype::Uint32);
        text.input(self.from);
        let ty = wgsl::scalar(self.accumulator());
        let read = |lifted: &str| {
            format!(
                "fn at_(base: u32, j: u32) -> {ty} {{ let v = ld0(base + j * p.p3); return {lifted}; }}\n"
            )
        };
        self.finish(&mut text, read, &self.rows.map(walk).unwrap_or_default());
        text
    }
}

impl ArgReduce {
    /// The type that is compared.
    pub fn accumulator(&self) -> Dtype {
        Combine::Max.accumulator(self.from)
    }

    /// Writes the kernel; its arrays are declared. `read` gives the function `at_`, in which an element `v` becomes what
    /// it is told; `walk` finds the `best` of an invocation's elements and its `place`, for a workgroup.
    pub fn finish(&self, text: &mut Text, read: impl FnOnce(&str) -> String, walk: &str) {
        let &ArgReduce { op, from, kept, rows, .. } = self;
        text.take(4);
        let (sizes, strides) = take_axes(text, kept);
        let combine = if op == ArgReduceOp::Argmax { Combine::Max } else { Combine::Min };
        let acc = combine.accumulator(from);
        let ty = wgsl::scalar(acc);
        let (a, b) = if op == ArgReduceOp::Argmax { ("b", "a") } else { ("a", "b") };
        // Whether a beats b: NaN beats numbers.
        let beats = match wgsl::class(acc) {
            Class::Float => format!("(isnan_(a) && !isnan_(b)) || (!isnan_(b) && {a} < {b})"),
            Class::Complex => format!("(cnan_(a) && !cnan_(b)) || (!cnan_(b) && cless_({a}, {b}))"),
            _ => format!("{a} < {b}"),
        };
        let same = match wgsl::class(acc) {
            Class::Float => "(isnan_(a) && isnan_(b)) || a == b".to_owned(),
            Class::Complex => "(cnan_(a) && cnan_(b)) || all(a == b)".to_owned(),
            _ => "a == b".to_owned(),
        };
        let lifted = combine.lift(from, acc, "v");
        let mut body = String::new();
        let _ = writeln!(body, "fn beats_(a: {ty}, b: {ty}) -> bool {{ return {beats}; }}");
        let _ = writeln!(body, "fn base_(o: u32) -> u32 {{");
        positions(&mut body, "c", "o", kept, sizes);
        let _ = writeln!(body, "    return {};\n}}", position_sum("p.p2", "c", kept, strides));
        body.push_str(&read(&lifted));
        if let Some(group) = rows {
            let _ = write!(
                body,
                "fn same_(a: {ty}, b: {ty}) -> bool {{ return {same}; }}
var<workgroup> values: array<{ty}, {group}>;
var<workgroup> places: array<u32, {group}>;
@compute @workgroup_size({group})
fn main(@builtin(workgroup_id) wg: vec3<u32>, @builtin(local_invocation_index) li: u32) {{
    let o = wg.y * {ROW}u + wg.x;
    if (o >= p.p0) {{ return; }}
    let base = base_(o);
{walk}    values[li] = best;
    places[li] = place;
    workgroupBarrier();
    for (var half = {half}u; half > 0u; half = half >> 1u) {{
        if (li < half) {{
            let v = values[li + half];
            let q = places[li + half];
            if (beats_(v, values[li]) || (same_(v, values[li]) && q < places[li])) {{
                values[li] = v;
                places[li] = q;
            }}
        }}
        workgroupBarrier();
    }}
    if (li == 0u) {{ out[o] = places[0]; }}
}}\n",
                half = group / 2
            );
        } else {
            let _ = write!(
                body,
                "@compute @workgroup_size({GROUP})
fn main(@builtin(workgroup_id) wg: vec3<u32>, @builtin(local_invocation_index) li: u32) {{
    let o = (wg.y * {ROW}u + wg.x) * {GROUP}u + li;
    if (o >= p.p0) {{ return; }}
    let base = base_(o);
    var place = 0u;
    var best = at_(base, 0u);
    for (var j = 1u; j < p.p1; j = j + 1u) {{
        let v = at_(base, j);
        if (beats_(v, best)) {{ best = v; place = j; }}
    }}
    out[o] = place;
}}\n"
            );
        }
        text.body = body;
    }
}

/// Each invocation looks at one element of so many.
fn walk(group: u32) -> String {
    format!(
        "    var place = min(li, p.p1 - 1u);
    var best = at_(base, place);
    for (var j = li + {group}u; j < p.p1; j = j + {group}u) {{
        let v = at_(base, j);
        if (beats_(v, best)) {{ best = v; place = j; }}
    }}
"
    )
}
