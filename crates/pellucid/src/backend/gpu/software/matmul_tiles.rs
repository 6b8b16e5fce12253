//! Large matrix products, through tiles of uniform memory.
//!
//! Both matrices are first packed into tiles: square ones of the first matrix's rows and the second one's columns, each
//! as deep as the other. A launch multiplies several pairs of them, one behind the other along the axis that
//! disappears.

use std::fmt::Write;

use smallvec::SmallVec;

use super::lanes::lanes;
use super::{ELEMENTS, LANES, TILE_BYTES, declare_tile, has_tiles, most_tiles, tile};
use crate::array::{Dtype, Shape};
use crate::backend::gpu::elementwise;
use crate::backend::gpu::kernel::Kernel;
use crate::backend::gpu::matmul::{Product, strides};
use crate::backend::gpu::record::Bind;
use crate::backend::gpu::tensor::{Context, In, Out, position_sum, positions};
use crate::backend::gpu::wgsl::{GROUP, Text};
use crate::error::Result;
use crate::memory::Buffer;
use crate::op::{Arg, BinaryOp, Func, Instr, Program, Scalar};

/// Elements of a tile along the axis that disappears, and along the other.
const DEPTH: usize = 64;
const SIDE: usize = ELEMENTS / DEPTH;
/// Pairs of tiles that a launch multiplies: more make its text long, fewer read and write the result more often.
const PAIRS: usize = 4;
/// Columns that each of the invocations makes which share what they read of the first matrix, a row each.
const COLUMNS: usize = 4;
/// Workgroups that pack a tile, in vectors of four.
const GROUPS_OF_PACK: usize = TILE_BYTES / 16 / GROUP as usize;
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

    /// Tiles one behind the other.
    fn depth(self) -> usize {
        self.k.div_ceil(DEPTH)
    }

    /// Tiles of the larger matrix.
    fn tiles(self) -> usize {
        self.batch * self.depth() * self.m.max(self.n).div_ceil(SIDE)
    }
}

/// Multiplies; `false` if the product is not one for this kernel, or there is no room for packed matrices.
pub(in crate::backend::gpu) fn run(context: &Context, product: &Product, out: &Out) -> Result<bool> {
    let rank = out.shape.len();
    let Some((rows, stride)) = all_rows(product, out) else { return run_batches(context, product, out) };
    // One product of all rows.
    let (a, b) = (&product.a, &product.b);
    let (a_shape, a_strides) = ([rows, a.shape[a.shape.len() - 1]], [stride, a.strides[a.strides.len() - 1]]);
    let (b_shape, b_strides) = (&b.shape[b.shape.len() - 2..], &b.strides[b.strides.len() - 2..]);
    let one = Product {
        a: In { shape: &a_shape, strides: &a_strides, ..a.clone() },
        b: In { shape: b_shape, strides: b_strides, ..b.clone() },
        c: None,
        alpha: product.alpha,
    };
    run_batches(context, &one, &Out { shape: &[rows, out.shape[rank - 1]], ..out.clone() })
}

/// The number and the stride of the rows of all batches, if they lie one after the other and all are multiplied by one
/// matrix.
fn all_rows(product: &Product, out: &Out) -> Option<(usize, isize)> {
    let (a, b, batch) = (&product.a, &product.b, out.shape.len() - 2);
    let one = b.shape[..b.shape.len() - 2].iter().zip(b.strides).all(|(&d, &s)| d == 1 || s == 0);
    if batch == 0 || product.c.is_some() || !one || a.shape[..a.shape.len() - 1] != out.shape[..batch + 1] {
        return None;
    }
    let (mut rows, stride) = (out.shape[batch], a.strides[batch]);
    for d in (0..batch).rev() {
        if out.shape[d] != 1 && a.strides[d] != rows as isize * stride {
            return None;
        }
        rows *= out.shape[d];
    }
    Some((rows, stride))
}

fn run_batches(context: &Context, product: &Product, out: &Out) -> Result<bool> {
    if !takes(context, product, out) {
        return Ok(false);
    }
    let sizes = Sizes::of(product, out);
    let room = |side: Side| context.scratch(sizes.batch * side.tiles(sizes) * TILE_BYTES);
    let (Ok(a), Ok(b)) = (room(Side::Rows), room(Side::Columns)) else { return Ok(false) };
    pack(context, &product.a, out, sizes, Side::Rows, &a)?;
    pack(context, &product.b, out, sizes, Side::Columns, &b)?;
    if product.c.is_none() && product.alpha == 1.0 {
        return multiply(context, sizes, &a, &b, out.buffer).map(|()| true);
    }
    let made = context.scratch(out.elements() * 4)?;
    multiply(context, sizes, &a, &b, &made)?;
    finish(context, product, &made, out)?;
    Ok(true)
}

