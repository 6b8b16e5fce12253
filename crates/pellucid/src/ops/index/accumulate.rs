//! Updates that combine with what is there, also where index arrays name a place more than once.

use super::select::{composes, fitted, index, scatter, slice_update};
use super::{Index, take, value};
use crate::array::{Array, Dtype, Inputs, ok};
use crate::op::{Op, ScatterOp};
use crate::ops::elementwise::{
    add, divide, equal, floor_divide, less, logical_and, maximum, minimum, multiply, negative, not_equal,
    sign, subtract, where_,
};
use crate::ops::operand::Operand;
use crate::ops::{argsort, cast, concatenate, counting, cummin, flat, full, shaped, slice_axis};

/// How [`slice_accumulate`] combines an update with the element it meets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Accumulate {
    /// The sum.
    Add,
    /// The difference.
    Subtract,
    /// The product.
    Multiply,
    /// The quotient; of integers rounded towards zero, and zero for a divisor of zero.
    Divide,
    /// The larger.
    Maximum,
    /// The smaller.
    Minimum,
}

impl Accumulate {
    /// The update as something that can be combined in any order.
    #[track_caller]
    fn prepare(self, update: Array) -> Array {
        match self {
            Accumulate::Subtract => negative(&update),
            // Divisors of integers are multiplied: an inverse of theirs would be zero.
            Accumulate::Divide if update.dtype().is_inexact() => divide(1, &update),
            _ => update,
        }
    }

    /// What becomes of a place and prepared updates.
    fn operation(self) -> ScatterOp {
        match self {
            Accumulate::Add | Accumulate::Subtract => ScatterOp::Sum,
            Accumulate::Multiply | Accumulate::Divide => ScatterOp::Prod,
            Accumulate::Maximum => ScatterOp::Max,
            Accumulate::Minimum => ScatterOp::Min,
        }
    }

    /// An element with all its updates.
    #[track_caller]
    fn finish(self, a: &Array, update: &Array) -> Array {
        if self != Accumulate::Divide || a.dtype().is_inexact() {
            return self.combine(a, update);
        }
        // Rounded towards zero, as a cast of the quotient would be, but exactly.
        let quotient = floor_divide(a, update);
        let rest = subtract(a, &multiply(&quotient, update));
        let below = logical_and(&not_equal(&rest, 0), &less(&multiply(&sign(a), &sign(update)), 0));
        where_(&below, &add(&quotient, 1), &quotient)
    }

    /// Two updates as one.
    #[track_caller]
    fn combine(self, a: &Array, b: &Array) -> Array {
        match self {
            Accumulate::Add | Accumulate::Subtract => add(a, b),
            Accumulate::Multiply | Accumulate::Divide => multiply(a, b),
            Accumulate::Maximum => maximum(a, b),
            Accumulate::Minimum => minimum(a, b),
        }
    }
}

/// A copy of `a` in which the selected part is combined with `update`, which is broadcast to it and converted to the
/// type of `a`. Where index arrays name a place more than once, all its updates count.
///
/// ```
/// use pellucid::{Array, idx, ops, ops::Accumulate};
/// # fn main() -> pellucid::Result<()> {
/// let (a, at) = (Array::from([1, 2, 3]), Array::from([0, 2, 0]));
/// let sum = ops::slice_accumulate(&a, 10, &idx![at], Accumulate::Add);
/// assert_eq!(sum.to_vec::<i32>()?, [21, 2, 13]);
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// As for [`slice_update`](super::slice_update), and those of the arithmetic.
#[track_caller]
pub fn slice_accumulate<'u>(
    a: &Array,
    update: impl Into<Operand<'u>>,
    indices: &[Index],
    how: Accumulate,
) -> Array {
    let update = update.into();
    ok!(a, &update, indices);
    let given = value(update, a.dtype());
    let update = how.prepare(given.clone());
    if !indices.iter().any(|i| matches!(i, Index::Array(_))) {
        let part = index(a, indices);
        ok!(&part);
        let update = fitted(&update, part.shape_ref().clone());
        return slice_update(a, how.finish(&part, &update), indices);
    }
    if !composes() {
        if how == Accumulate::Divide && !a.dtype().is_inexact() {
            let divisors = scatter(&full(a.shape_ref(), 1, a.dtype()), &update, indices, ScatterOp::Prod);
            return how.finish(a, &divisors);
        }
        return scatter(a, &update, indices, how.operation());
    }
    if matches!(a.dtype(), Dtype::Float16 | Dtype::Bfloat16) {
        // Sums of 16-bit floats are rounded once.
        let wide = |x: &Array| cast(x, Dtype::Float32);
        return cast(&slice_accumulate(&wide(a), &wide(&given), indices, how), a.dtype());
    }
    let places = index(&shaped(&counting(a.size()), a.shape_ref().clone()), indices);
    ok!(&places);
    let update = flat(&fitted(&update, places.shape_ref().clone()));
    let (places, totals) = totals(&flat(&places), &update, how);
    let source = flat(a);
    let new = cast(&how.finish(&take(&source, &places, 0), &totals), a.dtype());
    let inputs: Inputs = smallvec::smallvec![source, places, new];
    shaped(&Array::from_op(Op::PutAlongAxis { axis: 0 }, inputs), a.shape_ref().clone())
}

