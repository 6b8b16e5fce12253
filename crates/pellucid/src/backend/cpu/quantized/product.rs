//! Products with packed matrices. A few rows of `x` are multiplied while the codes are unpacked, without ever storing
//! them; for more rows a tile is unpacked once and multiplied as a matrix.

use super::super::matmul::broadcast_strides;
use super::super::real::{View, all, put, tile_product};
use super::super::simd::{Kernel, dispatch};
use super::super::strided::{Grid, PerAxis, row_major};
use super::super::tensor::{In, Out};
use super::super::{layout::Shared, parallel};
use super::Packed;
use super::code::{Code, Fp4, Fp8, Int, with_code};
use crate::array::Dtype;
use crate::error::{Error, Result};
use crate::op::{QuantMode, QuantSpec};

/// Rows of `x` up to which codes are unpacked anew for each.
const FEW: usize = 4;
/// Packed rows that are multiplied side by side: their sums do not wait for each other.
const BESIDE: usize = 4;
/// Sides of a tile that is unpacked: in the second-level cache.
const TILE_ROWS: usize = 64;
const TILE_LENGTH: usize = 512;

/// `x @ wᵀ`, or `x @ w` without `transpose`. Inputs: x, words, scales, biases in mode affine; with `gather`, the numbers of
/// the matrices of `x` and of `w` besides.
pub(crate) fn quantized_matmul(
    spec: &QuantSpec,
    transpose: bool,
    gather: bool,
    inputs: &[In],
    out: &mut Out,
) -> Result<()> {
    let (x, w, scales) = (&inputs[0], &inputs[1], &inputs[2]);
    let biases = if spec.mode == QuantMode::Affine { inputs.get(3) } else { None };
    if out.elements() == 0 {
        return Ok(());
    }
    let name = "quantized_matmul";
    let n = out.shape.len();
    let (m, columns) = (out.shape[n - 2], out.shape[n - 1]);
    let length = x.shape[x.shape.len() - 1];
    if length == 0 {
        // SAFETY: the output's bytes; sums of nothing are zero in every type.
        unsafe { std::ptr::write_bytes(out.ptr(), 0, out.elements() * out.dtype.size()) };
        return Ok(());
    }
    let pairs = &pairs(gather, inputs, out)?[..];
    let packed = Packed::new(name, spec, w, scales, biases)?;
    let direct = x.is_contiguous() && x.dtype == Dtype::Float32;
    let wide = if direct { None } else { Some(all::<f32>(name, x)?) };
    let x_ptr = wide.as_ref().map_or(x.ptr().cast::<f32>(), |wide| wide.as_ptr());
    let x = Shared::from_ptr(x_ptr.cast_mut());
    let rows = w.shape[w.shape.len() - 2];
    let task = Task { packed: &packed, x, m, columns, length, rows, out };
    if transpose && m <= FEW {
        task.few(pairs);
    } else {
        task.tiles(pairs, transpose);
    }
    Ok(())
}

/// The matrices of x and of w that are multiplied, in the order of the output.
fn pairs(gather: bool, inputs: &[In], out: &Out) -> Result<Vec<(usize, usize)>> {
    let leading = |x: &In| -> PerAxis<usize> { x.shape[..x.shape.len() - 2].into() };
    let (x, w) = (leading(&inputs[0]), leading(&inputs[1]));
    if !gather {
        let batch = &out.shape[..out.shape.len() - 2];
        let strides = [&x, &w].map(|shape| broadcast_strides(shape, &row_major(shape), batch));
        let grid = Grid::new(batch, [&strides[0], &strides[1]]);
        let mut walk = grid.walk(0);
        let step = |_| {
            let pair = (walk.offsets[0] as usize, walk.offsets[1] as usize);
            walk.step();
            pair
        };
        return Ok((0..batch.iter().product()).map(step).collect());
    }
    let chosen = |indices: &In, of: &[usize]| -> Result<Vec<usize>> {
        let count: usize = of.iter().product();
        let one = |index: i64| {
            let from_start = if index < 0 { index.saturating_add(count as i64) } else { index };
            usize::try_from(from_start).ok().filter(|&i| i < count).ok_or(Error::Index {
                function: "gather_qmm",
                index,
                axis: 0,
                size: count,
            })
        };
        indices.integers().into_iter().map(one).collect()
    };
    let n = inputs.len();
    let (left, right) = (chosen(&inputs[n - 2], &x)?, chosen(&inputs[n - 1], &w)?);
    Ok(left.into_iter().zip(right).collect())
}

struct Task<'a, 'b> {
    packed: &'a Packed<'b>,
    x: Shared<f32>,
    /// Rows and columns of the result, and the length of the sums.
    m: usize,
    columns: usize,
    length: usize,
    /// Packed rows of one matrix.
    rows: usize,
    out: &'a Out<'b>,
}

impl Task<'_, '_> {
    /// The first element of a matrix of `x`.
    fn x(&self, which: usize) -> *mut f32 {
        // SAFETY: a matrix of `x`.
        unsafe { self.x.at((which * self.m * self.length) as isize) }
    }

