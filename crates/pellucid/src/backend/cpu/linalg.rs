//! Decompositions, inverses and solutions of matrices, batched over leading axes.
//!
//! The work on one matrix is `pellucid-numeric`'s and stays on one core; the matrices of a batch are shared out. What a
//! matrix cannot have is an error that names the matrix.

use std::ops::Deref;

use num_complex::Complex32;
use pellucid_numeric::linalg::{Failure, Field, LuOut, Real, Size, SvdOut, Triangle};

use super::copy::copy;
use super::parallel;
use super::strided::Shared;
use super::tensor::{In, Out};
use crate::array::{Dtype, Element};
use crate::error::{Error, Result};
use crate::memory::Scratch;
use crate::op::{LinalgOp, SvdVectors};

/// Runs an operation on every matrix of its first input.
pub(crate) fn linalg(op: LinalgOp, inputs: &[In], outs: &mut [Out]) -> Result<()> {
    let job = Job::new(op, inputs, outs);
    if job.count == 0 {
        return Ok(());
    }
    match inputs[0].dtype {
        Dtype::Float32 => job.real::<f32>(),
        Dtype::Float64 => job.real::<f64>(),
        Dtype::Complex64 => job.field::<Complex32>(),
        other => Err(Error::internal(op.name(), format!("matrices of {other}"))),
    }
}

fn triangle(upper: bool) -> Triangle {
    if upper { Triangle::Upper } else { Triangle::Lower }
}

/// One call: the size of the matrices and how many there are.
struct Job<'a> {
    op: LinalgOp,
    inputs: &'a [In<'a>],
    outs: &'a [Out<'a>],
    size: Size,
    count: usize,
}

