//! Matrix products, batched over leading axes: tiles in workgroup memory, a 4×4 block of results per invocation. A
//! software adapter has kernels of its own.
//!
//! Matrices keep their strides. The 16-bit types are multiplied in `f32` and rounded once.

use std::fmt::Write;

use smallvec::SmallVec;

use super::device::Gpu;
use super::kernel::Kernel;
use super::record::Bind;
use super::reduce::convert;
use super::software;
use super::tensor::{Context, In, Out, position_sum, positions, shares};
use super::wgsl::{self, Text};
use crate::array::{Dtype, Shape, Strides, broadcast_strides};
use crate::error::Result;

/// Rows and columns of a tile, and its depth.
const TILE: usize = 64;
const DEPTH: usize = 16;

/// `alpha · (a @ b) + beta · c`.
pub(super) struct Product<'a> {
    pub a: In<'a>,
    pub b: In<'a>,
    pub c: Option<(In<'a>, f64)>,
    pub alpha: f64,
}

/// Whether a launch can have this many workgroups, and a binding reaches all sums.
pub(super) fn reaches(gpu: &Gpu, out: &Out) -> bool {
    let rank = out.shape.len();
    let batch: usize = out.shape[..rank - 2].iter().product();
    let [rows, columns] = software::matmul_block(gpu).unwrap_or([TILE; 2]);
    let (rows, columns) = (out.shape[rank - 2].div_ceil(rows), out.shape[rank - 1].div_ceil(columns));
    let sums = (out.elements() * out.dtype.size().max(4)) as u64;
    batch <= 65_535 && rows <= 65_535 && columns <= 65_535 && sums <= gpu.largest_binding()
}

pub(super) fn run(context: &Context, product: &Product, out: &Out) -> Result<()> {
    let acc = if out.dtype == Dtype::Complex64 { Dtype::Complex64 } else { Dtype::Float32 };
    if acc == out.dtype {
        return multiply(context, product, out);
    }
    let made = context.scratch(out.elements() * acc.size())?;
    multiply(context, product, &Out { buffer: &made, dtype: acc, shape: out.shape })?;
    convert(context, &made, acc, out)
}

/// Multiplies, in several launches that each add to the result of the one before where one does not go far enough.
fn multiply(context: &Context, product: &Product, out: &Out) -> Result<()> {
    if software::matmul(context, product, out)? {
        return Ok(());
    }
    let (a, b) = (&product.a, &product.b);
    let (a_axis, b_axis) = (a.shape.len() - 1, b.shape.len() - 2);
    let (k, most) = (a.shape[a_axis], software::deepest_product(context.gpu, out.dtype));
    if k <= most {
        return multiply_once(context, product, out);
    }
    let sums = [
        context.scratch(out.elements() * out.dtype.size())?,
        context.scratch(out.elements() * out.dtype.size())?,
    ];
    let strides = Shape::from(out.shape).row_major();
    let (mut a_shape, mut b_shape) = (a.shape.to_vec(), b.shape.to_vec());
    for (i, start) in (0..k).step_by(most).enumerate() {
        let length = most.min(k - start);
        (a_shape[a_axis], b_shape[b_axis]) = (length, length);
        let moved = |x: &In, axis: usize| x.offset.wrapping_add_signed(x.strides[axis] * start as isize);
        let before = In {
            buffer: &sums[(i + 1) % 2],
            dtype: out.dtype,
            shape: out.shape,
            strides: &strides,
            offset: 0,
        };
        let part = Product {
            a: In { shape: &a_shape, offset: moved(a, a_axis), ..a.clone() },
            b: In { shape: &b_shape, offset: moved(b, b_axis), ..b.clone() },
            c: if i == 0 { product.c.clone() } else { Some((before, 1.0)) },
            alpha: product.alpha,
        };
        let buffer = if start + length == k { out.buffer } else { &sums[i % 2] };
        multiply_once(context, &part, &Out { buffer, ..out.clone() })?;
    }
    Ok(())
}

