//! exp(x − max) / Σ exp(x − max) over any axes.
//!
//! A run that fits the cache is read from memory once: its maximum, its exponentials with their sum, and the scaling
//! are three passes over cached data. A longer one is read twice: block maxima and block sums first, then the results.
//! Runs that lie across memory are handled in tiles of neighbouring columns. 16-bit types always compute in `f32`.

use std::ops::Range;

use num_complex::Complex32;

use super::accumulator::Acc;
use super::exp::Exp;
use super::layout::{Axis, BLOCK, Layout, Shared, count, gather, offset, scatter};
use super::parallel;
use super::reduce::{ExpSum, Max, accumulate, fold};
use super::simd::{Kernel, dispatch};
use super::tensor::{In, Out};
use crate::array::Dtype;
use crate::error::{Error, Result};
use crate::memory::{PerThread, Scratch};

/// Runs up to this many elements are kept in the cache between passes.
const CACHED: usize = 1 << 15;

/// Bytes of a tile of columns: in the second- or third-level cache, and wide enough that a row of it is several cache
/// lines.
const TILE: usize = 1024 * 1024;

/// Softmax over `axes`; `out` has the shape and the inexact type of `x`. `precise` changes nothing here: 16-bit types
/// compute in `f32` either way.
pub(crate) fn softmax(x: &In, axes: &[usize], _precise: bool, out: &mut Out) -> Result<()> {
    if !x.dtype.is_inexact() || out.dtype != x.dtype {
        return Err(Error::internal("softmax", format!("{} into {}", x.dtype, out.dtype)));
    }
    if out.elements() == 0 {
        return Ok(());
    }
    let layout = Layout::same_shape(x, axes);
    match x.dtype {
        Dtype::Float64 => run::<f64>(x, layout, out),
        Dtype::Complex64 => run::<Complex32>(x, layout, out),
        _ => run::<f32>(x, layout, out),
    }
}

fn run<A: Exp>(x: &In, layout: Layout, out: &Out) -> Result<()> {
    let elements = count(&layout.reduced);
    let columns = TILE / size_of::<A>() / elements;
    if !layout.prefers_rows() && columns >= 8 {
        tiles::<A>(x, layout, out, columns.min(BLOCK))
    } else if elements <= CACHED {
        rows::<A>(x, &layout, out)
    } else {
        for run in 0..count(&layout.kept) {
            long_run::<A>(x, &layout, run, out)?;
        }
        Ok(())
    }
}

/// Each run on its own, in the cache.
fn rows<A: Exp>(x: &In, layout: &Layout, out: &Out) -> Result<()> {
    let elements = count(&layout.reduced);
    let size = x.dtype.size() as isize;
    let straight = |stride: fn(&Axis) -> isize| match layout.reduced.as_slice() {
        [] => true,
        [axis] => stride(axis) == 1,
        _ => false,
    };
    let direct_out = out.dtype == A::DTYPE && straight(|a| a.out);
    let direct_in = x.dtype == A::DTYPE && straight(|a| a.x);
    let (runs, bytes) = (count(&layout.kept), elements * 4 * size as usize);
    let (for_values, for_gathered) =
        (if direct_out { 0 } else { elements }, if direct_in { 0 } else { elements });
    let rooms = rooms::<A>(runs, bytes, for_values + for_gathered)?;
    let of_range = |range: Range<usize>, room: &mut [A]| {
        let (values, gathered) = room.split_at_mut(for_values);
        for run in range {
            let (from, to) = offset(&layout.kept, run);
            // SAFETY: positions of the input and the output; this run belongs to this range alone.
            unsafe {
                let source =
                    gather(x.dtype, x.ptr().offset(from * size), &layout.reduced, 0, elements, gathered);
                let to = out.ptr().offset(to * size);
                let target = match direct_out {
                    true => std::slice::from_raw_parts_mut(to.cast::<A>(), elements),
                    false => &mut values[..],
                };
                let max = fold::<A, Max>(source, A::lowest(A::DTYPE));
                let sum = dispatch(Exponentials { source, target, max });
                dispatch(Scale { target, factor: sum.recip() });
                if !direct_out {
                    scatter(out.dtype, to, &layout.reduced, 0, values);
                }
            }
        }
    };
    parallel::ranges(runs, 1, bytes, |range| rooms.with(|room| of_range(range, room)));
    Ok(())
}

/// Room for so many numbers for each thread that works on `count` items.
fn rooms<A: Acc>(count: usize, bytes_per_item: usize, each: usize) -> Result<PerThread<A>> {
    PerThread::filled("softmax", parallel::threads(count, 1, bytes_per_item), each, A::ZERO)
}

