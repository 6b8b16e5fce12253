//! Products of matrices and vectors.

use smallvec::{SmallVec, smallvec};

use super::elementwise::{conj, multiply};
use super::reduce::sum;
use super::shape::{broadcast_to, permuted, swapaxes};
use super::{apply2, cast, flat, shaped, shaped_by};
use crate::array::{Array, Dtype, Inputs, Integer, Shape, check_axis_count, fail, ok, resolve_axis};
use crate::error::{Error, Result};
use crate::op::{Float, Op};
use crate::transform::Dim;

/// Two inputs with at least two axes each, and the axes of the product that vectors had added.
struct Factors {
    a: Array,
    b: Array,
    row: bool,
    column: bool,
}

impl Factors {
    #[track_caller]
    fn new(function: &'static str, a: &Array, b: &Array, dtype: Dtype) -> Result<Factors> {
        if a.ndim() == 0 || b.ndim() == 0 {
            let message = format!(
                "needs one or more axes on each side (shapes {} and {})",
                a.shape_ref(),
                b.shape_ref()
            );
            return Err(Error::shape(function, message));
        }
        if !dtype.is_inexact() {
            let message = format!(
                "needs a floating or complex type, not {} and {}; convert with astype",
                a.dtype(),
                b.dtype()
            );
            return Err(Error::dtype(function, message));
        }
        let (k, rows) = (a.shape()[a.ndim() - 1], b.shape()[b.ndim().saturating_sub(2)]);
        if k != rows {
            let which = if b.ndim() == 1 { "only axis" } else { "second-to-last" };
            let message = format!(
                "the last axis of a is {k} and the {which} of b is {rows}; they must be equal (shapes {} and {})",
                a.shape_ref(),
                b.shape_ref()
            );
            return Err(Error::shape(function, message));
        }
        let (row, column) = (a.ndim() == 1, b.ndim() == 1);
        let a = if row {
            shaped_by(a, Shape::from([1, k]), || smallvec![Dim::Is(1), Dim::Rest])
        } else {
            a.clone()
        };
        let b = if column {
            shaped_by(b, Shape::from([k, 1]), || smallvec![Dim::Rest, Dim::Is(1)])
        } else {
            b.clone()
        };
        Ok(Factors { a: cast(&a, dtype), b: cast(&b, dtype), row, column })
    }

    /// The product without the axes that vectors had added.
    #[track_caller]
    fn without_added(&self, product: &Array) -> Array {
        if !self.row && !self.column {
            return product.clone();
        }
        let (rank, shape) = (product.ndim(), self.shape(product.shape_ref()));
        let kept = |axis: &usize| !(self.column && *axis + 1 == rank || self.row && *axis + 2 == rank);
        shaped_by(product, shape, || (0..rank).filter(kept).map(Dim::Of).collect())
    }

    /// The product's shape without the axes that vectors had added.
    fn shape(&self, product: &Shape) -> Shape {
        let mut shape = product.clone();
        if self.column {
            shape.remove(shape.len() - 1);
        }
        if self.row {
            shape.remove(shape.len() - if self.column { 1 } else { 2 });
        }
        shape
    }
}

/// Matrix product of the last two axes, with broadcasting over the others. One axis on the left is a row, on the right
/// a column.
///
/// ```
/// use pellucid::{Array, ops};
/// # fn main() -> pellucid::Result<()> {
/// let a = Array::from([[1.0f32, 2.0], [3.0, 4.0]]);
/// assert_eq!(ops::matmul(&a, &Array::from([1.0f32, 1.0])).to_vec::<f32>()?, [3.0, 7.0]);
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// [`Error::Shape`] if the shapes do not fit, [`Error::Dtype`] if both are integers.
#[track_caller]
pub fn matmul(a: &Array, b: &Array) -> Array {
    ok!(a, b);
    let factors = ok!(Factors::new("matmul", a, b, a.dtype().promote(b.dtype())));
    let product = apply2(Op::Matmul, factors.a.clone(), factors.b.clone());
    factors.without_added(&product)
}

