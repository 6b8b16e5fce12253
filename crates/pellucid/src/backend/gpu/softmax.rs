//! Softmax. Rows that fit the registers of one workgroup are read once and written once; for others the sums of
//! exponentials come first, then all quotients.

use std::fmt::Write;

use smallvec::SmallVec;

use super::elementwise::{self, Expression, Operands};
use super::kernel::Kernel;
use super::record::{Bind, folded};
use super::reduce::{Combine, Source, push_axes, source_window, take_axes};
use super::tensor::{Context, In, Out, position_sum, positions, shares};
use super::wgsl::{self, GROUP, ROW, Text};
use super::{pieces, software};
use crate::array::{Dtype, Shape};
use crate::error::Result;

/// Most elements, or pairs of them, that an invocation holds.
const MOST: usize = 16;

/// exp(x − max) / Σ exp(x − max) over axes.
pub(super) fn softmax(context: &Context, x: &In, axes: &[usize], out: &Out) -> Result<()> {
    if rows(context, x, axes, out)? {
        return Ok(());
    }
    let kept: SmallVec<[usize; 6]> =
        (0..x.shape.len()).map(|d| if axes.contains(&d) { 1 } else { x.shape[d] }).collect();
    let outputs: usize = kept.iter().product();
    let sums = context.scratch(outputs * 8)?;
    pieces::reduce(context, Combine::ExpSum, Dtype::Complex64, x, axes, &sums)?;
    let strides = Shape::from(&kept[..]).row_major();
    let sums = In { buffer: &sums, dtype: Dtype::Complex64, shape: &kept, strides: &strides, offset: 0 };
    elementwise::map(context, Quotient, &[x.clone(), sums], out)
}

/// The exponential of an element, divided by the sum.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Quotient;

impl Expression for Quotient {
    fn label(&self) -> &'static str {
        "softmax_end"
    }

    fn value(&self, operands: &Operands) -> String {
        // As on the CPU, an infinite maximum leaves no meaningful quotients.
        wgsl::rounded(operands.out, "select(exp_(x0 - x1.x) / x1.y, nan_(), isinf_(x1.x))")
    }
}

/// Makes the softmax of rows that a workgroup can hold; `false` if they are none.
fn rows(context: &Context, x: &In, axes: &[usize], out: &Out) -> Result<bool> {
    let Some(last) = x.shape.len().checked_sub(1) else { return Ok(false) };
    let one_binding = ((out.elements() * 4) as u64 + 256) <= context.gpu.largest_binding();
    if axes != [last] || out.dtype != Dtype::Float32 || x.strides[last] != 1 || !one_binding {
        return Ok(false);
    }
    let n = x.shape[last];
    let in_pairs = software::softmax_in_pairs(context.gpu, x);
    let count = if in_pairs { n / 2 } else { n };
    let each = count.div_ceil(GROUP as usize);
    // Short rows would leave most of a workgroup idle.
    if count < 64 || each > MOST {
        return Ok(false);
    }
    let source = Source::unjoined(x, axes);
    let kernel = Rows {
        each,
        kept: source.kept.len(),
        shared: shares(std::slice::from_ref(x), out.buffer),
        subgroups: context.gpu.has(wgpu::Features::SUBGROUP),
    };
    let pipeline = match in_pairs {
        true => context.pipeline(&software::SoftmaxPairs { rows: kernel })?,
        false => context.pipeline(&kernel)?,
    };
    let window = source_window(context, &source)?;
    let rows = out.elements() / n;
    let start = (source.offset - window.skipped) as u32;
    let mut params: SmallVec<[u32; 24]> = SmallVec::from_slice(&[rows as u32, n as u32, start]);
    push_axes(&mut params, &source.kept);
    let binds = [Bind { buffer: out.buffer, start: 0, bytes: (out.elements() * 4) as u64 }, window.bind];
    context.launch(&pipeline, &binds, &params, folded(rows as u64))?;
    Ok(true)
}

/// A workgroup holds a row. Parameters: rows, their length, offset, axes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Rows {
    /// Elements, or whatever is read at once, of an invocation.
    each: usize,
    /// Axes of rows.
    kept: usize,
    pub shared: bool,
    subgroups: bool,
}

/// What is read at once, and how an invocation goes about it.
pub(super) struct Unit {
    /// Elements of it.
    pub elements: usize,
    pub ty: &'static str,
    /// Reads number `j` of the row at `base`.
    pub load: &'static str,
    /// The exponential of `x - m`.
    pub exp: &'static str,
    /// The largest element of `most`, the sum of those of `total`.
    pub most: &'static str,
    pub total: &'static str,
    /// Writes `e * inverse` as number `j` of the row at `to`.
    pub store: &'static str,
}

impl Kernel for Rows {
    fn label(&self) -> String {
        "softmax".to_owned()
    }

    fn text(&self) -> Text {
        let mut text = Text::new(self.shared);
        text.output(Dtype::Float32);
        text.input(Dtype::Float32);
        let unit = Unit {
            elements: 1,
            ty: "f32",
            load: "ld0(base + j)",
            exp: "exp_(x - m)",
            most: "most",
            total: "total",
            store: "out[to + j] = e * inverse;",
        };
        self.finish(&mut text, &unit);
        text
    }
}

impl Rows {
    /// Writes the kernel; its arrays are declared.
    pub fn finish(&self, text: &mut Text, unit: &Unit) {
        let &Rows { each, kept, subgroups, .. } = self;
        let &Unit { elements, ty, load, exp, most, total, store } = unit;
        // Rows, their length, offset.
        text.take(3);
        let (sizes, strides) = take_axes(text, kept);
        let body = &mut text.body;
        let _ = writeln!(body, "fn base_(o: u32) -> u32 {{");
        positions(body, "c", "o", kept, sizes);
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
    let count = p.p1 / {elements}u;
    let to = o * count;
    var most = {ty}(-inf_());
"
        );
        // Only the last ones may lie behind the row.
        let inside = |i: usize| if i + 1 == each { "j < count" } else { "true" };
        for i in 0..each {
            let at = i * GROUP as usize;
            let _ = write!(
                body,
                "    var x{i} = {ty}(-inf_());\n    {{\n        let j = li + {at}u;\n        if ({}) {{ x{i} = {load}; }}\n        \
             most = max(most, x{i});\n    }}\n",
                inside(i)
            );
        }
        let _ = writeln!(body, "    let m = max_all({most}, li{call});\n    var total = {ty}();");
        for i in 0..each {
            let at = i * GROUP as usize;
            let _ = write!(
                body,
                "    {{\n        let j = li + {at}u;\n        let x = x{i};\n        if ({}) {{ x{i} = {exp}; total = total + x{i}; }}\n    }}\n",
                inside(i)
            );
        }
        // As on the CPU, an infinite maximum leaves no meaningful quotients.
        let _ =
            writeln!(body, "    let inverse = select(1.0 / sum_all({total}, li{call}), nan_(), isinf_(m));");
        for i in 0..each {
            let at = i * GROUP as usize;
            let _ = write!(
                body,
                "    {{\n        let j = li + {at}u;\n        let e = x{i};\n        if ({}) {{ {store} }}\n    }}\n",
                inside(i)
            );
        }
        body.push_str("}\n");
    }
}

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
