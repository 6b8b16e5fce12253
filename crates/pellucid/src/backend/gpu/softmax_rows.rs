//! Softmax of rows that fit the registers of one workgroup: each element is read once and written once.

use std::fmt::Write;

use smallvec::SmallVec;

use super::device::Gpu;
use super::pipeline::Key;
use super::record::{Bind, folded};
use super::reduce::{Source, push_axes, source_window, take_axes};
use super::tensor::{Context, In, Out, position_sum, positions, shares};
use super::wgsl::{GROUP, ROW, Text};
use crate::array::Dtype;
use crate::error::Result;

/// Most elements, or pairs of them, that an invocation holds.
const MOST: usize = 16;

/// How a row is shared out.
struct Plan {
    /// Two elements are read at once (see `pairs`).
    pairs: bool,
    /// Elements, or pairs, of an invocation.
    each: usize,
}

fn plan(gpu: &Gpu, x: &In, axes: &[usize], out: &Out) -> Option<Plan> {
    let last = x.shape.len().checked_sub(1)?;
    let one_binding = ((out.elements() * 4) as u64 + 256) <= gpu.largest_binding();
    if axes != [last] || out.dtype != Dtype::Float32 || x.strides[last] != 1 || !one_binding {
        return None;
    }
    let even = x.offset.is_multiple_of(2)
        && x.shape[last].is_multiple_of(2)
        && x.strides[..last].iter().all(|s| s % 2 == 0);
    let pairs = even && gpu.has_vectors();
    let count = x.shape[last] / if pairs { 2 } else { 1 };
    let each = count.div_ceil(GROUP as usize);
    // Short rows would leave most of a workgroup idle.
    (count >= 64 && each <= MOST).then_some(Plan { pairs, each })
}

/// Makes the softmax of all rows; `false` if they are not of the kind that this can do.
pub(super) fn run(context: &Context, x: &In, axes: &[usize], out: &Out) -> Result<bool> {
    let Some(plan) = plan(context.gpu, x, axes, out) else { return Ok(false) };
    let source = Source::unjoined(x, axes);
    let shared = shares(std::slice::from_ref(x), out.buffer);
    let subgroups = context.gpu.has(wgpu::Features::SUBGROUP);
    let flags = u32::from(plan.pairs) | u32::from(shared) << 1;
    let words = [flags, plan.each as u32, source.kept.len() as u32];
    let key = Key { family: "softmax_rows", words: SmallVec::from_slice(&words) };
    let pipeline = context
        .pipeline_by(key, || ("softmax".to_owned(), text(&plan, source.kept.len(), shared, subgroups)))?;
    let window = source_window(context, &source)?;
    let n = x.shape[x.shape.len() - 1];
    let rows = out.elements() / n;
    let start = (source.offset - window.skipped) as u32;
    let mut params: SmallVec<[u32; 24]> = SmallVec::from_slice(&[rows as u32, n as u32, start]);
    push_axes(&mut params, &source.kept);
    let binds = [Bind { buffer: out.buffer, start: 0, bytes: (out.elements() * 4) as u64 }, window.bind];
    context.launch(&pipeline, &binds, &params, folded(rows as u64))?;
    Ok(true)
}