impl<'a> Job<'a> {
    fn new(op: LinalgOp, inputs: &'a [In<'a>], outs: &'a [Out<'a>]) -> Job<'a> {
        let shape = inputs[0].shape;
        let (batch, matrix) = shape.split_at(shape.len() - 2);
        let size = Size { rows: matrix[0], cols: matrix[1] };
        Job { op, inputs, outs, size, count: batch.iter().product() }
    }

    /// Operations that only real matrices have; the others go on to [`field`](Job::field).
    fn real<T: Real + Element<Stored = T>>(&self) -> Result<()> {
        let (size, n) = (self.size, self.size.rows);
        let a = elements::<T>(self.op.name(), &self.inputs[0])?;
        let matrix = |i: usize| part(&a, i, self.count);
        match self.op {
            LinalgOp::Cholesky => {
                let l = self.out::<T>(0);
                self.each(|i| T::cholesky(matrix(i), n, l.part(i)))
            }
            LinalgOp::Inverse => {
                let out = self.out::<T>(0);
                self.each(|i| T::inverse(matrix(i), n, out.part(i)))
            }
            LinalgOp::TriangularInverse { upper } => {
                let out = self.out::<T>(0);
                self.each(|i| T::triangular_inverse(matrix(i), n, triangle(upper), out.part(i)))
            }
            LinalgOp::Solve | LinalgOp::TriangularSolve { .. } => {
                let b = elements::<T>(self.op.name(), &self.inputs[1])?;
                let columns = *self.inputs[1].shape.last().unwrap_or(&0);
                let (right, x) = (|i: usize| part(&b, i, self.count), self.out::<T>(0));
                self.each(|i| match self.op {
                    LinalgOp::TriangularSolve { upper } => {
                        T::triangular_solve(matrix(i), n, triangle(upper), right(i), columns, x.part(i))
                    }
                    _ => T::solve(matrix(i), n, right(i), columns, x.part(i)),
                })
            }
            LinalgOp::Lu => {
                let (packed, pivots, rows) = (self.out::<T>(0), self.out::<u32>(1), self.out::<u32>(2));
                self.each(|i| {
                    let (packed, pivots, rows) = (packed.part(i), pivots.part(i), rows.part(i));
                    T::lu(matrix(i), size, LuOut { packed, pivots, rows });
                    Ok(())
                })
            }
            LinalgOp::Qr => {
                let (q, r) = (self.out::<T>(0), self.out::<T>(1));
                self.each(|i| {
                    T::qr(matrix(i), size, q.part(i), r.part(i));
                    Ok(())
                })
            }
            LinalgOp::Svd { .. } | LinalgOp::Eigh { .. } | LinalgOp::Eig { .. } => self.field::<T>(),
        }
    }

    /// Operations that complex matrices have too.
    fn field<T: Field + Element<Stored = T>>(&self) -> Result<()>
    where
        T::Real: Element<Stored = T::Real>,
    {
        let (size, n) = (self.size, self.size.rows);
        let a = elements::<T>(self.op.name(), &self.inputs[0])?;
        let matrix = |i: usize| part(&a, i, self.count);
        match self.op {
            LinalgOp::Svd { vectors: SvdVectors::None } => {
                let values = self.out::<T::Real>(0);
                self.each(|i| T::svd(matrix(i), size, SvdOut { values: values.part(i), vectors: None }))
            }
            LinalgOp::Svd { .. } => {
                let (u, values, v) = (self.out::<T>(0), self.out::<T::Real>(1), self.out::<T>(2));
                self.each(|i| {
                    let out = SvdOut { values: values.part(i), vectors: Some((u.part(i), v.part(i))) };
                    T::svd(matrix(i), size, out)
                })
            }
            LinalgOp::Eigh { upper, vectors } => {
                let (values, out) = (self.out::<T::Real>(0), vectors.then(|| self.out::<T>(1)));
                self.each(|i| {
                    let vectors = out.as_ref().map(|v| v.part(i));
                    T::eigh(matrix(i), n, triangle(upper), values.part(i), vectors)
                })
            }
            LinalgOp::Eig { vectors } => {
                let (values, out) = (self.out::<Complex32>(0), vectors.then(|| self.out::<Complex32>(1)));
                self.each(|i| T::eig(matrix(i), n, values.part(i), out.as_ref().map(|v| v.part(i))))
            }
            other => Err(Error::internal(other.name(), format!("matrices of {}", T::DTYPE))),
        }
    }

    /// A result, of which each matrix has a part.
    fn out<T: Element>(&self, index: usize) -> Parts<T> {
        let out = &self.outs[index];
        debug_assert_eq!(out.dtype, T::DTYPE);
        Parts { ptr: Shared(out.ptr().cast()), len: out.elements() / self.count }
    }

    /// Runs `body` for every matrix, on several cores if it is worth it; the failure of the first matrix is returned.
    fn each(&self, body: impl Fn(usize) -> Result<(), Failure> + Sync) -> Result<()> {
        let Size { rows, cols } = self.size;
        // A few operations for each element and each row, in place of bytes moved.
        let work = rows.saturating_mul(cols).saturating_mul(self.size.least().max(1)).saturating_mul(4);
        parallel::try_ranges(self.count, 1, work, |range| {
            for i in range {
                body(i).map_err(|failure| self.error(i, failure))?;
            }
            Ok(())
        })
    }

    fn error(&self, matrix: usize, failure: Failure) -> Error {
        let which = match self.count {
            1 => "the matrix".to_owned(),
            count => format!("matrix {matrix} of {count}"),
        };
        let message = match failure {
            Failure::Singular(row) => format!("{which} is singular: the pivot of row {row} is zero"),
            Failure::NotPositiveDefinite(row) => {
                format!("{which} is not positive definite: its leading block of {} rows is not", row + 1)
            }
            Failure::NoConvergence => format!("the iteration did not converge for {which}"),
            Failure::NotFinite => format!("{which} has a NaN or an infinity"),
        };
        Error::argument(self.op.name(), message)
    }
}

