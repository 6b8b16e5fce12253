//! Positions of extreme elements.
//!
//! A run is searched in two steps: the extreme of every block, which is an ordinary vectorised reduction, and then the
//! first place in the first block that has it. Like MLX, NaN counts as the extreme, and the first one wins.

use super::accumulator::{Acc, with_acc};
use super::layout::{Axis, BLOCK, Layout, Shared, count, gather, offset};
use super::parallel;
use super::reduce::{Combine, Max, Min, fold, short_block_results};
use super::simd::{Kernel, dispatch};
use super::tensor::{In, Out};
use crate::array::Dtype;
use crate::error::{Error, Result};
use crate::op::ArgReduceOp;

/// Position along `axis` of each first extreme; `out` is `uint32` and holds the other axes in order.
pub(crate) fn arg_reduce(op: ArgReduceOp, x: &In, axis: usize, out: &mut Out) -> Result<()> {
    let size = x.shape.get(axis).copied().unwrap_or(1);
    if out.dtype != Dtype::Uint32 || size > u32::MAX as usize {
        let message = format!("positions below {size} do not fit {}", out.dtype);
        return Err(Error::argument("arg_reduce", message));
    }
    let target = out.as_mut_slice::<u32>();
    if target.is_empty() {
        return Ok(());
    }
    // Not `Layout::reduction`: positions count along the axis as it is, also if it runs backwards in memory.
    let mut layout = Layout::forward_reduction(x, axis);
    with_acc!(x.dtype, A => match (op, layout.prefers_rows()) {
        (ArgReduceOp::Argmax, true) => return rows::<A, Max>(x, &layout, target),
        (ArgReduceOp::Argmin, true) => return rows::<A, Min>(x, &layout, target),
        (ArgReduceOp::Argmax, false) => columns::<A, Max>(x, &mut layout, target),
        (ArgReduceOp::Argmin, false) => columns::<A, Min>(x, &mut layout, target),
    });
    Ok(())
}

/// True if `value` is more extreme than `best`: what `combine` would replace.
#[inline(always)]
fn beats<A: Acc, O: Combine<A>>(value: A, best: A) -> bool {
    let winner = O::combine(best, value);
    // A NaN is not equal to itself, and takes the place of numbers only.
    if best.is_nan() { false } else { winner.is_nan() | (winner != best) }
}

fn rows<A: Acc, O: Combine<A>>(x: &In, layout: &Layout, target: &mut [u32]) -> Result<()> {
    let elements = count(&layout.reduced);
    let identity = O::identity(x.dtype);
    // SAFETY: a position of the input.
    let first_of =
        |output| unsafe { x.ptr().offset(offset(&layout.kept, output).0 * x.dtype.size() as isize) };
    // Where the first extreme is, once it is known in which block, and what it is.
    let find = |output: usize, block: usize, wanted: A, buf: &mut [A]| {
        let start = block * BLOCK;
        let len = BLOCK.min(elements - start);
        // SAFETY: a position of the input, whose run is that long.
        let values = unsafe { gather(x.dtype, first_of(output), &layout.reduced, start, len, buf) };
        (start + dispatch(Find { values, wanted })) as u32
    };
    if elements > BLOCK && target.len() < 4 * parallel::cores() {
        // Few runs: their blocks are shared out.
        let blocks = elements.div_ceil(BLOCK);
        let mut buf = [A::ZERO; BLOCK];
        return short_block_results::<A, O>(x, layout, identity, |first, results| {
            for (output, results) in (first..).zip(results.chunks(blocks)) {
                let mut best = Best::new(results[0]);
                results.iter().enumerate().for_each(|(i, &value)| best.meet::<O>(i, value));
                target[output] = find(output, best.block, best.value, &mut buf);
            }
        });
    }
    let (shared, outputs) = (Shared::new(target), target.len());
    parallel::ranges(outputs, 1, elements * x.dtype.size(), |range| {
        let mut buf = [A::ZERO; BLOCK];
        for i in range {
            let mut best: Option<Best<A>> = None;
            // A run without elements has one block without any.
            for start in (0..elements.max(1)).step_by(BLOCK) {
                let len = BLOCK.min(elements - start);
                // SAFETY: a position of the input, whose run is that long.
                let values = unsafe { gather(x.dtype, first_of(i), &layout.reduced, start, len, &mut buf) };
                let value = fold::<A, O>(values, identity);
                best.get_or_insert_with(|| Best::new(value)).meet::<O>(start / BLOCK, value);
            }
            let best = best.unwrap_or_else(|| Best::new(identity));
            // SAFETY: each output is written once.
            unsafe { shared.slice(i, 1)[0] = find(i, best.block, best.value, &mut buf) };
        }
    });
    Ok(())
}

/// The block with the first extreme so far, and that extreme.
struct Best<A> {
    block: usize,
    value: A,
}

impl<A: Acc> Best<A> {
    fn new(value: A) -> Best<A> {
        Best { block: 0, value }
    }

    fn meet<O: Combine<A>>(&mut self, block: usize, value: A) {
        if beats::<A, O>(value, self.value) {
            *self = Best { block, value };
        }
    }
}

struct Find<'a, A> {
    values: &'a [A],
    wanted: A,
}