fn multiply_once(context: &Context, product: &Product, out: &Out) -> Result<()> {
    let rank = out.shape.len();
    let batch = rank - 2;
    let mut inputs: SmallVec<[In; 3]> = SmallVec::from_iter([product.a.clone(), product.b.clone()]);
    inputs.extend(product.c.as_ref().map(|(c, _)| c.clone()));
    let kernel = Matmul {
        a: product.a.dtype,
        b: product.b.dtype,
        c: product.c.as_ref().map(|(c, _)| c.dtype),
        out: out.dtype,
        batch,
        shared: shares(&inputs, out.buffer),
    };
    let (pipeline, [rows, columns]) = match software::matmul_rows(context, &kernel) {
        Some((found, block)) => (found?, block),
        None => (context.pipeline(&kernel)?, [TILE; 2]),
    };
    let [m, n] = [rank - 2, rank - 1].map(|d| out.shape[d]);
    let k = product.a.shape[product.a.shape.len() - 1];
    let beta = product.c.as_ref().map_or(0.0, |c| c.1);
    let mut params: SmallVec<[u32; 48]> = SmallVec::from_slice(&[
        m as u32,
        n as u32,
        k as u32,
        (product.alpha as f32).to_bits(),
        (beta as f32).to_bits(),
    ]);
    params.extend(out.shape[..batch].iter().skip(1).map(|&d| d as u32));
    let mut binds: SmallVec<[Bind; 4]> = SmallVec::new();
    let bytes = (out.elements() * out.dtype.size()) as u64;
    binds.push(Bind { buffer: out.buffer, start: 0, bytes });
    for x in &inputs {
        let window = context.window(x)?;
        binds.push(window.bind);
        params.push((x.offset - window.skipped) as u32);
        params.extend(
            strides(x, out, inputs.len() == 3 && std::ptr::eq(x, &inputs[2]))
                .iter()
                .map(|&s| s as i32 as u32),
        );
    }
    let groups = [n.div_ceil(columns), m.div_ceil(rows), out.shape[..batch].iter().product()];
    context.launch(&pipeline, &binds, &params, groups.map(|g| g as u32))
}

/// Strides over the batch axes of the output and the last two axes of the input.
pub(super) fn strides(x: &In, out: &Out, broadcast: bool) -> Strides {
    if broadcast {
        return broadcast_strides(x.shape, x.strides, out.shape);
    }
    let (own, batch) = (x.shape.len() - 2, out.shape.len() - 2);
    let mut strides = broadcast_strides(&x.shape[..own], &x.strides[..own], &out.shape[..batch]);
    strides.extend_from_slice(&x.strides[own..]);
    strides
}

/// `alpha · (a @ b) + beta · c`. Parameters: rows, columns, depth, alpha, beta, sizes of the batch; for each matrix its
/// offset and strides.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Matmul {
    a: Dtype,
    b: Dtype,
    c: Option<Dtype>,
    pub out: Dtype,
    /// Axes in front of the matrices.
    batch: usize,
    shared: bool,
}

/// What all kernels of products begin with.
pub(super) struct Start {
    pub text: Text,
    /// Numbers of the parameters that hold the strides of rows and columns.
    pub a: (usize, usize),
    pub b: (usize, usize),
    /// WGSL that declares where the third matrix begins, if there is one.
    pub base_c: &'static str,
    /// WGSL of an element of the output, from the sum `v` at row `r` and column `c`.
    pub result: String,
}

impl Matmul {
    /// Declares the arrays, and writes the function `batch_` that finds where the matrices of a batch begin.
    pub fn start(&self) -> Start {
        let &Matmul { a, b, c, out, batch, shared } = self;
        let mut text = Text::new(shared);
        text.output(out);
        text.take(5);
        let sizes = text.take(batch.saturating_sub(1));
        let mut body = String::new();
        let _ = writeln!(body, "fn batch_(z: u32, x: u32) -> u32 {{");
        positions(&mut body, "c", "z", batch, sizes);
        let mut places = Vec::new();
        for (x, dtype) in [Some(a), Some(b), c].into_iter().flatten().enumerate() {
            text.input(dtype);
            let (offset, strides) = (text.take(1), text.take(batch + 2));
            let sum = position_sum(&format!("p.p{offset}"), "c", batch, strides);
            let _ = writeln!(body, "    if (x == {x}u) {{ return {sum}; }}");
            places.push((strides + batch, strides + batch + 1));
        }
        let _ = writeln!(body, "    return 0u;\n}}");
        text.body = body;
        let complex = out == Dtype::Complex64;
        let scaled = if complex { "v * bitcast<f32>(p.p3)" } else { "bitcast<f32>(p.p3) * v" };
        let (base_c, result) = match places.get(2) {
            Some((row, col)) => (
                "    let base_c = batch_(wg.z, 2u);\n",
                format!("{scaled} + bitcast<f32>(p.p4) * ld2(base_c + r * p.p{row} + c * p.p{col})"),
            ),
            None => ("", scaled.to_owned()),
        };
        Start { text, a: places[0], b: places[1], base_c, result }
    }
}

