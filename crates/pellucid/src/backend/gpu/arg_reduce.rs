//! Positions of extreme elements along an axis. NaN counts as the extreme, and the first one wins.

use std::fmt::Write;

use smallvec::SmallVec;

use super::pipeline::Key;
use super::record::{Bind, folded};
use super::reduce::{Combine, Source, push_axes, row_group, source_window, take_axes};
use super::software::VECTOR;
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
    let shared = shares(std::slice::from_ref(x), out.buffer);
    let gpu = context.gpu;
    let vectors = rows && source.has_vectors(gpu);
    // Loops of software end after 65,535 rounds.
    let small = length / row_group(gpu) as usize <= 65_535;
    let group = if small { row_group(gpu) } else { GROUP };
    let way = Way { rows: rows.then_some(group), vectors };
    let flags = u32::from(op == ArgReduceOp::Argmax)
        | u32::from(rows) << 1
        | u32::from(shared) << 2
        | u32::from(vectors) << 3
        | group << 16;
    let words = [x.dtype as u32, flags, source.kept.len() as u32];
    let pipeline = context
        .pipeline_by(Key { family: "arg_reduce", words: SmallVec::from_slice(&words) }, || {
            (format!("{op:?}").to_lowercase(), text(op, &source, way, shared))
        })?;
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

/// How an axis is gone through.
#[derive(Clone, Copy)]
struct Way {
    /// The size of the workgroups that each look at one run, if they do.
    rows: Option<u32>,
    /// Whether they read whole vectors.
    vectors: bool,
}

fn text(op: ArgReduceOp, source: &Source, way: Way, shared: bool) -> Text {
    let mut text = Text::new(shared);
    text.output(Dtype::Uint32);
    if way.vectors {
        text.input_of("vec4<u64>");
    } else {
        text.input(source.dtype);
    }
    // Outputs, length, offset, stride.
    text.take(4);
    let kept = source.kept.len();
    let (sizes, strides) = take_axes(&mut text, kept);
    let combine = if op == ArgReduceOp::Argmax { Combine::Max } else { Combine::Min };
    let acc = combine.accumulator(source.dtype);
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
    let lifted = combine.lift(source.dtype, acc, "v");
    let mut body = String::new();
    let _ = writeln!(body, "fn beats_(a: {ty}, b: {ty}) -> bool {{ return {beats}; }}");
    let _ = writeln!(body, "fn base_(o: u32) -> u32 {{");
    positions(&mut body, "c", "o", kept, sizes);
    let _ = writeln!(body, "    return {};\n}}", position_sum("p.p2", "c", kept, strides));
    if way.vectors {
        let value = wgsl::decoded(source.dtype, "bits");
        let _ = writeln!(
            body,
            "fn lift_(bits: u32) -> {ty} {{ let v = {value}; return {lifted}; }}
fn at_(base: u32, j: u32) -> {ty} {{
    let i = base + j;
    return lift_(u32(in0[i / {VECTOR}u][(i / 2u) % 4u] >> (32u * (i % 2u))));
}}"
        );
    } else {
        let _ = writeln!(
            body,
            "fn at_(base: u32, j: u32) -> {ty} {{ let v = ld0(base + j * p.p3); return {lifted}; }}"
        );
    }
    if let Some(group) = way.rows {
        let walk = if way.vectors { walk_vectors(group) } else { walk(group) };
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
    text
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

/// Each invocation looks at one vector of so many.
fn walk_vectors(group: u32) -> String {
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
