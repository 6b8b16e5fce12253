//! The two types that fused kernels compute in, `f32` and `f64`, and what such kernels share: sums in lanes, rows read
//! from any layout, and products of tiles on one core.

use std::ops::{Add, AddAssign, Div, Mul, Neg, Sub};

use gemm::Parallelism;

use super::exp::Exp;
use super::layout::{Layout, count, gather, offset};
use super::simd::{Kernel, dispatch};
use super::tensor::{In, Out};
use crate::error::Result;
use crate::memory::Scratch;

/// A real number with arithmetic.
pub(crate) trait Real:
    Exp
    + PartialOrd
    + Add<Output = Self>
    + AddAssign
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Neg<Output = Self>
{
    /// The largest finite number.
    const LARGEST: Self;

    fn from_f64(value: f64) -> Self;
    fn to_f64(self) -> f64;
    fn sqrt(self) -> Self;
}

impl Real for f32 {
    const LARGEST: f32 = f32::MAX;

    #[inline(always)]
    fn from_f64(value: f64) -> f32 {
        value as f32
    }
    #[inline(always)]
    fn to_f64(self) -> f64 {
        f64::from(self)
    }
    #[inline(always)]
    fn sqrt(self) -> f32 {
        f32::sqrt(self)
    }
}

impl Real for f64 {
    const LARGEST: f64 = f64::MAX;

    #[inline(always)]
    fn from_f64(value: f64) -> f64 {
        value
    }
    #[inline(always)]
    fn to_f64(self) -> f64 {
        self
    }
    #[inline(always)]
    fn sqrt(self) -> f64 {
        f64::sqrt(self)
    }
}

/// Runs the body with `$real` naming the type that a floating `$dtype` computes in.
macro_rules! with_real {
    ($function:expr, $dtype:expr, $real:ident => $body:expr) => {{
        use $crate::array::Dtype;
        match $dtype {
            Dtype::Float16 | Dtype::Bfloat16 | Dtype::Float32 => {
                type $real = f32;
                $body
            }
            Dtype::Float64 => {
                type $real = f64;
                $body
            }
            other => Err($crate::error::Error::internal($function, format!("a kernel of {other}"))),
        }
    }};
}
pub(crate) use with_real;

struct SumOf<'a, A, F> {
    x: &'a [A],
    y: &'a [A],
    f: F,
}

impl<A: Real, F: Fn(A, A) -> A> Kernel for SumOf<'_, A, F> {
    type Output = A;

    #[inline(always)]
    fn run(self) -> A {
        let mut lanes = [A::ZERO; 16];
        let (x, x_rest) = self.x.as_chunks::<16>();
        let (y, y_rest) = self.y.as_chunks::<16>();
        for (x, y) in x.iter().zip(y) {
            for i in 0..16 {
                lanes[i] += (self.f)(x[i], y[i]);
            }
        }
        for (i, (&x, &y)) in x_rest.iter().zip(y_rest).enumerate() {
            lanes[i] += (self.f)(x, y);
        }
        let mut width = 16;
        while width > 1 {
            width /= 2;
            for i in 0..width {
                let other = lanes[i + width];
                lanes[i] += other;
            }
        }
        lanes[0]
    }
}

/// Σ f(x, y) over two slices of one length, in sixteen lanes.
#[inline]
pub(crate) fn sum_of<A: Real>(x: &[A], y: &[A], f: impl Fn(A, A) -> A) -> A {
    debug_assert_eq!(x.len(), y.len());
    dispatch(SumOf { x, y, f })
}

struct Each<F>(F);

impl<F: FnOnce()> Kernel for Each<F> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        (self.0)();
    }
}

/// Runs a loop with the widest instructions there are; the closure must be small enough to be inlined.
#[inline]
pub(crate) fn widest(body: impl FnOnce()) {
    dispatch(Each(body));
}

/// The rows of an array along its last axis, in row-major order, whatever its strides.
pub(crate) struct Rows<'a> {
    x: In<'a>,
    layout: Layout,
}

impl<'a> Rows<'a> {
    pub fn new(x: &In<'a>) -> Rows<'a> {
        let last = x.shape.len().saturating_sub(1);
        Rows { x: *x, layout: Layout::same_shape(x, &[last]) }
    }

    /// How many rows there are.
    pub fn count(&self) -> usize {
        count(&self.layout.kept)
    }

    /// The length of a row.
    pub fn len(&self) -> usize {
        self.x.shape.last().copied().unwrap_or(1)
    }

    /// One row: in place if it lies there as `A`, else converted into `buf`.
    pub fn get<'b, A: Real>(&self, row: usize, buf: &'b mut Vec<A>) -> &'b [A] {
        let (from, _) = offset(&self.layout.kept, row);
        buf.resize(self.len(), A::ZERO);
        // SAFETY: a row of the input; `buf` is as long.
        unsafe {
            let start = self.x.ptr().offset(from * self.x.dtype.size() as isize);
            gather(self.x.dtype, start, &self.layout.reduced, 0, self.len(), buf)
        }
    }
}

/// All elements in row-major order as `A`.
pub(crate) fn all<A: Real>(function: &'static str, x: &In) -> Result<Scratch<A>> {
    let mut values = Scratch::filled(function, x.elements(), A::ZERO)?;
    let rows = Rows::new(x);
    let mut buf = Vec::new();
    for (row, to) in values.chunks_mut(rows.len().max(1)).enumerate() {
        to.copy_from_slice(rows.get::<A>(row, &mut buf));
    }
    Ok(values)
}

/// Writes neighbours of a row-major output from element `start` on.
///
/// # Safety
/// They must lie in the output, and no other thread may write them.
pub(crate) unsafe fn put<A: Real>(out: &Out, start: usize, values: &[A]) {
    // SAFETY: passed on to the caller.
    unsafe { A::write(out.dtype, out.ptr().add(start * out.dtype.size()), 1, values) };
}

/// A matrix in memory: its first element, and the distances of rows and columns in elements.
#[derive(Clone, Copy, Debug)]
pub(crate) struct View<A> {
    pub ptr: *mut A,
    pub row: isize,
    pub col: isize,
}

impl<A> View<A> {
    /// Rows of `width` neighbours.
    pub fn rows(ptr: *const A, width: usize) -> View<A> {
        View { ptr: ptr.cast_mut(), row: width as isize, col: 1 }
    }

    /// As [`View::rows`], for a matrix that is written.
    pub fn rows_mut(values: &mut [A], width: usize) -> View<A> {
        View { ptr: values.as_mut_ptr(), row: width as isize, col: 1 }
    }

    pub fn transposed(self) -> View<A> {
        View { row: self.col, col: self.row, ..self }
    }
}

/// `out = alpha · a @ b + beta · out` for `m × k` and `k × n`, on this core. With a `beta` of zero `out` is not read.
///
/// # Safety
/// The matrices must lie in memory that is valid for it, and nobody else may touch `out`.
pub(crate) unsafe fn tile_product<A: Real>(
    (m, n, k): (usize, usize, usize),
    a: View<A>,
    b: View<A>,
    out: View<A>,
    alpha: A,
    beta: A,
) {
    // SAFETY: passed on to the caller.
    unsafe {
        gemm::gemm(
            m,
            n,
            k,
            out.ptr,
            out.col,
            out.row,
            beta != A::ZERO,
            a.ptr.cast_const(),
            a.col,
            a.row,
            b.ptr.cast_const(),
            b.col,
            b.row,
            beta,
            alpha,
            false,
            false,
            false,
            Parallelism::None,
        );
    }
}
