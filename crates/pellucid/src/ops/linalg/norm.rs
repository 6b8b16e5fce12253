//! Norms of vectors and matrices.

use super::decompose::singular_values;
use crate::array::{Array, Axes, Dtype, fail, ok, resolve_axis};
use crate::error::{Error, Result};
use crate::ops::cast;
use crate::ops::elementwise::{abs, add, imag, not_equal, power, real, sqrt, square};
use crate::ops::reduce::{max, min, sum};
use crate::ops::shape::{expand_dims, moveaxis};

/// Which norm.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Order {
    /// The p-norm of a vector. For matrices: 1 and −1 the largest and smallest sum of a column, ∞ and −∞ of a row, 2 and
    /// −2 the largest and smallest singular value.
    P(f64),
    /// The square root of the sum of squares of a matrix.
    Frobenius,
    /// The sum of the singular values.
    Nuclear,
}

impl From<f64> for Order {
    fn from(p: f64) -> Order {
        Order::P(p)
    }
}

impl std::str::FromStr for Order {
    type Err = Error;

    fn from_str(name: &str) -> Result<Order> {
        match name {
            "fro" | "f" => Ok(Order::Frobenius),
            "nuc" => Ok(Order::Nuclear),
            other => {
                Err(Error::argument("norm", format!("the order is a number, 'fro' or 'nuc', not {other:?}")))
            }
        }
    }
}

/// The norm of vectors along one axis, or of matrices along two. Without an order, the square root of the sum of
/// squares, also over all axes of an array with more than two. Integers give `float32`.
///
/// ```
/// use pellucid::linalg::{Order, norm};
/// use pellucid::{Array, Axes};
/// # fn main() -> pellucid::Result<()> {
/// let a = Array::from([[3.0f32, 0.0], [4.0, 2.0]]);
/// assert_eq!(norm(&a, None, 0, false).to_vec::<f32>()?, [5.0, 2.0]);
/// assert_eq!(norm(&a, Order::P(1.0), Axes::All, false).item::<f32>()?, 7.0);
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// [`Error::Axis`] if an axis does not exist, [`Error::Argument`] if there is no such norm of so many axes.
#[track_caller]
pub fn norm(a: &Array, order: impl Into<Option<Order>>, axes: impl Into<Axes>, keepdims: bool) -> Array {
    let name = "norm";
    ok!(a);
    let (order, axes) = (order.into(), axes.into());
    let all = matches!(axes, Axes::All);
    let axes: Vec<i64> = match axes {
        Axes::All => (0..a.ndim() as i64).collect(),
        Axes::List(list) => {
            let resolved: Result<Vec<usize>> =
                list.iter().map(|&axis| resolve_axis(name, axis, a.ndim())).collect();
            ok!(resolved).iter().map(|&axis| axis as i64).collect()
        }
    };
    let dtype = a.dtype().to_inexact();
    let a = cast(a, dtype);
    match (order, axes.len()) {
        (None, 0..=2) => length(&a, &axes, keepdims),
        (None, _) if all => length(&a, &axes, keepdims),
        (Some(Order::P(p)), 1) => {
            cast(&vector(&a, p, axes[0], keepdims), if p == 2.0 { real_type(dtype) } else { dtype })
        }
        (Some(order), 2) => matrix(&a, order, axes[0], axes[1], keepdims),
        (order, count) => {
            let what = order.map_or_else(|| "the norm".to_owned(), |order| format!("{order:?}"));
            let message = format!("{what} is not defined over {count} axes (shape {})", a.shape_ref());
            fail(Error::argument(name, message))
        }
    }
}

fn real_type(dtype: Dtype) -> Dtype {
    if dtype.is_complex() { Dtype::Float32 } else { dtype }
}

/// The square root of the sum of squares.
#[track_caller]
fn length(a: &Array, axes: &[i64], keepdims: bool) -> Array {
    let squares = match a.dtype().is_complex() {
        true => add(&square(&real(a)), &square(&imag(a))),
        false => square(a),
    };
    sqrt(&sum(&squares, Axes::from(axes.to_vec()), keepdims))
}

#[track_caller]
fn vector(a: &Array, p: f64, axis: i64, keepdims: bool) -> Array {
    if p == 2.0 {
        return length(a, &[axis], keepdims);
    }
    let size = abs(a);
    if p == 0.0 {
        sum(&cast(&not_equal(a, 0), size.dtype()), axis, keepdims)
    } else if p == 1.0 {
        sum(&size, axis, keepdims)
    } else if p == f64::INFINITY {
        max(&size, axis, keepdims)
    } else if p == f64::NEG_INFINITY {
        min(&size, axis, keepdims)
    } else {
        power(&sum(&power(&size, p), axis, keepdims), 1.0 / p)
    }
}

#[track_caller]
fn matrix(a: &Array, order: Order, rows: i64, columns: i64, keepdims: bool) -> Array {
    let name = "norm";
    if rows == columns {
        return fail(Error::argument(name, format!("axis {rows} is given twice")));
    }
    // With the summed axis gone, those behind it move up by one.
    let behind = |axis: i64, gone: i64| if !keepdims && axis > gone { axis - 1 } else { axis };
    let largest = |p: f64| p > 0.0;
    match order {
        Order::Frobenius => length(a, &[rows, columns], keepdims),
        Order::P(p) if p.abs() == 1.0 => {
            let sums = sum(&abs(a), rows, keepdims);
            let axis = behind(columns, rows);
            cast(&if largest(p) { max(&sums, axis, keepdims) } else { min(&sums, axis, keepdims) }, a.dtype())
        }
        Order::P(p) if p.is_infinite() => {
            let sums = sum(&abs(a), columns, keepdims);
            let axis = behind(rows, columns);
            cast(&if largest(p) { max(&sums, axis, keepdims) } else { min(&sums, axis, keepdims) }, a.dtype())
        }
        Order::P(p) if p.abs() != 2.0 => fail(Error::argument(
            name,
            format!("matrices have no norm of order {p}; use 1, -1, 2, -2, inf or -inf"),
        )),
        Order::P(_) | Order::Nuclear => {
            let last = a.ndim() as i64 - 1;
            // The rows first, so that moving the columns to the end leaves them where they are.
            let place = if columns > rows { columns - 1 } else { columns };
            let moved = moveaxis(&moveaxis(a, rows, last), place, last);
            let values = singular_values(&moved);
            let found = match order {
                Order::Nuclear => sum(&values, -1, false),
                Order::P(p) if largest(p) => max(&values, -1, false),
                _ => min(&values, -1, false),
            };
            if !keepdims {
                return found;
            }
            let (low, high) = (rows.min(columns), rows.max(columns));
            expand_dims(&found, Axes::from(vec![low, high]))
        }
    }
}
