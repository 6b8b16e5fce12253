//! Running reductions along one axis.
//!
//! Along the last axis a long run is cut into segments. Segments are first reduced (vectorised, on all cores), which
//! gives every segment the value it starts with; then all of them run independently, several at a time, because a
//! single chain of additions would wait for each one to finish. Segments depend on the length alone, so float results
//! are the same on every machine. Along other axes neighbouring runs advance side by side.

use num_complex::Complex32;

use super::accumulator::{Acc, with_acc};
use super::exp::Exp;
use super::layout::{Axis, BLOCK, Layout, Shared, count, gather, offset, scatter};
use super::parallel;
use super::reduce::{Combine, Max, Min, Prod, Sum, fold};
use super::simd::{Kernel, dispatch};
use super::tensor::{In, Out};
use crate::array::Dtype;
use crate::error::{Error, Result};
use crate::memory::Scratch;
use crate::op::ScanOp;

/// Elements of one chain; four chains make a block.
const SEGMENT: usize = BLOCK / 4;

/// Scans `axis` of `x`, converted to the type of `out`. An exclusive scan starts with the identity.
pub(crate) fn scan(
    op: ScanOp,
    x: &In,
    axis: usize,
    reverse: bool,
    inclusive: bool,
    out: &mut Out,
) -> Result<()> {
    if out.elements() == 0 {
        return Ok(());
    }
    let job = Scan { x, out, axis, reverse, inclusive };
    match op {
        ScanOp::Cumsum => with_acc!(out.dtype, A => job.run::<A, Sum>()),
        ScanOp::Cumprod => with_acc!(out.dtype, A => job.run::<A, Prod>()),
        ScanOp::Cummax => with_acc!(out.dtype, A => job.run::<A, Max>()),
        ScanOp::Cummin => with_acc!(out.dtype, A => job.run::<A, Min>()),
        ScanOp::Logcumsumexp => match out.dtype {
            Dtype::Float16 | Dtype::Bfloat16 => job.run::<f32, LogAddExp>(),
            // Each step rounds, and a run has as many steps as elements.
            Dtype::Float32 | Dtype::Float64 => job.run::<f64, LogAddExp>(),
            Dtype::Complex64 => job.run::<Complex32, LogAddExp>(),
            other => Err(Error::internal("scan", format!("logcumsumexp into {other}"))),
        },
    }
}

/// log(eᵃ + eᵇ).
#[derive(Clone, Copy)]
struct LogAddExp;

impl<A: Exp> Combine<A> for LogAddExp {
    #[inline(always)]
    fn identity(_: Dtype) -> A {
        A::LOG_ZERO
    }

    #[inline(always)]
    fn combine(a: A, b: A) -> A {
        a.log_add_exp(b)
    }
}

struct Scan<'a> {
    x: &'a In<'a>,
    out: &'a Out<'a>,
    axis: usize,
    reverse: bool,
    inclusive: bool,
}