    fn few(&self, pairs: &[(usize, usize)]) {
        let (m, columns, length, group) = (self.m, self.columns, self.length, self.packed.spec.group);
        let blocks = columns.div_ceil(BESIDE);
        let bytes = BESIDE * length * m;
        parallel::ranges(pairs.len() * blocks, 1, bytes, |range| {
            let groups = self.packed.groups;
            let mut scales = vec![0.0f32; BESIDE * groups];
            let mut biases = vec![0.0f32; BESIDE * groups];
            let mut sums = vec![0.0f32; m * groups];
            let mut summed = usize::MAX;
            for item in range {
                let ((left, right), block) = (pairs[item / blocks], item % blocks);
                // SAFETY: the matrix of `x` that this pair names.
                let x = unsafe { std::slice::from_raw_parts(self.x(left).cast_const(), m * length) };
                if summed != left {
                    for (sum, x) in sums.iter_mut().zip(x.chunks(group)) {
                        *sum = x.iter().sum();
                    }
                    summed = left;
                }
                // The last block begins early rather than being smaller; what it computes twice is the same.
                let first = (block * BESIDE).min(columns.saturating_sub(BESIDE));
                let beside = BESIDE.min(columns);
                for i in 0..beside {
                    let at = i * groups..(i + 1) * groups;
                    let row = right * self.rows + first + i;
                    self.packed.factors(row, 0..groups, &mut scales[at.clone()], &mut biases[at]);
                }
                for row in 0..m {
                    let dots = Dots {
                        codes: std::array::from_fn(|i| {
                            self.packed.codes(right * self.rows + first + i.min(beside - 1), 0)
                        }),
                        x: &x[row * length..][..length],
                        sums: &sums[row * groups..][..groups],
                        scales: &scales,
                        biases: &biases,
                        group,
                    };
                    let results = with_code!(self.packed.spec, C => dispatch(Typed::<C>(dots, std::marker::PhantomData)));
                    let own = block * BESIDE - first;
                    let at = (item / blocks * m + row) * columns + first + own;
                    // SAFETY: columns that belong to this block alone.
                    unsafe { put(self.out, at, &results[own..beside]) };
                }
            }
        });
    }

    /// Unpacks tiles of `w` and multiplies them as matrices.
    fn tiles(&self, pairs: &[(usize, usize)], transpose: bool) {
        let (m, columns, length, group) = (self.m, self.columns, self.length, self.packed.spec.group);
        // Whole groups along the packed axis.
        let width = if transpose { TILE_ROWS } else { TILE_LENGTH / group * group };
        let depth = if transpose { TILE_LENGTH / group * group } else { TILE_ROWS };
        let blocks = columns.div_ceil(width);
        parallel::ranges(pairs.len() * blocks, 1, width * length * m.min(64), |range| {
            let (mut tile, mut result) = (vec![0.0f32; width * depth], vec![0.0f32; m * width]);
            for item in range {
                let ((left, right), first) = (pairs[item / blocks], item % blocks * width);
                let many = width.min(columns - first);
                for start in (0..length).step_by(depth) {
                    let deep = depth.min(length - start);
                    let (rows, from, count) =
                        if transpose { (first, start, deep) } else { (start, first, many) };
                    let number = if transpose { many } else { deep };
                    for (i, to) in tile.chunks_mut(count).take(number).enumerate() {
                        let row = right * self.rows + rows + i;
                        self.packed.unpack(row, from / group..(from + count) / group, to);
                    }
                    let b = View::rows(tile.as_ptr(), count);
                    let b = if transpose { b.transposed() } else { b };
                    let beta = if start == 0 { 0.0 } else { 1.0 };
                    // SAFETY: `m` rows of `x` from column `start` on, the tile, and room for the result.
                    unsafe {
                        let a = View::rows(self.x(left).add(start).cast_const(), length);
                        let to = View::rows_mut(&mut result, width);
                        tile_product((m, many, deep), a, b, to, 1.0, beta);
                    }
                }
                for row in 0..m {
                    let at = (item / blocks * m + row) * columns + first;
                    // SAFETY: columns that belong to this block alone.
                    unsafe { put(self.out, at, &result[row * width..][..many]) };
                }
            }
        });
    }
}

/// One row of `x` with a few packed rows.
struct Dots<'a> {
    codes: [*const u8; BESIDE],
    x: &'a [f32],
    /// Sum of `x` over each group, which the biases multiply.
    sums: &'a [f32],
    scales: &'a [f32],
    biases: &'a [f32],
    group: usize,
}

struct Typed<'a, C>(Dots<'a>, std::marker::PhantomData<C>);

impl<C: Code> Kernel for Typed<'_, C> {
    type Output = [f32; BESIDE];

    #[inline(always)]
    fn run(self) -> [f32; BESIDE] {
        let dots = self.0;
        let (groups, bytes) = (dots.sums.len(), dots.group / 8 * C::BITS);
        let rows = dots.scales.len() / groups;
        let mut lanes = [[0.0f32; 8]; BESIDE];
        let mut shifts = [0.0f32; BESIDE];
        for (g, x) in dots.x.chunks(dots.group).enumerate() {
            let mut part = [[0.0f32; 8]; BESIDE];
            for (i, x) in x.as_chunks::<8>().0.iter().enumerate() {
                for (part, codes) in part.iter_mut().zip(&dots.codes) {
                    // SAFETY: eight codes of this group of this row.
                    let values = unsafe { C::eight(codes.add(g * bytes + i * C::BITS)) };
                    for j in 0..8 {
                        part[j] += values[j] * x[j];
                    }
                }
            }
            for r in 0..rows.min(BESIDE) {
                let scale = dots.scales[r * groups + g];
                for j in 0..8 {
                    lanes[r][j] += scale * part[r][j];
                }
                shifts[r] += dots.biases[r * groups + g] * dots.sums[g];
            }
        }
        std::array::from_fn(|r| {
            let l = lanes[r];
            shifts[r] + ((l[0] + l[4]) + (l[1] + l[5])) + ((l[2] + l[6]) + (l[3] + l[7]))
        })
    }
}
