//! Products of chosen matrices, of parts of matrices, and of matrices with masked blocks.

use smallvec::smallvec;

use super::elementwise::{multiply, where_};
use super::index::take;
use super::matmul::matmul;
use super::shape::{broadcast_to, expand_dims, squeeze};
use super::{cast, shaped, slice_axis};
use crate::array::{Array, Dtype, Inputs, Shape, fail, ok};
use crate::error::{Error, Result};
use crate::op::Op;

/// That two arrays can be multiplied as matrices of real numbers.
fn check_product(name: &'static str, a: &Array, b: &Array) -> Result<Dtype> {
    let dtype = a.dtype().promote(b.dtype());
    if !dtype.is_floating() {
        let message =
            format!("needs a floating type, not {} and {}; convert with astype", a.dtype(), b.dtype());
        return Err(Error::dtype(name, message));
    }
    if a.ndim() < 2 || b.ndim() < 2 || a.shape()[a.ndim() - 1] != b.shape()[b.ndim() - 2] {
        let message = format!(
            "the last axis of a and the second-to-last of b must be equal (shapes {} and {})",
            a.shape_ref(),
            b.shape_ref()
        );
        return Err(Error::shape(name, message));
    }
    Ok(dtype)
}

/// Products of chosen matrices: for each position of the indices, which are broadcast to each other, the matrix of `a`
/// and the one of `b` at those places of their flat leading axes. Without indices, each in turn.
///
/// ```
/// use pellucid::{Array, ops};
/// # fn main() -> pellucid::Result<()> {
/// let a = Array::from([[[1.0f32, 2.0]], [[3.0, 4.0]]]);
/// let b = Array::from([[[1.0f32], [0.0]], [[0.0], [1.0]]]);
/// let both = ops::gather_mm(&a, &b, None, Some(&Array::from([1, 1])));
/// assert_eq!(both.to_vec::<f32>()?, [2.0, 4.0]);
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// [`Error::Shape`] if the matrices cannot be multiplied or the indices not broadcast, [`Error::Dtype`] if the numbers
/// are not floating or the indices not integers; when it is computed [`Error::Index`] if an index is out of range.
#[track_caller]
pub fn gather_mm(a: &Array, b: &Array, lhs: Option<&Array>, rhs: Option<&Array>) -> Array {
    let name = "gather_mm";
    ok!(a, b);
    for indices in [lhs, rhs].into_iter().flatten() {
        ok!(indices);
        if !indices.dtype().is_integer() {
            return fail(Error::dtype(name, format!("indices must be integers, not {}", indices.dtype())));
        }
    }
    let (row, column) = (a.ndim() == 1, b.ndim() == 1);
    let a = if row { expand_dims(a, 0) } else { a.clone() };
    let b = if column { expand_dims(b, 1) } else { b.clone() };
    let dtype = ok!(check_product(name, &a, &b));
    let chosen = |x: &Array, indices: Option<&Array>| match indices {
        None => x.clone(),
        Some(indices) => {
            let (lead, matrix) = x.shape().split_at(x.ndim() - 2);
            let flat: Shape = std::iter::once(lead.iter().product()).chain(matrix.iter().copied()).collect();
            take(&shaped(x, flat), indices, 0)
        }
    };
    let found = matmul(&chosen(&cast(&a, dtype), lhs), &chosen(&cast(&b, dtype), rhs));
    match (row, column) {
        (true, true) => squeeze(&found, [-2, -1]),
        (true, false) => squeeze(&found, -2),
        (false, true) => squeeze(&found, -1),
        (false, false) => found,
    }
}