/// The elements of the matrices one after the other; copied if they do not lie so.
fn elements<'a, T: Element<Stored = T>>(function: &'static str, x: &In<'a>) -> Result<Elements<'a, T>> {
    let len = x.elements();
    if x.is_contiguous() {
        // SAFETY: `len` elements of this type without gaps, which nobody writes while the kernel runs.
        return Ok(Elements::There(unsafe { std::slice::from_raw_parts(x.ptr().cast(), len) }));
    }
    let mut room: Scratch<T> = Scratch::with_room(function, len)?;
    // SAFETY: there is room for `len` elements, and the copy writes all of them.
    unsafe {
        copy(x, &mut Out::new(room.as_mut_ptr().cast(), x.dtype, x.shape));
        room.set_len(len);
    }
    Ok(Elements::Copied(room))
}

/// Elements without gaps: where the array has them, or a copy.
enum Elements<'a, T: Copy> {
    There(&'a [T]),
    Copied(Scratch<T>),
}

impl<T: Copy> Deref for Elements<'_, T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        match self {
            Elements::There(elements) => elements,
            Elements::Copied(elements) => elements,
        }
    }
}

fn part<T>(all: &[T], i: usize, count: usize) -> &[T] {
    let len = all.len() / count;
    &all[i * len..(i + 1) * len]
}

/// Equal parts of an output, each written by one thread.
struct Parts<T> {
    ptr: Shared<T>,
    len: usize,
}

impl<T: Copy> Parts<T> {
    #[expect(clippy::mut_from_ref, reason = "parts with different numbers do not overlap")]
    fn part(&self, i: usize) -> &mut [T] {
        // SAFETY: a part inside the output; `Job::each` hands out every number once.
        unsafe { std::slice::from_raw_parts_mut(self.ptr.get().add(i * self.len), self.len) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::cpu::testing::Tensor;

    #[test]
    fn a_batch_of_transposed_matrices_is_inverted_one_by_one() {
        let a = Tensor::new(Dtype::Float64, &[2, 2, 2], [1.0, 3.0, 2.0, 4.0, 2.0, 0.0, 1.0, 4.0])
            .transposed(&[0, 2, 1]);
        let mut out = Tensor::zeros(Dtype::Float64, &[2, 2, 2]);
        linalg(LinalgOp::Inverse, &[a.as_in()], &mut [out.as_out()]).unwrap();
        let wanted = [-2.0, 1.0, 1.5, -0.5, 0.5, -0.125, 0.0, 0.25];
        assert!(out.values().iter().zip(wanted).all(|(a, b)| (a - b).abs() < 1e-12), "{:?}", out.values());
    }

    #[test]
    fn the_error_names_the_matrix_and_the_row() {
        let a = Tensor::new(Dtype::Float32, &[2, 2, 2], [1.0, 0.0, 0.0, 1.0, 1.0, 2.0, 2.0, 4.0]);
        let mut out = Tensor::zeros(Dtype::Float32, &[2, 2, 2]);
        let error = linalg(LinalgOp::Inverse, &[a.as_in()], &mut [out.as_out()]).unwrap_err();
        assert_eq!(error.to_string(), "[inv] matrix 1 of 2 is singular: the pivot of row 1 is zero");
    }

    #[test]
    fn several_results_are_written_side_by_side() {
        let a = Tensor::new(Dtype::Float32, &[2, 1, 2], [3.0, 4.0, 0.0, 5.0]);
        let (mut u, mut s, mut v) = (
            Tensor::zeros(Dtype::Float32, &[2, 1, 1]),
            Tensor::zeros(Dtype::Float32, &[2, 1]),
            Tensor::zeros(Dtype::Float32, &[2, 1, 2]),
        );
        let op = LinalgOp::Svd { vectors: SvdVectors::Thin };
        linalg(op, &[a.as_in()], &mut [u.as_out(), s.as_out(), v.as_out()]).unwrap();
        assert_eq!(s.values(), [5.0, 5.0]);
        for i in 0..2 {
            let (u, v) = (u.values()[i], &v.values()[2 * i..2 * i + 2]);
            assert!((u * 5.0 * v[1] - [4.0, 5.0][i]).abs() < 1e-5);
        }
    }
}