fn text(plan: &Plan, kept: usize, shared: bool, subgroups: bool) -> Text {
    let mut text = Text::new(shared);
    // Rows, their length, offset.
    text.take(3);
    let (sizes, strides) = take_axes(&mut text, kept);
    let mut body = String::new();
    let (ty, load, store, most, total, unit) = if plan.pairs {
        text.output_of("u64");
        text.input_of("u64");
        body.push_str(PAIR);
        let store = "out[to + j] = pack_two_(e * inverse);";
        ("vec2<f32>", "unpack_(in0[(base >> 1u) + j])", store, "max(most.x, most.y)", "total.x + total.y", 2)
    } else {
        text.output(Dtype::Float32);
        text.input(Dtype::Float32);
        ("f32", "ld0(base + j)", "out[to + j] = e * inverse;", "most", "total", 1)
    };
    let exp = if plan.pairs { "vec2<f32>(exp_(x.x - m), exp_(x.y - m))" } else { "exp_(x - m)" };
    let _ = writeln!(body, "fn base_(o: u32) -> u32 {{");
    positions(&mut body, "c", "o", kept, sizes);
    let _ = writeln!(body, "    return {};\n}}", position_sum("p.p2", "c", kept, strides));
    body.push_str(&combined("max", subgroups));
    body.push_str(&combined("sum", subgroups));
    let subgroup_inputs = if subgroups {
        ",\n        @builtin(subgroup_size) together: u32, @builtin(subgroup_invocation_id) lane: u32,
        @builtin(subgroup_id) subgroup: u32, @builtin(num_subgroups) subgroups: u32"
    } else {
        ""
    };
    let call = if subgroups { ", lane, together, subgroup, subgroups" } else { "" };
    let _ = write!(
        body,
        "@compute @workgroup_size({GROUP})
fn main(@builtin(workgroup_id) wg: vec3<u32>, @builtin(local_invocation_index) li: u32{subgroup_inputs}) {{
    let o = wg.y * {ROW}u + wg.x;
    if (o >= p.p0) {{ return; }}
    let base = base_(o);
    let count = p.p1 / {unit}u;
    let to = o * count;
    var most = {ty}(-inf_());
"
    );
    // Only the last ones may lie behind the row.
    let inside = |i: usize| if i + 1 == plan.each { "j < count" } else { "true" };
    for i in 0..plan.each {
        let at = i * GROUP as usize;
        let _ = write!(
            body,
            "    var x{i} = {ty}(-inf_());\n    {{\n        let j = li + {at}u;\n        if ({}) {{ x{i} = {load}; }}\n        \
             most = max(most, x{i});\n    }}\n",
            inside(i)
        );
    }
    let _ = writeln!(body, "    let m = max_all({most}, li{call});\n    var total = {ty}();");
    for i in 0..plan.each {
        let at = i * GROUP as usize;
        let _ = write!(
            body,
            "    {{\n        let j = li + {at}u;\n        let x = x{i};\n        if ({}) {{ x{i} = {exp}; total = total + x{i}; }}\n    }}\n",
            inside(i)
        );
    }
    // As on the CPU, an infinite maximum leaves no meaningful quotients.
    let _ = writeln!(body, "    let inverse = select(1.0 / sum_all({total}, li{call}), nan_(), isinf_(m));");
    for i in 0..plan.each {
        let at = i * GROUP as usize;
        let _ = write!(
            body,
            "    {{\n        let j = li + {at}u;\n        let e = x{i};\n        if ({}) {{ {store} }}\n    }}\n",
            inside(i)
        );
    }
    body.push_str("}\n");
    text.body = body;
    text
}

const PAIR: &str = "fn unpack_(q: u64) -> vec2<f32> {
    return vec2<f32>(bitcast<f32>(u32(q)), bitcast<f32>(u32(q >> 32u)));
}
fn pack_two_(v: vec2<f32>) -> u64 { return u64(bitcast<u32>(v.x)) | (u64(bitcast<u32>(v.y)) << 32u); }
";

/// A function `max_all` or `sum_all` that combines a number of every invocation of the workgroup.
fn combined(name: &str, subgroups: bool) -> String {
    let (join, whole, identity) = match name {
        "max" => ("max(a, b)", "subgroupMax", "-inf_()"),
        _ => ("a + b", "subgroupAdd", "0.0"),
    };
    let join = format!(
        "var<workgroup> {name}_part: array<f32, {GROUP}>;\nfn {name}_two(a: f32, b: f32) -> f32 {{ return {join}; }}\n"
    );
    if subgroups {
        return format!(
            "{join}fn {name}_all(v: f32, li: u32, lane: u32, together: u32, subgroup: u32, subgroups: u32) -> f32 {{
    let mine = {whole}(v);
    if (lane == 0u) {{ {name}_part[subgroup] = mine; }}
    workgroupBarrier();
    var all = {identity};
    for (var i = lane; i < subgroups; i = i + together) {{ all = {name}_two(all, {name}_part[i]); }}
    return {whole}(all);
}}
"
        );
    }
    format!(
        "{join}fn {name}_all(v: f32, li: u32) -> f32 {{
    {name}_part[li] = v;
    workgroupBarrier();
    for (var half = {}u; half > 0u; half = half >> 1u) {{
        if (li < half) {{ {name}_part[li] = {name}_two({name}_part[li], {name}_part[li + half]); }}
        workgroupBarrier();
    }}
    return {name}_part[0];
}}
",
        GROUP / 2
    )
}