/// The places in ascending order, and for each of them all its updates combined: equal places have equal totals, so
/// that it does not matter which one is written last.
#[track_caller]
fn totals(places: &Array, update: &Array, how: Accumulate) -> (Array, Array) {
    ok!(places, update);
    let count = places.size();
    if count <= 1 {
        return (places.clone(), update.clone());
    }
    let order = argsort(places, 0);
    let (places, mut sums) = (take(places, &order, 0), take(update, &order, 0));
    // Running totals of neighbours with the same place, over distances that double.
    let mut distance = 1;
    while distance < count {
        ok!(&places, &sums);
        let same = equal(&later(&places, distance, -1), &places);
        let before = later(&sums, distance, 0);
        sums = where_(&same, &how.combine(&before, &sums), &sums);
        distance *= 2;
    }
    let next = concatenate(&[&slice_axis(&places, 0, 1, count - 1, 1), &full(1, -1, places.dtype())], 0);
    let ends = where_(&not_equal(&places, &next), &cast(&counting(count), Dtype::Int64), count);
    let last = cummin(&ends, 0, true, true);
    let totals = take(&sums, &last, 0);
    (places, totals)
}

/// The elements moved back by some places; `fill` comes in at the front.
#[track_caller]
fn later(a: &Array, by: usize, fill: i64) -> Array {
    ok!(a);
    let front = full(by, fill, a.dtype());
    concatenate(&[&front, &slice_axis(a, 0, 0, a.size() - by, 1)], 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::idx;

    #[test]
    fn every_update_of_a_place_counts() {
        let a = Array::from([1.0f32, 2.0, 3.0, 4.0]);
        let at = Array::from([3, 1, 3, -1, 1, 0]);
        let by = Array::from([1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0]);
        let expected: [(Accumulate, [f32; 4]); 5] = [
            (Accumulate::Add, [7.0, 9.0, 3.0, 12.0]),
            (Accumulate::Subtract, [-5.0, -5.0, 3.0, -4.0]),
            (Accumulate::Multiply, [6.0, 20.0, 3.0, 48.0]),
            (Accumulate::Maximum, [6.0, 5.0, 3.0, 4.0]),
            (Accumulate::Minimum, [1.0, 2.0, 3.0, 1.0]),
        ];
        for (how, result) in expected {
            let out = slice_accumulate(&a, &by, &idx![&at], how);
            assert_eq!(out.to_vec::<f32>().unwrap(), result, "{how:?}");
        }
    }

    #[test]
    fn quotients_of_integers_are_exact_and_rounded_towards_zero() {
        let a = Array::from([41, -8, 2_147_483_647, 100, 7]);
        let by = Array::from([41, 3, 3, 7, 0]);
        let whole = slice_accumulate(&a, &by, &idx![..], Accumulate::Divide);
        assert_eq!(whole.to_vec::<i32>().unwrap(), [1, -2, 715_827_882, 14, 0]);
        let twice = slice_accumulate(&a, 3, &idx![&Array::from([3, 1, 3])], Accumulate::Divide);
        assert_eq!(twice.to_vec::<i32>().unwrap(), [41, -2, 2_147_483_647, 11, 7]);
    }

    #[test]
    fn rows_named_twice_and_slices_are_updated() {
        let a = Array::from([[1, 2], [3, 4], [5, 6]]);
        let rows = Array::from([2, 2, 0]);
        let out = slice_accumulate(&a, Array::from([[1, 10]]), &idx![&rows], Accumulate::Add);
        assert_eq!(out.to_vec::<i32>().unwrap(), [2, 12, 3, 4, 7, 26]);
        let out = slice_accumulate(&a, 2, &idx![.., 1], Accumulate::Multiply);
        assert_eq!(out.to_vec::<i32>().unwrap(), [1, 4, 3, 8, 5, 12]);
        let bad = slice_accumulate(&a, 1, &idx![&Array::from([3])], Accumulate::Add);
        assert!(bad.eval().is_err());
    }
}