impl Scan<'_> {
    fn run<A: Acc, O: Combine<A>>(&self) -> Result<()> {
        let layout = Layout::same_shape(self.x, &[self.axis]);
        // An axis of size one has been dropped.
        let mut along = layout.reduced.first().copied().unwrap_or(Axis { size: 1, x: 1, out: 1 });
        let (mut from, mut to) = (0, 0);
        if self.reverse {
            (from, to) = (along.x * (along.size as isize - 1), along.out * (along.size as isize - 1));
            (along.x, along.out) = (-along.x, -along.out);
        }
        // SAFETY: the last element of the axis, where a reverse scan starts.
        let (x, out) = unsafe {
            (
                self.x.ptr().offset(from * self.x.dtype.size() as isize),
                Shared::from_ptr(self.out.ptr().offset(to * self.out.dtype.size() as isize)),
            )
        };
        let x = Shared::from_ptr(x.cast_mut());
        if along.out.unsigned_abs() == 1 || layout.kept.is_empty() {
            return self.rows::<A, O>(&layout, along, x, out);
        }
        self.columns::<A, O>(layout, along, x, out);
        Ok(())
    }

    fn rows<A: Acc, O: Combine<A>>(
        &self,
        layout: &Layout,
        along: Axis,
        x: Shared<u8>,
        out: Shared<u8>,
    ) -> Result<()> {
        let identity = O::identity(self.out.dtype);
        let (runs, blocks) = (count(&layout.kept), along.size.div_ceil(BLOCK));
        let (x_size, out_size) = (self.x.dtype.size() as isize, self.out.dtype.size() as isize);
        let load = |run: usize, start: usize, buf: &mut [A], body: &mut dyn FnMut(&[A])| {
            let len = BLOCK.min(along.size - start);
            // SAFETY: positions of the input.
            body(unsafe {
                let first = x.at(offset(&layout.kept, run).0 * x_size);
                gather(self.x.dtype, first, &[along], start, len, buf)
            });
        };
        let totals_of = |values: &[A]| {
            let mut totals = [identity; 4];
            for (total, segment) in totals.iter_mut().zip(values.chunks(SEGMENT)) {
                *total = fold::<A, O>(segment, identity);
            }
            totals
        };
        let block = |run: usize,
                     start: usize,
                     scratch: &mut [[A; BLOCK]; 2],
                     starts: &mut dyn FnMut(&[A]) -> [A; 4]| {
            let [buf, result] = scratch;
            // SAFETY: this block of the output belongs to the caller alone.
            let to = unsafe { out.at(offset(&layout.kept, run).1 * out_size) };
            load(run, start, buf, &mut |values| {
                let (starts, inclusive) = (starts(values), self.inclusive);
                let in_place = self.out.dtype == A::DTYPE && along.out == 1;
                let place = if in_place {
                    // SAFETY: as above, and `A` is the type of the output.
                    unsafe { std::slice::from_raw_parts_mut(to.cast::<A>().add(start), values.len()) }
                } else {
                    &mut result[..values.len()]
                };
                let op = std::marker::PhantomData;
                dispatch(Chains::<A, O> { values, starts, inclusive, out: place, op });
                if !in_place {
                    // SAFETY: as above.
                    unsafe { scatter(self.out.dtype, to, &[along], start, &result[..values.len()]) };
                }
            });
        };
        let bytes = along.size.min(BLOCK) * (x_size + out_size) as usize;
        if blocks == 1 || runs >= 4 * parallel::cores() {
            // Each run from its start to its end: what the segments start with is found on the way.
            parallel::ranges(runs, 1, blocks * bytes, |range| {
                let mut scratch = [[A::ZERO; BLOCK]; 2];
                for run in range {
                    let mut running = identity;
                    for start in (0..along.size).step_by(BLOCK) {
                        block(run, start, &mut scratch, &mut |values| {
                            let mut totals = totals_of(values);
                            running = exclusive::<A, O>(&mut totals, running);
                            totals
                        });
                    }
                }
            });
            return Ok(());
        }
        // The value each segment starts with, of all runs.
        let mut starts = Scratch::filled("scan", runs * blocks, [identity; 4])?;
        let shared = Shared::new(&mut starts);
        parallel::ranges(runs * blocks, 1, BLOCK * x_size as usize, |range| {
            let mut buf = [A::ZERO; BLOCK];
            for i in range {
                load(i / blocks, i % blocks * BLOCK, &mut buf, &mut |values| {
                    // SAFETY: one place for each block.
                    unsafe { shared.slice(i, 1)[0] = totals_of(values) };
                });
            }
        });
        for totals in starts.chunks_mut(blocks) {
            totals.iter_mut().fold(identity, |running, totals| exclusive::<A, O>(totals, running));
        }
        parallel::ranges(runs * blocks, 1, bytes, |range| {
            let mut scratch = [[A::ZERO; BLOCK]; 2];
            for i in range {
                block(i / blocks, i % blocks * BLOCK, &mut scratch, &mut |_| starts[i]);
            }
        });
        Ok(())
    }

    fn columns<A: Acc, O: Combine<A>>(
        &self,
        mut layout: Layout,
        along: Axis,
        x: Shared<u8>,
        out: Shared<u8>,
    ) {
        const WIDTH: usize = 512;
        // The last axis, along which the output is contiguous.
        let vector = layout.kept.pop().unwrap_or(Axis { size: 1, x: 1, out: 1 });
        let outer = count(&layout.kept);
        let blocks = vector.size.div_ceil(WIDTH);
        let (x_size, out_size) = (self.x.dtype.size() as isize, self.out.dtype.size() as isize);
        let bytes = along.size * vector.size.min(WIDTH) * (x_size + out_size) as usize;
        parallel::ranges(outer * blocks, 1, bytes, |range| {
            let mut totals = [A::ZERO; WIDTH];
            let (mut buf, mut previous) = ([A::ZERO; WIDTH], [A::ZERO; WIDTH]);
            for i in range {
                let (from, to) = offset(&layout.kept, i / blocks);
                let start = i % blocks * WIDTH;
                let width = WIDTH.min(vector.size - start);
                let totals = &mut totals[..width];
                totals.fill(O::identity(self.out.dtype));
                for row in 0..along.size as isize {
                    let (from, to) = (
                        from + row * along.x + start as isize * vector.x,
                        to + row * along.out + start as isize * vector.out,
                    );
                    // SAFETY: positions of the input and the output; these columns belong to this range alone.
                    unsafe {
                        let values = gather(self.x.dtype, x.at(from * x_size), &[vector], 0, width, &mut buf);
                        previous[..width].copy_from_slice(totals);
                        super::reduce::accumulate::<A, O>(totals, values);
                        let result = if self.inclusive { &*totals } else { &previous[..width] };
                        A::write(self.out.dtype, out.at(to * out_size), vector.out, result);
                    }
                }
            }
        });
    }
}

