//! Large matrix products on a processor in software.
//!
//! It reads storage invocation by invocation, waiting each time; of uniform memory it reads what neighbours need at
//! once. But a kernel sees no more than a window of that, so both matrices are first packed into windows: square ones
//! of the first matrix's rows and the second one's columns, each as deep as the other. A launch multiplies several
//! pairs of them, one behind the other along the axis that disappears.

use std::fmt::Write;

use smallvec::SmallVec;

use super::ELEMENTS;
use super::lanes::lanes;
use crate::array::{Dtype, Shape};
use crate::backend::gpu::elementwise;
use crate::backend::gpu::matmul::{Product, strides};
use crate::backend::gpu::pipeline::Key;
use crate::backend::gpu::record::Bind;
use crate::backend::gpu::tensor::{Context, In, Out, position_sum, positions};
use crate::backend::gpu::wgsl::{GROUP, Text, WINDOW};
use crate::error::Result;
use crate::memory::Buffer;
use crate::op::{Arg, BinaryOp, Func, Instr, Program, Scalar};

/// Elements of a window along the axis that disappears, and along the other.
const DEPTH: usize = 64;
const SIDE: usize = ELEMENTS / DEPTH;
/// Pairs of windows that a launch multiplies: more make its text long, fewer read and write the result more often.
const PAIRS: usize = 4;
/// Invocations that share what they read of the first matrix; rows they make, and columns each of them makes.
const LANES: usize = 8;
const ROWS: usize = 8;
const COLUMNS: usize = 4;
/// Workgroups that pack a window, in vectors of four.
const GROUPS_OF_PACK: usize = WINDOW / 16 / GROUP as usize;
/// Products with fewer multiplications are not worth packing.
const LEAST: usize = 1 << 18;

/// The sizes of a product: `batch` times `[m, k] @ [k, n]`.
#[derive(Clone, Copy)]
struct Sizes {
    batch: usize,
    m: usize,
    n: usize,
    k: usize,
}

impl Sizes {
    fn of(product: &Product, out: &Out) -> Sizes {
        let rank = out.shape.len();
        Sizes {
            batch: out.shape[..rank - 2].iter().product(),
            m: out.shape[rank - 2],
            n: out.shape[rank - 1],
            k: product.a.shape[product.a.shape.len() - 1],
        }
    }

    fn depth(self) -> usize {
        self.k.div_ceil(DEPTH)
    }
}

/// Whether products are made here.
pub(in crate::backend::gpu) fn takes(context: &Context, product: &Product, out: &Out) -> bool {
    let (gpu, sizes) = (context.gpu, Sizes::of(product, out));
    let Sizes { batch, m, n, k } = sizes;
    let windows = batch * sizes.depth() * m.max(n).div_ceil(SIDE);
    gpu.has_windows()
        && gpu.limits.max_uniform_buffers_per_shader_stage as usize >= 2 * PAIRS
        && out.dtype == Dtype::Float32
        && m >= ROWS
        && n >= LANES * COLUMNS
        && k >= DEPTH / 2
        && n.is_multiple_of(COLUMNS)
        && m * n * k >= LEAST
        && (windows * WINDOW) as u64 <= gpu.largest_binding()
        && windows * GROUPS_OF_PACK <= 65_535
        && out.elements() * 4 <= gpu.largest_binding() as usize
        && lanes(gpu, context.stream) as usize == LANES
}

/// Multiplies; the result is new memory or shares none with the inputs.
pub(in crate::backend::gpu) fn run(context: &Context, product: &Product, out: &Out) -> Result<()> {
    if product.c.is_none() && product.alpha == 1.0 {
        return multiply(context, product, out);
    }
    let made = context.scratch(out.elements() * 4)?;
    multiply(context, product, &Out { buffer: &made, dtype: Dtype::Float32, shape: out.shape })?;
    finish(context, product, &made, out)
}