/// Whether products are made here.
fn takes(context: &Context, product: &Product, out: &Out) -> bool {
    let (gpu, sizes) = (context.gpu, Sizes::of(product, out));
    let Sizes { m, n, k, .. } = sizes;
    has_tiles(gpu)
        && most_tiles(gpu) >= 2 * PAIRS
        && out.dtype == Dtype::Float32
        && m >= LANES
        && n >= LANES * COLUMNS
        && k >= DEPTH / 2
        && n.is_multiple_of(COLUMNS)
        && m * n * k >= LEAST
        && (sizes.tiles() * TILE_BYTES) as u64 <= gpu.largest_binding()
        && sizes.tiles() * GROUPS_OF_PACK <= 65_535
        && (out.elements() * 4) as u64 <= gpu.largest_binding()
        && lanes(gpu, context.stream) as usize == LANES
}

/// `alpha · made + beta · c`.
fn finish(context: &Context, product: &Product, made: &Buffer, out: &Out) -> Result<()> {
    let float = Dtype::Float32;
    let binary = |op: BinaryOp, a: Arg, b: Arg| Instr {
        func: Func::Binary(op),
        compute: float,
        result: float,
        args: [a, b, a],
    };
    let mut program = Program::default();
    program.inputs.push(float);
    program.consts.push((Scalar::Float(product.alpha), float));
    program.instrs.push(binary(BinaryOp::Multiply, Arg::Const(0), Arg::Input(0)));
    let strides = Shape::from(out.shape).row_major();
    let mut inputs: SmallVec<[In; 2]> = SmallVec::new();
    inputs.push(In { buffer: made, dtype: float, shape: out.shape, strides: &strides, offset: 0 });
    if let Some((c, beta)) = &product.c {
        program.inputs.push(c.dtype);
        program.consts.push((Scalar::Float(*beta), float));
        let args = [Arg::Input(1); 3];
        program.instrs.push(Instr { func: Func::Cast, compute: c.dtype, result: float, args });
        program.instrs.push(binary(BinaryOp::Multiply, Arg::Const(1), Arg::Instr(1)));
        program.instrs.push(binary(BinaryOp::Add, Arg::Instr(0), Arg::Instr(2)));
        inputs.push(c.clone());
    }
    elementwise::run(context, &program, &inputs, out)
}

/// Which matrix is packed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Side {
    Rows,
    Columns,
}

impl Side {
    /// Elements along the axis that stays.
    fn length(self, sizes: Sizes) -> usize {
        if self == Side::Rows { sizes.m } else { sizes.n }
    }

    /// Tiles of one batch.
    fn tiles(self, sizes: Sizes) -> usize {
        sizes.depth() * self.length(sizes).div_ceil(SIDE)
    }
}

/// Multiplies packed matrices.
fn multiply(context: &Context, sizes: Sizes, a: &Buffer, b: &Buffer, out: &Buffer) -> Result<()> {
    let Sizes { batch: batches, m, n, .. } = sizes;
    let (depth, rows, columns) = (sizes.depth(), m.div_ceil(SIDE), n.div_ceil(SIDE));
    let blocks = (0..batches).flat_map(|z| (0..rows).flat_map(move |r| (0..columns).map(move |c| (z, r, c))));
    for (batch, row, column) in blocks {
        for first in (0..depth).step_by(PAIRS) {
            let (pairs, adds) = (PAIRS.min(depth - first), first > 0);
            let mut binds: SmallVec<[Bind; 2 * PAIRS + 1]> = SmallVec::new();
            binds.push(Bind { buffer: out, start: 0, bytes: (batches * m * n * 4) as u64 });
            for k in first..first + pairs {
                binds.push(tile(a, 0, (batch * depth + k) * rows + row));
                binds.push(tile(b, 0, (batch * depth + k) * columns + column));
            }
            let pipeline = context.pipeline(&Multiply { pairs, adds })?;
            let (row, column) = (row * SIDE, column * SIDE);
            let params = [m, n, row, column, batch * m * n].map(|p| p as u32);
            let groups = [
                (n - column).min(SIDE).div_ceil(LANES * COLUMNS) as u32,
                (m - row).min(SIDE).div_ceil(LANES) as u32,
                1,
            ];
            context.launch(&pipeline, &binds, &params, groups)?;
        }
    }
    Ok(())
}

/// The product of pairs of tiles, added to the result or in its place. In a tile of the first matrix, vectors of four
/// neighbours in depth lie row by row, eight rows together; in one of the second, columns lie side by side. Parameters:
/// rows, columns, first row, first column, first element of the batch.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Multiply {
    pairs: usize,
    adds: bool,
}

impl Kernel for Multiply {
    fn label(&self) -> String {
        "matmul".to_owned()
    }