/// `alpha · (a @ b) + beta · c`.
///
/// ```
/// use pellucid::prelude::*;
/// let (a, b) = (array![[1.0, 2.0]], array![[3.0], [4.0]]);
/// assert_eq!(ops::addmm(&array![[1.0]], &a, &b, 2.0, 1.0).to_vec::<f32>().unwrap(), [23.0]);
/// ```
///
/// # Errors
/// [`Error::Shape`] if the shapes do not fit, [`Error::Dtype`] if all are integers.
#[track_caller]
pub fn addmm(c: &Array, a: &Array, b: &Array, alpha: f64, beta: f64) -> Array {
    ok!(c, a, b);
    let dtype = a.dtype().promote(b.dtype()).promote(c.dtype());
    let factors = ok!(Factors::new("addmm", a, b, dtype));
    let full =
        ok!(Op::Matmul.infer_one(&[(factors.a.shape_ref(), dtype), (factors.b.shape_ref(), dtype)])).shape;
    let shape = factors.shape(&full);
    let mut c = cast(c, dtype);
    if factors.row || factors.column {
        let fits = ok!(c.shape_ref().broadcast_for("addmm", &shape)) == shape;
        if !fits {
            let message = format!("c of shape {} cannot be broadcast to {shape}", c.shape_ref());
            return fail(Error::shape("addmm", message));
        }
        c = shaped(&broadcast_to(&c, &shape), full);
    }
    let inputs: Inputs = smallvec![c, factors.a.clone(), factors.b.clone()];
    factors.without_added(&Array::from_op(Op::Addmm { alpha: Float(alpha), beta: Float(beta) }, inputs))
}

/// Products summed over the last axis of both; with a single element, its multiple.
///
/// ```
/// use pellucid::prelude::*;
/// assert_eq!(ops::inner(&array![1.0, 2.0], &array![3.0, 4.0]).item::<f32>().unwrap(), 11.0);
/// ```
///
/// # Errors
/// [`Error::Shape`] if the last axes differ, [`Error::Dtype`] if both are integers.
#[track_caller]
pub fn inner(a: &Array, b: &Array) -> Array {
    ok!(a, b);
    if a.ndim() == 0 || b.ndim() == 0 {
        return multiply(a, b);
    }
    contract("inner", a, b, &[a.ndim() - 1], &[b.ndim() - 1])
}

/// Every product of an element of `a` with one of `b`, both flat: rows from `a`, columns from `b`.
///
/// ```
/// use pellucid::prelude::*;
/// assert_eq!(ops::outer(&array![1.0, 2.0], &array![3.0, 4.0]).to_vec::<f32>().unwrap(), [3.0, 4.0, 6.0, 8.0]);
/// ```
///
/// # Errors
/// [`Error::Shape`] if the result does not fit 64-bit addresses.
#[track_caller]
pub fn outer(a: &Array, b: &Array) -> Array {
    ok!(a, b);
    multiply(&shaped(a, Shape::from([a.size(), 1])), &flat(b))
}

/// The axes over which [`tensordot`] sums.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Contraction {
    /// The last so many of `a` with the first so many of `b`.
    Count(usize),
    /// These of `a` with these of `b`.
    Axes(Vec<i64>, Vec<i64>),
}

impl From<usize> for Contraction {
    fn from(count: usize) -> Contraction {
        Contraction::Count(count)
    }
}

impl<const N: usize> From<([i64; N], [i64; N])> for Contraction {
    fn from((a, b): ([i64; N], [i64; N])) -> Contraction {
        Contraction::Axes(a.to_vec(), b.to_vec())
    }
}

impl From<(&[i64], &[i64])> for Contraction {
    fn from((a, b): (&[i64], &[i64])) -> Contraction {
        Contraction::Axes(a.to_vec(), b.to_vec())
    }
}

/// Products summed over several axes: `tensordot(a, b, 1)` is the matrix product of two matrices.
///
/// ```
/// use pellucid::prelude::*;
/// let (a, b) = (array![[1.0, 2.0]], array![[3.0], [4.0]]);
/// assert_eq!(ops::tensordot(&a, &b, 1).to_vec::<f32>().unwrap(), [11.0]);
/// ```
///
/// # Errors
/// [`Error::Axis`] if an axis does not exist, [`Error::Argument`] if one is given twice or their numbers differ,
/// [`Error::Shape`] if sizes differ, [`Error::Dtype`] if both are integers.
#[track_caller]
pub fn tensordot(a: &Array, b: &Array, axes: impl Into<Contraction>) -> Array {
    ok!(a, b);
    let name = "tensordot";
    let (left, right): (SmallVec<[usize; 4]>, SmallVec<[usize; 4]>) = match axes.into() {
        Contraction::Count(n) if n <= a.ndim() && n <= b.ndim() => {
            ((a.ndim() - n..a.ndim()).collect(), (0..n).collect())
        }
        Contraction::Count(n) => {
            let message =
                format!("{n} axes are more than shapes {} and {} have", a.shape_ref(), b.shape_ref());
            return fail(Error::argument(name, message));
        }
        Contraction::Axes(left, right) => {
            ok!(check_axis_count(name, left.len().max(right.len())));
            let resolve =
                |axes: &[i64], ndim| axes.iter().map(|&x| resolve_axis(name, x, ndim)).collect::<Result<_>>();
            (ok!(resolve(&left, a.ndim())), ok!(resolve(&right, b.ndim())))
        }
    };
    contract(name, a, b, &left, &right)
}