/// `alpha · made + beta · c`.
fn finish(context: &Context, product: &Product, made: &Buffer, out: &Out) -> Result<()> {
    let float = Dtype::Float32;
    let mut program = Program::default();
    let multiply = |constant: u16, x: Arg| Instr {
        func: Func::Binary(BinaryOp::Multiply),
        compute: float,
        result: float,
        args: [Arg::Const(constant), x, x],
    };
    program.inputs.push(float);
    program.consts.push((Scalar::Float(product.alpha), float));
    program.instrs.push(multiply(0, Arg::Input(0)));
    let strides = Shape::from(out.shape).row_major();
    let mut inputs: SmallVec<[In; 2]> = SmallVec::new();
    inputs.push(In { buffer: made, dtype: float, shape: out.shape, strides: &strides, offset: 0 });
    if let Some((c, beta)) = &product.c {
        program.inputs.push(c.dtype);
        program.consts.push((Scalar::Float(*beta), float));
        program.instrs.push(Instr {
            func: Func::Cast,
            compute: c.dtype,
            result: float,
            args: [Arg::Input(1); 3],
        });
        program.instrs.push(multiply(1, Arg::Instr(1)));
        let add = Func::Binary(BinaryOp::Add);
        let args = [Arg::Instr(0), Arg::Instr(2), Arg::Instr(0)];
        program.instrs.push(Instr { func: add, compute: float, result: float, args });
        inputs.push(c.clone());
    }
    elementwise::run(context, &program, &inputs, out)
}

/// Which matrix is packed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    Rows,
    Columns,
}

fn multiply(context: &Context, product: &Product, out: &Out) -> Result<()> {
    let sizes = Sizes::of(product, out);
    let a = pack(context, &product.a, out, sizes, Side::Rows)?;
    let b = pack(context, &product.b, out, sizes, Side::Columns)?;
    let (depth, rows, columns) = (sizes.depth(), sizes.m.div_ceil(SIDE), sizes.n.div_ceil(SIDE));
    let window =
        |buffer, number: usize| Bind { buffer, start: (number * WINDOW) as u64, bytes: WINDOW as u64 };
    for batch in 0..sizes.batch {
        for (row, column) in (0..rows).flat_map(|r| (0..columns).map(move |c| (r, c))) {
            for first in (0..depth).step_by(PAIRS) {
                let pairs = PAIRS.min(depth - first);
                let mut binds: SmallVec<[Bind; 2 * PAIRS + 1]> = SmallVec::new();
                binds.push(Bind { buffer: out.buffer, start: 0, bytes: (out.elements() * 4) as u64 });
                for k in first..first + pairs {
                    binds.push(window(&a, (batch * depth + k) * rows + row));
                    binds.push(window(&b, (batch * depth + k) * columns + column));
                }
                let words = [pairs as u32, u32::from(first > 0)];
                let key = Key { family: "matmul_windows", words: SmallVec::from_slice(&words) };
                let pipeline =
                    context.pipeline(key, || ("matmul_windows".to_owned(), text(pairs, first > 0)))?;
                let from = [row * SIDE, column * SIDE];
                let params =
                    [sizes.m, sizes.n, from[0], from[1], batch * sizes.m * sizes.n].map(|p| p as u32);
                let groups = [
                    (sizes.n - from[1]).min(SIDE).div_ceil(LANES * COLUMNS) as u32,
                    (sizes.m - from[0]).min(SIDE).div_ceil(ROWS) as u32,
                    1,
                ];
                context.launch(&pipeline, &binds, &params, groups)?;
            }
        }
    }
    Ok(())
}