impl<A: Acc> Kernel for Find<'_, A> {
    type Output = usize;

    #[inline(always)]
    fn run(self) -> usize {
        let nan = self.wanted.is_nan();
        let hit = |v: A| if nan { v.is_nan() } else { v == self.wanted };
        // Whole chunks first, without leaving in the middle, so that the comparison is vectorised.
        let chunk = self.values.chunks(64).position(|c| c.iter().fold(false, |any, &v| any | hit(v)));
        let start = chunk.unwrap_or(0) * 64;
        start + self.values[start..].iter().position(|&v| hit(v)).unwrap_or(0)
    }
}

/// Neighbouring outputs side by side.
fn columns<A: Acc, O: Combine<A>>(x: &In, layout: &mut Layout, target: &mut [u32]) {
    const WIDTH: usize = 512;
    let vector = layout.take_vector_axis();
    let layout = &*layout;
    let (outer, rows) = (count(&layout.kept), count(&layout.reduced));
    let blocks = vector.size.div_ceil(WIDTH);
    let shared = Shared::new(target);
    let bytes = rows * vector.size.min(WIDTH) * x.dtype.size();
    parallel::ranges(outer * blocks, 1, bytes, |range| {
        let (mut best, mut at) = ([A::ZERO; WIDTH], [0u32; WIDTH]);
        let mut buf = [A::ZERO; WIDTH];
        for i in range {
            let (o, start) = (i / blocks, i % blocks * WIDTH);
            let width = WIDTH.min(vector.size - start);
            let (from, to) = offset(&layout.kept, o);
            let (best, at) = (&mut best[..width], &mut at[..width]);
            for row in 0..rows {
                let place = from + offset(&layout.reduced, row).0 + start as isize * vector.x;
                // SAFETY: a position of the input.
                let values = unsafe {
                    let first = x.ptr().offset(place * x.dtype.size() as isize);
                    gather(x.dtype, first, &[Axis { size: width, ..vector }], 0, width, &mut buf)
                };
                if row == 0 {
                    best.copy_from_slice(values);
                    at.fill(0);
                } else {
                    dispatch(Challenge::<A, O> {
                        best,
                        at,
                        values,
                        row: row as u32,
                        op: std::marker::PhantomData,
                    });
                }
            }
            for (k, &position) in at.iter().enumerate() {
                // SAFETY: positions of the output, of this block alone.
                unsafe { shared.slice((to + (start + k) as isize * vector.out) as usize, 1)[0] = position };
            }
        }
    });
}

struct Challenge<'a, A, O> {
    best: &'a mut [A],
    at: &'a mut [u32],
    values: &'a [A],
    row: u32,
    op: std::marker::PhantomData<O>,
}

impl<A: Acc, O: Combine<A>> Kernel for Challenge<'_, A, O> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        for ((best, at), &value) in self.best.iter_mut().zip(self.at).zip(self.values) {
            let wins = beats::<A, O>(value, *best);
            *best = if wins { value } else { *best };
            *at = if wins { self.row } else { *at };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::Tensor;
    use super::*;

    fn run(op: ArgReduceOp, x: &Tensor, axis: usize) -> Vec<f64> {
        let mut shape = x.shape.clone();
        shape.remove(axis);
        let mut out = Tensor::zeros(Dtype::Uint32, &shape);
        arg_reduce(op, &x.as_in(), axis, &mut out.as_out()).unwrap();
        out.values()
    }

    fn naive(op: ArgReduceOp, x: &Tensor, axis: usize) -> Vec<f64> {
        let mut shape = x.shape.clone();
        shape.remove(axis);
        let best = |position: Vec<usize>| {
            let (mut best, mut at) = (0.0, 0);
            for k in 0..x.shape[axis] {
                let mut position = position.clone();
                position.insert(axis, k);
                let value = x.at(&position);
                let wins = if op == ArgReduceOp::Argmax { value > best } else { value < best };
                if k == 0 || wins {
                    (best, at) = (value, k);
                }
            }
            at as f64
        };
        Tensor::positions(&shape).into_iter().map(best).collect()
    }

    #[test]
    fn positions_agree_with_a_naive_search_over_types_shapes_and_strides() {
        for dtype in Dtype::ALL {
            for (name, x) in Tensor::views(dtype) {
                for axis in 0..x.shape.len() {
                    for op in [ArgReduceOp::Argmax, ArgReduceOp::Argmin] {
                        assert_eq!(run(op, &x, axis), naive(op, &x, axis), "{op:?} {dtype} {name} {axis}");
                    }
                }
            }
        }
    }

    #[test]
    fn the_first_nan_is_the_extreme() {
        for n in [5, 3000, 10_000] {
            let values = (0..n).map(|i| if i == n / 2 || i == n - 1 { f64::NAN } else { i as f64 });
            let x = Tensor::new(Dtype::Float32, &[n], values.clone());
            assert_eq!(run(ArgReduceOp::Argmax, &x, 0), [(n / 2) as f64]);
            assert_eq!(run(ArgReduceOp::Argmin, &x, 0), [(n / 2) as f64]);
            let x = Tensor::new(Dtype::Float32, &[n, 40], values.flat_map(|v| [v; 40]));
            assert_eq!(run(ArgReduceOp::Argmax, &x, 0), [(n / 2) as f64; 40]);
        }
    }

    #[test]
    fn negative_zero_does_not_beat_zero() {
        let x = Tensor::new(Dtype::Float32, &[3], [0.0, -0.0, 0.0]);
        assert_eq!(run(ArgReduceOp::Argmin, &x, 0), [0.0]);
        assert_eq!(run(ArgReduceOp::Argmax, &x, 0), [0.0]);
    }
}