/// For each pair of `segments` the product of the columns of `a` and the rows of `b` from the first number up to but not
/// including the second: `[…, m, n]`.
///
/// ```
/// use pellucid::prelude::*;
/// let (a, b) = (Array::ones((2, 4)), Array::ones((4, 3)));
/// let halves = array![[0u32, 2], [2, 4]];
/// assert_eq!(ops::segmented_mm(&a, &b, &halves).shape(), [2, 2, 3]);
/// ```
///
/// # Errors
/// [`Error::Shape`] if `a` and `b` are no matrices that can be multiplied or the last axis of the segments is not two,
/// [`Error::Dtype`] if the numbers are not floating or the segments not integers; when it is computed
/// [`Error::Argument`] if a segment is not inside the matrices.
#[track_caller]
pub fn segmented_mm(a: &Array, b: &Array, segments: &Array) -> Array {
    ok!(a, b, segments);
    let dtype = ok!(check_product("segmented_mm", a, b));
    let inputs: Inputs = smallvec![cast(a, dtype), cast(b, dtype), segments.clone()];
    Array::from_op(Op::SegmentedMm, inputs)
}

/// `x` with its square blocks multiplied by the elements of a mask, or set to zero where a mask of bool is false.
#[track_caller]
fn masked(name: &'static str, x: &Array, mask: &Array, block: usize) -> Array {
    ok!(x, mask);
    let (m, n) = (x.shape()[x.ndim() - 2], x.shape()[x.ndim() - 1]);
    let (rows, columns) = (m.div_ceil(block), n.div_ceil(block));
    let lead = match mask.shape() {
        [lead @ .., r, c] if *r == rows && *c == columns => Shape::from(lead),
        _ => {
            let message = format!(
                "matrices of {m} by {n} have {rows} by {columns} blocks of {block}, but a mask has shape {}",
                mask.shape_ref()
            );
            return fail(Error::shape(name, message));
        }
    };
    let with = |axes: [usize; 4]| -> Shape { lead.iter().copied().chain(axes).collect() };
    let cells = broadcast_to(&shaped(mask, with([rows, 1, columns, 1])), with([rows, block, columns, block]));
    let whole = shaped(&cells, lead.iter().copied().chain([rows * block, columns * block]).collect());
    let axis = whole.ndim();
    let mask = slice_axis(&slice_axis(&whole, axis - 2, 0, m, 1), axis - 1, 0, n, 1);
    match mask.dtype() {
        Dtype::Bool => where_(&mask, x, 0),
        _ => multiply(x, &cast(&mask, x.dtype())),
    }
}

/// Masks for the blocks of a product's inputs and result; those not given change nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct BlockMasks<'a> {
    /// For the blocks of the result.
    pub out: Option<&'a Array>,
    /// For the blocks of the left matrices.
    pub lhs: Option<&'a Array>,
    /// For the blocks of the right matrices.
    pub rhs: Option<&'a Array>,
}

/// The matrix product with masked square blocks of `block` rows: an element of a mask for each block, which is left out
/// where it is false and multiplied where it is a number.
///
/// ```
/// use pellucid::prelude::*;
/// let a = Array::ones((64, 64));
/// assert_eq!(ops::block_masked_mm(&a, &a, 32, ops::BlockMasks::default()).shape(), [64, 64]);
/// ```
///
/// # Errors
/// [`Error::Shape`] if the matrices cannot be multiplied or a mask has not an element for each block,
/// [`Error::Argument`] if blocks have no rows, [`Error::Dtype`] if both are integers.
#[track_caller]
pub fn block_masked_mm(a: &Array, b: &Array, block: usize, masks: BlockMasks) -> Array {
    let name = "block_masked_mm";
    ok!(a, b);
    if block == 0 {
        return fail(Error::argument(name, "the size of a block must be positive, but is 0"));
    }
    let (row, column) = (a.ndim() == 1, b.ndim() == 1);
    let a = if row { expand_dims(a, 0) } else { a.clone() };
    let b = if column { expand_dims(b, 1) } else { b.clone() };
    let dtype = ok!(check_product(name, &a, &b));
    let side = |x: &Array, mask: Option<&Array>| {
        let x = cast(x, dtype);
        mask.map_or_else(|| x.clone(), |mask| masked(name, &x, mask, block))
    };
    let product = matmul(&side(&a, masks.lhs), &side(&b, masks.rhs));
    let found = match masks.out {
        Some(mask) => masked(name, &product, mask, block),
        None => product,
    };
    match (row, column) {
        (true, true) => squeeze(&found, [-2, -1]),
        (true, false) => squeeze(&found, -2),
        (false, true) => squeeze(&found, -1),
        (false, false) => found,
    }
}