/// One run on all cores, block by block.
fn long_run<A: Exp>(x: &In, layout: &Layout, run: usize, out: &Out) -> Result<()> {
    let elements = count(&layout.reduced);
    let blocks = elements.div_ceil(BLOCK);
    let size = x.dtype.size() as isize;
    let (from, to) = offset(&layout.kept, run);
    let block = |i: usize, buf: &mut [A], body: &mut dyn FnMut(&[A])| {
        let start = i * BLOCK;
        let len = BLOCK.min(elements - start);
        // SAFETY: positions of the input.
        body(unsafe { gather(x.dtype, x.ptr().offset(from * size), &layout.reduced, start, len, buf) });
    };
    let mut sums = Scratch::filled("softmax", blocks, ExpSum { max: A::ZERO, sum: A::ZERO })?;
    let shared = Shared::new(&mut sums);
    parallel::ranges(blocks, 1, BLOCK * 4 * size as usize, |range| {
        let mut buf = [A::ZERO; BLOCK];
        for i in range {
            // SAFETY: one place for each block.
            block(i, &mut buf, &mut |values| unsafe { shared.slice(i, 1)[0] = ExpSum::of(values) });
        }
    });
    let total = sums.iter().skip(1).fold(sums[0], |a, &b| a.join(b));
    parallel::ranges(blocks, 1, BLOCK * 4 * size as usize, |range| {
        let (mut buf, mut target) = ([A::ZERO; BLOCK], [A::ZERO; BLOCK]);
        for i in range {
            block(i, &mut buf, &mut |source| {
                let target = &mut target[..source.len()];
                dispatch(Exponentials { source, target, max: total.max });
                dispatch(Scale { target, factor: total.sum.recip() });
                // SAFETY: this block of the output belongs to this range alone.
                unsafe {
                    scatter(out.dtype, out.ptr().offset(to * size), &layout.reduced, i * BLOCK, target)
                };
            });
        }
    });
    Ok(())
}

/// Many runs side by side: a tile holds `width` neighbouring columns.
fn tiles<A: Exp>(x: &In, mut layout: Layout, out: &Out, width: usize) -> Result<()> {
    let vector = layout.take_vector_axis();
    let rows = count(&layout.reduced);
    let size = x.dtype.size() as isize;
    let blocks = vector.size.div_ceil(width);
    let (layout, bytes) = (&layout, rows * width * 4 * size as usize);
    let tiles = count(&layout.kept) * blocks;
    let rooms = rooms::<A>(tiles, bytes, (rows + 2) * width)?;
    let of_range = |range: Range<usize>, room: &mut [A]| {
        let (tile, rest) = room.split_at_mut(rows * width);
        let (max, sum) = rest.split_at_mut(width);
        for i in range {
            let (from, to) = offset(&layout.kept, i / blocks);
            let start = i % blocks * width;
            let columns = width.min(vector.size - start);
            let (max, sum) = (&mut max[..columns], &mut sum[..columns]);
            max.fill(A::lowest(A::DTYPE));
            sum.fill(A::ZERO);
            let places = |row: usize| {
                let (x, out) = offset(&layout.reduced, row);
                (
                    (from + x + start as isize * vector.x) * size,
                    (to + out + start as isize * vector.out) * size,
                )
            };
            for (row, values) in tile.chunks_mut(width).enumerate() {
                let values = &mut values[..columns];
                // SAFETY: positions of the input.
                unsafe { A::read(x.dtype, x.ptr().offset(places(row).0), vector.x, values) };
                accumulate::<A, Max>(max, values);
            }
            for values in tile.chunks_mut(width) {
                dispatch(ColumnExponentials { values: &mut values[..columns], max, sum });
            }
            for s in sum.iter_mut() {
                *s = s.recip();
            }
            for (row, values) in tile.chunks_mut(width).enumerate() {
                let values = &mut values[..columns];
                dispatch(ColumnScale { values, factors: sum });
                // SAFETY: positions of the output, in columns that belong to this range alone.
                unsafe { A::write(out.dtype, out.ptr().offset(places(row).1), vector.out, values) };
            }
        }
    };
    parallel::ranges(tiles, 1, bytes, |range| rooms.with(|room| of_range(range, room)));
    Ok(())
}

struct Exponentials<'a, A> {
    source: &'a [A],
    target: &'a mut [A],
    max: A,
}