/// The product of pairs of windows, added to the result or in its place. In a window of the first matrix, vectors of
/// four neighbours in depth lie row by row, eight rows together; in one of the second, columns lie side by side.
fn text(pairs: usize, adds: bool) -> Text {
    let mut text = Text::new(false);
    text.output_of("vec4<f32>");
    // Rows, columns, first row, first column, first element of the batch.
    text.take(5);
    for _ in 0..2 * pairs {
        text.window("vec4<f32>", 16);
    }
    let mut body = format!(
        "@compute @workgroup_size({LANES})
fn main(@builtin(workgroup_id) wg: vec3<u32>, @builtin(local_invocation_index) li: u32) {{
    let column = p.p3 + (wg.x * {LANES}u + li) * {COLUMNS}u;
    let row = p.p2 + wg.y * {ROWS}u;
    let at = (p.p4 + row * p.p1 + column) / 4u;
    let valid = column < p.p1;
"
    );
    for r in 0..ROWS {
        let _ = writeln!(body, "    var s{r} = vec4<f32>();");
        if adds {
            let _ = writeln!(
                body,
                "    if (valid && row + {r}u < p.p0) {{ s{r} = out[at + {r}u * (p.p1 / 4u)]; }}"
            );
        }
    }
    for pair in 0..pairs {
        let (a, b) = (2 * pair, 2 * pair + 1);
        let _ = writeln!(body, "    for (var k = 0u; k < {}u; k = k + 1u) {{", DEPTH / 4);
        let _ = writeln!(body, "        let a = in{a}[(wg.y * {}u + k) * {ROWS}u + li];", DEPTH / 4);
        for (k, part) in ["x", "y", "z", "w"].iter().enumerate() {
            let line = format!("(k * 4u + {k}u) * {}u", SIDE / 4);
            let _ = writeln!(body, "        let b{k} = in{b}[{line} + wg.x * {LANES}u + li];");
            for r in 0..ROWS {
                let _ = writeln!(body, "        s{r} = s{r} + subgroupBroadcast(a.{part}, {r}u) * b{k};");
            }
        }
        body.push_str("    }\n");
    }
    for r in 0..ROWS {
        let _ =
            writeln!(body, "    if (valid && row + {r}u < p.p0) {{ out[at + {r}u * (p.p1 / 4u)] = s{r}; }}");
    }
    body.push_str("}\n");
    text.body = body;
    text
}

/// A matrix of every batch in windows: those of a batch together, of one depth together. Beyond the matrix they hold
/// zeros in depth and anything to the side.
fn pack(context: &Context, x: &In, out: &Out, sizes: Sizes, side: Side) -> Result<Buffer> {
    let batch = out.shape.len() - 2;
    let length = if side == Side::Rows { sizes.m } else { sizes.n };
    let windows = sizes.depth() * length.div_ceil(SIDE);
    let packed = context.scratch(sizes.batch * windows * WINDOW)?;
    let words = [x.dtype as u32, batch as u32, u32::from(side == Side::Rows)];
    let key = Key { family: "matmul_pack", words: SmallVec::from_slice(&words) };
    let pipeline = context.pipeline(key, || ("matmul_pack".to_owned(), pack_text(x.dtype, batch, side)))?;
    let window = context.window(x)?;
    let mut params: SmallVec<[u32; 24]> =
        SmallVec::from_iter([windows, length.div_ceil(SIDE), length, sizes.k].map(|p| p as u32));
    params.extend(out.shape[..batch].iter().skip(1).map(|&d| d as u32));
    params.push((x.offset - window.skipped) as u32);
    params.extend(strides(x, out, false).iter().map(|&s| s as i32 as u32));
    let target = Bind { buffer: &packed, start: 0, bytes: (sizes.batch * windows * WINDOW) as u64 };
    let groups = (sizes.batch * windows * GROUPS_OF_PACK) as u32;
    context.launch(&pipeline, &[target, window.bind], &params, [groups, 1, 1])?;
    Ok(packed)
}

fn pack_text(dtype: Dtype, batch: usize, side: Side) -> Text {
    let mut text = Text::new(false);
    text.output_of("vec4<f32>");
    text.input(dtype);
    // Windows of a batch, windows side by side, length to the side, depth.
    text.take(4);
    let sizes = text.take(batch.saturating_sub(1));
    let (offset, strides) = (text.take(1), text.take(batch + 2));
    let (row, column) = (strides + batch, strides + batch + 1);
    let mut body = String::new();
    // The place of the vector in its window, and the strides of depth and side.
    let (vectors, group) = (WINDOW / 16, ROWS * DEPTH / 4);
    let (k, at, next, depth, length) = match side {
        Side::Rows => (
            format!("(e / {ROWS}u) % {}u * 4u", DEPTH / 4),
            format!("e / {group}u * {ROWS}u + e % {ROWS}u"),
            [1, 0],
            column,
            row,
        ),
        Side::Columns => {
            (format!("e / {}u", SIDE / 4), format!("e % {}u * 4u", SIDE / 4), [0, 1], row, column)
        }
    };
    let _ = write!(
        body,
        "@compute @workgroup_size({GROUP})
fn main(@builtin(workgroup_id) wg: vec3<u32>, @builtin(local_invocation_index) li: u32) {{
    let w = wg.x * {GROUP}u + li;
    let e = w % {vectors}u;
    let window = w / {vectors}u % p.p0;
    let k = window / p.p1 * {DEPTH}u + {k};
    let at = window % p.p1 * {SIDE}u + {at};
"
    );
    positions(&mut body, "c", &format!("w / {vectors}u / p.p0"), batch, sizes);
    let base = position_sum(&format!("p.p{offset}"), "c", batch, strides);
    let _ = writeln!(body, "    let base = {base};");
    for i in 0..4 {
        let (k, at) = (format!("k + {}u", i * next[0]), format!("at + {}u", i * next[1]));
        let place = format!("base + min({k}, p.p3 - 1u) * p.p{depth} + min({at}, p.p2 - 1u) * p.p{length}");
        let _ = writeln!(body, "    let x{i} = select(0.0, ld0({place}), {k} < p.p3);");
    }
    body.push_str("    out[w] = vec4<f32>(x0, x1, x2, x3);\n}\n");
    text.body = body;
    text
}