    fn text(&self) -> Text {
        let &Multiply { pairs, adds } = self;
        let mut text = Text::new(false);
        text.output_of("vec4<f32>");
        text.take(5);
        for _ in 0..2 * pairs {
            declare_tile(&mut text, "vec4<f32>", 16);
        }
        let mut body = format!(
            "@compute @workgroup_size({LANES})
fn main(@builtin(workgroup_id) wg: vec3<u32>, @builtin(local_invocation_index) li: u32) {{
    let column = p.p3 + (wg.x * {LANES}u + li) * {COLUMNS}u;
    let row = p.p2 + wg.y * {LANES}u;
    let at = (p.p4 + row * p.p1 + column) / 4u;
    let valid = column < p.p1;
"
        );
        let (valid, at) = (
            |r: usize| format!("valid && row + {r}u < p.p0"),
            |r: usize| format!("out[at + {r}u * (p.p1 / 4u)]"),
        );
        for r in 0..LANES {
            let _ = writeln!(body, "    var s{r} = vec4<f32>();");
            if adds {
                let _ = writeln!(body, "    if ({}) {{ s{r} = {}; }}", valid(r), at(r));
            }
        }
        for pair in 0..pairs {
            let (a, b) = (2 * pair, 2 * pair + 1);
            let _ = writeln!(body, "    for (var k = 0u; k < {}u; k = k + 1u) {{", DEPTH / 4);
            let _ = writeln!(body, "        let a = in{a}[(wg.y * {}u + k) * {LANES}u + li];", DEPTH / 4);
            for (k, part) in ["x", "y", "z", "w"].iter().enumerate() {
                let line = format!("(k * 4u + {k}u) * {}u", SIDE / 4);
                let _ = writeln!(body, "        let b{k} = in{b}[{line} + wg.x * {LANES}u + li];");
                for r in 0..LANES {
                    let _ = writeln!(body, "        s{r} = s{r} + subgroupBroadcast(a.{part}, {r}u) * b{k};");
                }
            }
            body.push_str("    }\n");
        }
        for r in 0..LANES {
            let _ = writeln!(body, "    if ({}) {{ {} = s{r}; }}", valid(r), at(r));
        }
        body.push_str("}\n");
        text.body = body;
        text
    }
}

/// Packs a matrix of every batch: tiles of a batch together, of one depth together. Beyond the matrix they hold zeros
/// in depth and anything to the side.
fn pack(context: &Context, x: &In, out: &Out, sizes: Sizes, side: Side, packed: &Buffer) -> Result<()> {
    let batch = out.shape.len() - 2;
    let (length, tiles) = (side.length(sizes), side.tiles(sizes));
    let pipeline = context.pipeline(&Pack { dtype: x.dtype, batch, side })?;
    let window = context.window(x)?;
    let mut params: SmallVec<[u32; 24]> =
        SmallVec::from_iter([tiles, length.div_ceil(SIDE), length, sizes.k].map(|p| p as u32));
    params.extend(out.shape[..batch].iter().skip(1).map(|&d| d as u32));
    params.push((x.offset - window.skipped) as u32);
    params.extend(strides(x, out, false).iter().map(|&s| s as i32 as u32));
    let target = Bind { buffer: packed, start: 0, bytes: (sizes.batch * tiles * TILE_BYTES) as u64 };
    let groups = (sizes.batch * tiles * GROUPS_OF_PACK) as u32;
    context.launch(&pipeline, &[target, window.bind], &params, [groups, 1, 1])
}

/// Packs matrices. Parameters: tiles of a batch, tiles side by side, length to the side, depth, sizes of the batch, offset,
/// strides.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Pack {
    dtype: Dtype,
    /// Axes in front of the matrices.
    batch: usize,
    side: Side,
}

impl Kernel for Pack {
    fn label(&self) -> String {
        "matmul_pack".to_owned()
    }

    fn text(&self) -> Text {
        let &Pack { dtype, batch, side } = self;
        let mut text = Text::new(false);
        text.output_of("vec4<f32>");
        text.input(dtype);
        text.take(4);
        let sizes = text.take(batch.saturating_sub(1));
        let (offset, strides) = (text.take(1), text.take(batch + 2));
        let (row, column) = (strides + batch, strides + batch + 1);
        let mut body = String::new();
        // The place of the vector in its tile, where its elements go, and the strides of depth and side.
        let (vectors, group) = (TILE_BYTES / 16, LANES * DEPTH / 4);
        let (k, at, next, depth, length) = match side {
            Side::Rows => (
                format!("(e / {LANES}u) % {}u * 4u", DEPTH / 4),
                format!("e / {group}u * {LANES}u + e % {LANES}u"),
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
    let tile = w / {vectors}u % p.p0;
    let k = tile / p.p1 * {DEPTH}u + {k};
    let at = tile % p.p1 * {SIDE}u + {at};
"
        );
        positions(&mut body, "c", &format!("w / {vectors}u / p.p0"), batch, sizes);
        let base = position_sum(&format!("p.p{offset}"), "c", batch, strides);
        let _ = writeln!(body, "    let base = {base};");
        for i in 0..4 {
            let (k, at) = (format!("k + {}u", i * next[0]), format!("at + {}u", i * next[1]));
            let place =
                format!("base + min({k}, p.p3 - 1u) * p.p{depth} + min({at}, p.p2 - 1u) * p.p{length}");
            let _ = writeln!(body, "    let x{i} = select(0.0, ld0({place}), {k} < p.p3);");
        }
        body.push_str("    out[w] = vec4<f32>(x0, x1, x2, x3);\n}\n");
        text.body = body;
        text
    }
}