/// Both arrays as matrices with the summed axes inside, multiplied, and given their outer axes back.
#[track_caller]
fn contract(function: &'static str, a: &Array, b: &Array, left: &[usize], right: &[usize]) -> Array {
    ok!(a, b);
    let twice = |axes: &[usize]| axes.iter().enumerate().any(|(i, x)| axes[..i].contains(x));
    if left.len() != right.len() || twice(left) || twice(right) {
        let message = format!("axes {left:?} and {right:?} must be as many and each named once");
        return fail(Error::argument(function, message));
    }
    if left.iter().zip(right).any(|(&i, &j)| a.shape()[i] != b.shape()[j]) {
        let message = format!(
            "axes {left:?} of shape {} and {right:?} of shape {} differ in size",
            a.shape_ref(),
            b.shape_ref()
        );
        return fail(Error::shape(function, message));
    }
    let outer =
        |n: usize, used: &[usize]| (0..n).filter(|x| !used.contains(x)).collect::<SmallVec<[usize; 4]>>();
    let (rows, columns) = (outer(a.ndim(), left), outer(b.ndim(), right));
    let size = |a: &Array, axes: &[usize]| axes.iter().map(|&x| a.shape()[x]).product::<usize>();
    let (n, k, m) = (size(a, &rows), size(a, left), size(b, &columns));
    let order = |first: &[usize], second: &[usize]| first.iter().chain(second).copied().collect();
    let x = shaped(&permuted(a, order(&rows, left)), Shape::from([n, k]));
    let y = shaped(&permuted(b, order(right, &columns)), Shape::from([k, m]));
    let shape = rows.iter().map(|&x| a.shape()[x]).chain(columns.iter().map(|&x| b.shape()[x])).collect();
    shaped(&matmul(&x, &y), shape)
}

/// Products summed over one axis of both, with broadcasting over the others; complex numbers on the left are
/// conjugated.
///
/// ```
/// use pellucid::prelude::*;
/// assert_eq!(ops::vecdot(&array![[1.0, 2.0]], &array![[3.0, 4.0]], -1).to_vec::<f32>().unwrap(), [11.0]);
/// ```
///
/// # Errors
/// [`Error::Axis`] if the axis does not exist, [`Error::Shape`] if the shapes do not fit.
#[track_caller]
pub fn vecdot(a: &Array, b: &Array, axis: impl Integer) -> Array {
    let axis = axis.to_i64();
    ok!(a, b);
    let name = "vecdot";
    let (i, j) = (ok!(resolve_axis(name, axis, a.ndim())), ok!(resolve_axis(name, axis, b.ndim())));
    if a.shape()[i] != b.shape()[j] {
        let message = format!(
            "axis {axis} of a has {} elements and that of b {} (shapes {} and {})",
            a.shape()[i],
            b.shape()[j],
            a.shape_ref(),
            b.shape_ref()
        );
        return fail(Error::shape(name, message));
    }
    let x = swapaxes(&if a.dtype().is_complex() { conj(a) } else { a.clone() }, i as i64, -1);
    sum(&multiply(x, swapaxes(b, j as i64, -1)), -1, false)
}

/// Kronecker product: every element of `a` times the whole of `b`.
///
/// ```
/// use pellucid::prelude::*;
/// assert_eq!(ops::kron(&array![1, 2], &array![1, 10]).to_vec::<i32>().unwrap(), [1, 10, 2, 20]);
/// ```
///
/// # Errors
/// [`Error::Shape`] if one has no elements or the result does not fit 64-bit addresses.
#[track_caller]
pub fn kron(a: &Array, b: &Array) -> Array {
    ok!(a, b);
    if a.size() == 0 || b.size() == 0 {
        let message = format!("needs elements on each side (shapes {} and {})", a.shape_ref(), b.shape_ref());
        return fail(Error::shape("kron", message));
    }
    let ndim = a.ndim().max(b.ndim());
    let size = |x: &Array, axis: usize| (axis + x.ndim()).checked_sub(ndim).map_or(1, |i| x.shape()[i]);
    // Each axis becomes two: that of `a`, then that of `b`. Those of size one are left out, so that the axes stay few.
    let wide = |left: bool, right: bool| {
        let both = (0..ndim).flat_map(|axis| [(size(a, axis), left), (size(b, axis), right)]);
        both.filter(|&(size, _)| size != 1).map(|(size, own)| if own { size } else { 1 }).collect()
    };
    let (x, y) = (shaped(a, wide(true, false)), shaped(b, wide(false, true)));
    let shape = (0..ndim).map(|axis| size(a, axis).saturating_mul(size(b, axis))).collect();
    shaped(&multiply(&x, &y), shape)
}
