//! Fourier transforms along one axis.
//!
//! A run along the axis is brought together in memory, transformed and scaled there, and written to its place. Where
//! neighbours of a run lie far apart, as many runs as share a cache line are moved together. Many runs are shared out
//! to the cores.

use num_complex::Complex32;
use pellucid_numeric::fft::{Complex, Direction, Hermitian, Real};

use super::parallel;
use super::strided::{Grid, PerAxis, Shared, row_major};
use super::tensor::{In, Out};
use crate::error::Result;
use crate::memory::PerThread;
use crate::op::{FftKind, FftSpec};

/// Runs moved together where neighbouring elements of a run lie far apart: as many as share a cache line.
const TOGETHER: usize = 16;

/// Transforms `axis` of `x`; the output is as long along it as the kind of transform says.
pub(crate) fn fft(spec: &FftSpec, x: &In, out: &mut Out) -> Result<()> {
    if out.elements() == 0 {
        return Ok(());
    }
    let scale = spec.scale.0 as f32;
    let complex = |direction| {
        let plan = Complex::new(spec.n, direction);
        let room = plan.scratch();
        each_run::<Complex32, Complex32>(spec, x, out, room, |from, to, scratch| {
            to.copy_from_slice(from);
            plan.run(to, scratch);
            if scale != 1.0 {
                to.iter_mut().for_each(|v| *v *= scale);
            }
        })
    };
    match spec.kind {
        FftKind::Forward => complex(Direction::Forward),
        FftKind::Inverse => complex(Direction::Inverse),
        FftKind::Real => {
            let plan = Real::new(spec.n);
            let room = plan.scratch();
            each_run::<f32, Complex32>(spec, x, out, room, |from, to, scratch| {
                plan.run(from, to, scratch);
                if scale != 1.0 {
                    to.iter_mut().for_each(|v| *v *= scale);
                }
            })
        }
        FftKind::Hermitian => {
            let plan = Hermitian::new(spec.n);
            let room = plan.scratch();
            each_run::<Complex32, f32>(spec, x, out, room, |from, to, scratch| {
                plan.run(from, to, scratch);
                if scale != 1.0 {
                    to.iter_mut().for_each(|v| *v *= scale);
                }
            })
        }
    }
}

/// Calls `transform` for each run with its elements, where its results go, and `room` elements to work in.
fn each_run<A: bytemuck::Pod + Send + Sync, B: bytemuck::Pod + Send + Sync>(
    spec: &FftSpec,
    x: &In,
    out: &Out,
    room: usize,
    transform: impl Fn(&mut [A], &mut [B], &mut [Complex32]) + Sync,
) -> Result<()> {
    let axis = spec.axis;
    let others = |list: &[isize]| -> PerAxis<isize> {
        list.iter().enumerate().filter(|&(i, _)| i != axis).map(|(_, &s)| s).collect()
    };
    let out_strides = row_major(out.shape);
    let shape: PerAxis<usize> =
        x.shape.iter().enumerate().filter(|&(i, _)| i != axis).map(|(_, &d)| d).collect();
    let grid = Grid::new(&shape, [&others(x.strides), &others(&out_strides)]);
    let (from_len, to_len) = (x.shape[axis], out.shape[axis]);
    let (from_step, to_step) = (x.strides[axis], out_strides[axis]);
    let (from, to) = (Shared(x.ptr().cast_mut().cast::<A>()), Shared(out.ptr().cast::<B>()));
    let together = if to_step == 1 { 1 } else { TOGETHER };
    let bytes = (from_len * size_of::<A>() + to_len * size_of::<B>()) * 8;
    let threads = parallel::threads(grid.elements(), together, bytes);
    let inputs = PerThread::plain("fft", threads, from_len * together)?;
    let outputs = PerThread::plain("fft", threads, if to_step == 1 { 0 } else { to_len * together })?;
    let rooms = PerThread::plain("fft", threads, room)?;
    let some = |range: std::ops::Range<usize>, input: &mut [A], output: &mut [B], work: &mut [Complex32]| {
        let mut walk = grid.walk(range.start);
        let mut rest = range.len();
        while rest > 0 {
            let many = rest.min(together);
            let mut places = [[0; 2]; TOGETHER];
            for place in &mut places[..many] {
                *place = walk.offsets;
                walk.step();
            }
            let places = &places[..many];
            // SAFETY: positions of the input, and of the output in runs that belong to this range alone.
            unsafe {
                if many == 1 && from_step == 1 {
                    let start = from.get().offset(places[0][0]);
                    input[..from_len].copy_from_slice(std::slice::from_raw_parts(start, from_len));
                } else {
                    for i in 0..from_len {
                        for (k, place) in places.iter().enumerate() {
                            input[k * from_len + i] = *from.get().offset(place[0] + i as isize * from_step);
                        }
                    }
                }
                if to_step == 1 {
                    let result = std::slice::from_raw_parts_mut(to.get().offset(places[0][1]), to_len);
                    transform(input, result, work);
                } else {
                    let runs = input.chunks_mut(from_len).zip(output.chunks_mut(to_len));
                    runs.take(many).for_each(|(from, to)| transform(from, to, work));
                    for i in 0..to_len {
                        for (k, place) in places.iter().enumerate() {
                            *to.get().offset(place[1] + i as isize * to_step) = output[k * to_len + i];
                        }
                    }
                }
            }
            rest -= many;
        }
    };
    parallel::ranges(grid.elements(), together, bytes, |range| {
        inputs.with(|input| outputs.with(|output| rooms.with(|work| some(range, input, output, work))));
    });
    Ok(())
}