/// Replaces each total by the combination of what came before it, and gives the combination of all.
fn exclusive<A: Acc, O: Combine<A>>(totals: &mut [A], before: A) -> A {
    let mut running = before;
    for total in totals {
        let next = O::combine(running, *total);
        *total = running;
        running = next;
    }
    running
}

/// Up to four segments of one block, each from its own start.
struct Chains<'a, A, O> {
    values: &'a [A],
    starts: [A; 4],
    inclusive: bool,
    out: &'a mut [A],
    op: std::marker::PhantomData<O>,
}

impl<A: Acc, O: Combine<A>> Kernel for Chains<'_, A, O> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Chains { values, starts, inclusive, out, .. } = self;
        if values.len() == BLOCK && out.len() == BLOCK {
            let mut running = starts;
            for i in 0..SEGMENT {
                for (k, total) in running.iter_mut().enumerate() {
                    let next = O::combine(*total, values[k * SEGMENT + i]);
                    out[k * SEGMENT + i] = if inclusive { next } else { *total };
                    *total = next;
                }
            }
            return;
        }
        for ((values, out), start) in values.chunks(SEGMENT).zip(out.chunks_mut(SEGMENT)).zip(starts) {
            let mut total = start;
            for (o, &value) in out.iter_mut().zip(values) {
                let next = O::combine(total, value);
                *o = if inclusive { next } else { total };
                total = next;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::Tensor;
    use super::*;

    const ALL: [ScanOp; 5] =
        [ScanOp::Cumsum, ScanOp::Cumprod, ScanOp::Cummax, ScanOp::Cummin, ScanOp::Logcumsumexp];

    fn out_dtype(op: ScanOp, dtype: Dtype) -> Dtype {
        match op {
            ScanOp::Cumsum if dtype == Dtype::Bool => Dtype::Int32,
            ScanOp::Logcumsumexp => dtype.to_inexact(),
            _ => dtype,
        }
    }

    fn run(op: ScanOp, x: &Tensor, axis: usize, reverse: bool, inclusive: bool) -> Tensor {
        let mut out = Tensor::zeros(out_dtype(op, x.dtype), &x.shape);
        scan(op, &x.as_in(), axis, reverse, inclusive, &mut out.as_out()).unwrap();
        out
    }

    fn identity(op: ScanOp, dtype: Dtype) -> f64 {
        with_acc!(dtype, A => {
            let value = match op {
                ScanOp::Cumsum => A::ZERO,
                ScanOp::Cumprod => A::ONE,
                ScanOp::Cummin => A::highest(dtype),
                _ => A::lowest(dtype),
            };
            let mut one = Tensor::zeros(dtype, &[1]);
            // SAFETY: one element.
            unsafe { A::write(dtype, one.as_out().ptr(), 1, &[value]) };
            one.values()[0]
        })
    }

    fn naive(op: ScanOp, x: &Tensor, axis: usize, reverse: bool, inclusive: bool) -> Vec<f64> {
        let dtype = out_dtype(op, x.dtype);
        let step = |a: f64, b: f64| match op {
            ScanOp::Cumsum => a + b,
            ScanOp::Cumprod => a * b,
            ScanOp::Cummax => a.max(b),
            ScanOp::Cummin => a.min(b),
            ScanOp::Logcumsumexp => (a.exp() + b.exp()).ln(),
        };
        let mut out = vec![0.0; x.shape.iter().product()];
        let mut totals = std::collections::HashMap::new();
        let mut positions: Vec<_> = Tensor::positions(&x.shape).into_iter().enumerate().collect();
        if reverse {
            positions.reverse();
        }
        for (flat, position) in positions {
            let value = x.at(&position);
            let mut run = position;
            run[axis] = 0;
            let total = totals.entry(run).or_insert_with(|| identity(op, dtype));
            let next = step(*total, value);
            out[flat] = if inclusive { next } else { *total };
            *total = next;
        }
        out
    }

    #[test]
    fn every_scan_agrees_with_a_naive_one_over_types_shapes_and_strides() {
        for dtype in Dtype::ALL {
            for (name, x) in Tensor::views(dtype) {
                for axis in 0..x.shape.len() {
                    for op in ALL {
                        for (reverse, inclusive) in
                            [(false, true), (false, false), (true, true), (true, false)]
                        {
                            let got = run(op, &x, axis, reverse, inclusive).values();
                            let want = naive(op, &x, axis, reverse, inclusive);
                            let tolerance = match (op, out_dtype(op, dtype)) {
                                (_, Dtype::Bfloat16) => 1e-2,
                                (_, Dtype::Float16) => 1e-3,
                                (ScanOp::Logcumsumexp, _) => 1e-5,
                                _ => 0.0,
                            };
                            assert_eq!(got.len(), want.len());
                            for (g, w) in got.iter().zip(&want) {
                                // Small integers wrap where the exact reference does not.
                                let wraps = dtype.is_integer() && w.abs() > 100.0 || w.abs() > 60000.0;
                                let close = g == w || (g - w).abs() <= tolerance * (1.0 + w.abs());
                                let known = w.is_finite() && wraps;
                                assert!(
                                    close || known,
                                    "{op:?} {dtype} {name} {axis} {reverse} {inclusive}: {g} {w}"
                                );
                            }
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn long_runs_continue_over_segments_and_blocks() {
        let n = 300_000;
        let x = Tensor::counting(Dtype::Int32, &[2, n]);
        let (values, got) = (x.values(), run(ScanOp::Cumsum, &x, 1, false, true).values());
        let back = run(ScanOp::Cumsum, &x, 1, true, false).values();
        for row in 0..2 {
            let total: f64 = values[row * n..(row + 1) * n].iter().sum();
            let mut running = 0.0;
            for i in row * n..(row + 1) * n {
                running += values[i];
                assert_eq!(got[i], running, "{i}");
                assert_eq!(back[i], total - running, "{i}");
            }
        }
    }

    #[test]
    fn a_float_scan_does_not_depend_on_the_number_of_threads() {
        let x = Tensor::new(
            Dtype::Float32,
            &[400_000],
            (0..).map(|i: u32| f64::from(i.wrapping_mul(2654435761)) * 1e-7),
        );
        let sums = [1, 2, 5].map(|threads| {
            parallel::with_cores(threads, || run(ScanOp::Cumsum, &x, 0, false, true).values())
        });
        assert_eq!(sums[0], sums[1]);
        assert_eq!(sums[0], sums[2]);
    }

    #[test]
    fn nan_stays_once_met_and_infinities_decide() {
        let nan = f64::NAN;
        let x = Tensor::new(Dtype::Float32, &[4], [3.0, 1.0, nan, 7.0]);
        for op in [ScanOp::Cummax, ScanOp::Cummin, ScanOp::Logcumsumexp] {
            let got = run(op, &x, 0, false, true).values();
            assert!(!got[1].is_nan() && got[2].is_nan() && got[3].is_nan(), "{op:?} {got:?}");
        }
        let inf = f64::INFINITY;
        let x = Tensor::new(Dtype::Float32, &[4], [-inf, -inf, inf, 1.0]);
        assert_eq!(run(ScanOp::Logcumsumexp, &x, 0, false, true).values(), [-inf, -inf, inf, inf]);
    }

    #[test]
    fn a_long_logcumsumexp_does_not_drift() {
        let x = Tensor::new(Dtype::Float32, &[70_000], (0..70_000).map(|i| f64::from(i % 97) * 0.03));
        let got = run(ScanOp::Logcumsumexp, &x, 0, false, true).values();
        let mut sum = 0.0;
        for (i, (x, got)) in x.values().into_iter().zip(got).enumerate() {
            sum += x.exp();
            let want = f64::ln(sum);
            assert!((got - want).abs() <= want.abs() * f64::from(f32::EPSILON), "{i}: {got}, not {want}");
        }
    }

    fn complex(values: &[(f32, f32)], op: ScanOp, inclusive: bool) -> Vec<(f32, f32)> {
        let x: Vec<Complex32> = values.iter().map(|&(re, im)| Complex32::new(re, im)).collect();
        let mut out = vec![Complex32::default(); x.len()];
        let (shape, strides) = ([x.len()], [1]);
        // SAFETY: both have as many elements as their shapes say.
        let (from, mut to) = unsafe {
            (
                In::new(x.as_ptr().cast(), Dtype::Complex64, &shape, &strides),
                Out::new(out.as_mut_ptr().cast(), Dtype::Complex64, &shape),
            )
        };
        scan(op, &from, 0, false, inclusive, &mut to).unwrap();
        out.into_iter().map(|v| (v.re, v.im)).collect()
    }

    #[test]
    fn a_complex_number_with_a_nan_in_either_part_stays_once_met() {
        let nan = f32::NAN;
        for bad in [(1.0, nan), (nan, 1.0), (nan, nan)] {
            for op in [ScanOp::Cummax, ScanOp::Cummin, ScanOp::Logcumsumexp] {
                let got = complex(&[(0.5, 2.0), bad, (9.0, 0.0), (-9.0, 0.0)], op, true);
                assert_eq!(got[0], (0.5, 2.0));
                assert!(got[1..].iter().all(|v| v.0.is_nan() || v.1.is_nan()), "{op:?} of {bad:?}: {got:?}");
            }
        }
    }

    #[test]
    fn a_complex_logcumsumexp_starts_with_minus_infinity_and_keeps_its_digits() {
        let x = [(1.0, 1.0), (2.0, -2.0), (0.5, 3.0), (-1.0, 4.0)];
        // What mlx returns.
        let want =
            [(f32::NEG_INFINITY, 0.0), (1.0, 1.0), (1.550_454_6, -1.918_527_7), (1.668_200_9, -2.227_776_5)];
        for (got, want) in complex(&x, ScanOp::Logcumsumexp, false).into_iter().zip(want) {
            let close = |a: f32, b: f32| a == b || (a - b).abs() < 3e-7;
            assert!(close(got.0, want.0) && close(got.1, want.1), "{got:?}, not {want:?}");
        }
        // e^0 + e^(iπ) is nearly zero: its logarithm shows whether digits were kept.
        let pi = std::f32::consts::PI;
        let got = complex(&[(0.0, 0.0), (0.0, pi)], ScanOp::Logcumsumexp, true)[1];
        let lost = (f64::from(pi) - std::f64::consts::PI).abs().ln();
        assert!((f64::from(got.0) - lost).abs() < 1e-5, "{got:?}, not {lost}");
    }
}