impl Kernel for Matmul {
    fn label(&self) -> String {
        if self.c.is_some() { "addmm" } else { "matmul" }.to_owned()
    }

    fn text(&self) -> Text {
        let Start { mut text, a: (a_row, a_col), b: (b_row, b_col), base_c, result } = self.start();
        let ty = wgsl::scalar(self.out);
        let mul = if self.out == Dtype::Complex64 { "cmul_(x, b[j])" } else { "x * b[j]" };
        let _ = write!(
        text.body,
        "var<workgroup> ta: array<{ty}, {size}>;
var<workgroup> tb: array<{ty}, {size}>;
@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) wg: vec3<u32>, @builtin(local_invocation_index) li: u32) {{
    let base_a = batch_(wg.z, 0u);
    let base_b = batch_(wg.z, 1u);
{base_c}    let row0 = wg.y * {TILE}u;
    let col0 = wg.x * {TILE}u;
    let tr = (li / 16u) * 4u;
    let tc = (li % 16u) * 4u;
    var acc: array<array<{ty}, 4>, 4>;
    for (var k0 = 0u; k0 < p.p2; k0 = k0 + {DEPTH}u) {{
        // Invocations walk along the axis whose elements lie side by side.
        for (var e = li; e < {size}u; e = e + 256u) {{
            var r = e / {DEPTH}u;
            var k = e % {DEPTH}u;
            if (p.p{a_row} == 1u) {{ r = e % {TILE}u; k = e / {TILE}u; }}
            var v = {ty}();
            if (row0 + r < p.p0 && k0 + k < p.p2) {{
                v = ld0(base_a + (row0 + r) * p.p{a_row} + (k0 + k) * p.p{a_col});
            }}
            ta[k * {TILE}u + r] = v;
        }}
        for (var e = li; e < {size}u; e = e + 256u) {{
            var c = e % {TILE}u;
            var k = e / {TILE}u;
            if (p.p{b_row} == 1u) {{ k = e % {DEPTH}u; c = e / {DEPTH}u; }}
            var v = {ty}();
            if (col0 + c < p.p1 && k0 + k < p.p2) {{
                v = ld1(base_b + (k0 + k) * p.p{b_row} + (col0 + c) * p.p{b_col});
            }}
            tb[k * {TILE}u + c] = v;
        }}
        workgroupBarrier();
        for (var k = 0u; k < {DEPTH}u; k = k + 1u) {{
            let b = array<{ty}, 4>(tb[k * {TILE}u + tc], tb[k * {TILE}u + tc + 1u], tb[k * {TILE}u + tc + 2u], tb[k * {TILE}u + tc + 3u]);
            for (var i = 0u; i < 4u; i = i + 1u) {{
                let x = ta[k * {TILE}u + tr + i];
                for (var j = 0u; j < 4u; j = j + 1u) {{ acc[i][j] = acc[i][j] + {mul}; }}
            }}
        }}
        workgroupBarrier();
    }}
    for (var i = 0u; i < 4u; i = i + 1u) {{
        for (var j = 0u; j < 4u; j = j + 1u) {{
            let r = row0 + tr + i;
            let c = col0 + tc + j;
            if (r < p.p0 && c < p.p1) {{
                let v = acc[i][j];
                out[(wg.z * p.p0 + r) * p.p1 + c] = {result};
            }}
        }}
    }}
}}
",
        size = TILE * DEPTH
    );
        text
    }
}