#[cfg(test)]
mod tests {
    use smallvec::smallvec;

    use super::*;
    use crate::array::Dtype;
    use crate::backend::cpu::testing::Tensor;
    use crate::op::Float;

    fn spec(kind: FftKind, axis: usize, n: usize, scale: f64) -> FftSpec {
        FftSpec { kind, axis, n, scale: Float(scale) }
    }

    /// The real part of the sum that a frequency is by its definition.
    fn slow(x: &Tensor, axis: usize, index: &[usize], n: usize) -> f64 {
        let k = index[axis];
        (0..n)
            .map(|j| {
                let mut place = index.to_vec();
                place[axis] = j;
                x.at(&place) * (2.0 * std::f64::consts::PI * (j * k % n) as f64 / n as f64).cos()
            })
            .sum()
    }

    #[test]
    fn every_axis_of_every_layout_follows_the_definition() {
        for (name, x) in Tensor::views(Dtype::Complex64) {
            for axis in 0..x.shape.len() {
                let n = x.shape[axis];
                if n == 0 {
                    continue;
                }
                for kind in [FftKind::Forward, FftKind::Inverse] {
                    let mut out = Tensor::zeros(Dtype::Complex64, &x.shape);
                    fft(&spec(kind, axis, n, 0.5), &x.as_in(), &mut out.as_out()).unwrap();
                    for index in Tensor::positions(&x.shape).iter().step_by(13) {
                        // The input is real, so that both directions have the same real part.
                        let wanted = 0.5 * slow(&x, axis, index, n);
                        let got = out.at(index);
                        assert!(
                            (got - wanted).abs() < 2e-4 * n as f64,
                            "{name} {axis} {index:?}: {got} {wanted}"
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn real_transforms_along_any_axis_return_to_their_input() {
        for (name, x) in Tensor::views(Dtype::Float32) {
            for axis in 0..x.shape.len() {
                let n = x.shape[axis];
                if n == 0 || x.shape.contains(&0) {
                    continue;
                }
                let mut shape: smallvec::SmallVec<[usize; 8]> = smallvec![];
                shape.extend(x.shape.iter().copied());
                shape[axis] = n / 2 + 1;
                let mut half = Tensor::zeros(Dtype::Complex64, &shape);
                fft(&spec(FftKind::Real, axis, n, 1.0), &x.as_in(), &mut half.as_out()).unwrap();
                let mut back = Tensor::zeros(Dtype::Float32, &x.shape);
                let inverse = spec(FftKind::Hermitian, axis, n, 1.0 / n as f64);
                fft(&inverse, &half.as_in(), &mut back.as_out()).unwrap();
                let same = back.values().iter().zip(x.values()).all(|(a, b)| (a - b).abs() < 1e-3);
                assert!(same, "{name} axis {axis}");
            }
        }
    }
}