impl<A: Exp> Kernel for Exponentials<'_, A> {
    type Output = A;

    /// Writes the exponentials and returns their sum.
    #[inline(always)]
    fn run(self) -> A {
        let mut lanes = [A::ZERO; 16];
        let (from, from_rest) = self.source.as_chunks::<16>();
        let (to, to_rest) = self.target.as_chunks_mut::<16>();
        for (from, to) in from.iter().zip(to) {
            for i in 0..16 {
                to[i] = from[i].sub(self.max).exp_negative();
                lanes[i] = lanes[i].add(to[i]);
            }
        }
        for (i, (from, to)) in from_rest.iter().zip(to_rest).enumerate() {
            *to = from.sub(self.max).exp_negative();
            lanes[i] = lanes[i].add(*to);
        }
        let mut width = 16;
        while width > 1 {
            width /= 2;
            for i in 0..width {
                lanes[i] = lanes[i].add(lanes[i + width]);
            }
        }
        lanes[0]
    }
}

struct Scale<'a, A> {
    target: &'a mut [A],
    factor: A,
}

impl<A: Acc> Kernel for Scale<'_, A> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        for value in self.target {
            *value = value.mul(self.factor);
        }
    }
}

struct ColumnExponentials<'a, A> {
    values: &'a mut [A],
    max: &'a [A],
    sum: &'a mut [A],
}

impl<A: Exp> Kernel for ColumnExponentials<'_, A> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        for ((value, &max), sum) in self.values.iter_mut().zip(self.max).zip(self.sum) {
            *value = value.sub(max).exp_negative();
            *sum = sum.add(*value);
        }
    }
}

struct ColumnScale<'a, A> {
    values: &'a mut [A],
    factors: &'a [A],
}

impl<A: Acc> Kernel for ColumnScale<'_, A> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        for (value, &factor) in self.values.iter_mut().zip(self.factors) {
            *value = value.mul(factor);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::Tensor;
    use super::*;

    fn run(x: &Tensor, axes: &[usize]) -> Tensor {
        let mut out = Tensor::zeros(x.dtype, &x.shape);
        softmax(&x.as_in(), axes, true, &mut out.as_out()).unwrap();
        out
    }

    #[test]
    fn softmax_agrees_with_a_naive_one_over_types_shapes_strides_and_axes() {
        for dtype in Dtype::ALL.into_iter().filter(|d| d.is_inexact()) {
            let tolerance = match dtype {
                Dtype::Float16 => 1e-3,
                Dtype::Bfloat16 => 8e-3,
                Dtype::Float64 => 1e-14,
                _ => 1e-6,
            };
            let large = Tensor::counting(dtype, &[3, 40_000]);
            for (name, x) in Tensor::views(dtype).into_iter().chain([("large", large)]) {
                for axes in x.axis_sets() {
                    let positions = Tensor::positions(&x.shape);
                    let group = |p: &[usize]| -> usize {
                        let kept = (0..p.len()).filter(|i| !axes.contains(i));
                        kept.fold(0, |flat, i| flat * x.shape[i] + p[i])
                    };
                    let mut sums = vec![0.0; positions.len().max(1)];
                    for p in &positions {
                        sums[group(p)] += x.at(p).exp();
                    }
                    let got = run(&x, &axes);
                    for p in &positions {
                        let want = x.at(p).exp() / sums[group(p)];
                        let g = got.at(p);
                        // Results below the normal range of float16 have fewer digits.
                        let close = (g - want).abs() <= tolerance * want + 6e-8;
                        assert!(close, "{dtype} {name} {axes:?} {p:?}: {g} is not {want}");
                    }
                }
            }
        }
    }

    #[test]
    fn an_infinite_maximum_gives_nan_everywhere() {
        let inf = f64::INFINITY;
        for n in [2, 50, 50_000] {
            for value in [inf, -inf] {
                let x = Tensor::new(Dtype::Float32, &[n], (0..n).map(|_| value));
                assert!(run(&x, &[0]).values().iter().all(|v| v.is_nan()), "{n} {value}");
            }
        }
        let x = Tensor::new(Dtype::Float32, &[3], [-inf, 0.0, 0.0]);
        assert_eq!(run(&x, &[0]).values(), [0.0, 0.5, 0.5]);
        let x = Tensor::new(Dtype::Float32, &[3], [1.0, f64::NAN, 0.0]);
        assert!(run(&x, &[0]).values().iter().all(|v| v.is_nan()));
    }

    #[test]
    fn large_arguments_do_not_overflow() {
        let x = Tensor::new(Dtype::Float32, &[2], [1e4, 1e4]);
        assert_eq!(run(&x, &[0]).values(), [0.5, 0.5]);
    }

    #[test]
    fn complex_softmax_uses_both_parts() {
        let mut x = Tensor::zeros(Dtype::Complex64, &[2]);
        let (a, b) = (Complex32::new(1.0, 2.0), Complex32::new(0.5, -1.0));
        x.slice_mut::<Complex32>().copy_from_slice(&[a, b]);
        let got = run(&x, &[0]).slice_mut::<Complex32>()[0];
        assert!((got - a.exp() / (a.exp() + b.exp())).norm() < 1e-5, "{got}");
    }
}
