//! Nodes as rules need them: exact about types and shapes, without the conveniences of [`ops`](crate::ops). A rule that
//! promoted a type by accident would change the type of a gradient.

use smallvec::SmallVec;

use crate::array::{Array, Dtype, Inputs, Shape};
use crate::op::{BinaryOp, Dims, Op, ReduceOp, Scalar, ScanOp, SliceSpec, UnaryOp};
use crate::transform::refit::{Dim, Refit, is_shapeless, noted};
use crate::transform::trace::is_tracing;

#[track_caller]
pub(crate) fn apply(op: Op, inputs: &[&Array]) -> Array {
    Array::from_op(op, inputs.iter().map(|&a| a.clone()).collect::<Inputs>())
}

#[track_caller]
pub(crate) fn full(value: impl Into<Scalar>, shape: &Shape, dtype: Dtype) -> Array {
    apply(Op::Full { shape: shape.clone(), dtype, value: value.into() }, &[])
}

/// The same elements for a choice that is constant nearby, such as an order: what depends on it has no derivative, also
/// if the rule is differentiated once more.
#[track_caller]
pub(crate) fn stopped(a: &Array) -> Array {
    if is_tracing() { apply(Op::StopGradient, &[a]) } else { a.clone() }
}

/// A single element, which broadcasts.
#[track_caller]
pub(crate) fn number(value: impl Into<Scalar>, dtype: Dtype) -> Array {
    full(value, &Shape::default(), dtype)
}

#[track_caller]
pub(crate) fn zero(dtype: Dtype) -> Array {
    number(0i64, dtype)
}

#[track_caller]
pub(crate) fn zeros_like(a: &Array) -> Array {
    full_like(0i64, a, a.dtype())
}

/// One value in the shape of an array.
#[track_caller]
pub(crate) fn full_like(value: impl Into<Scalar>, like: &Array, dtype: Dtype) -> Array {
    if !is_shapeless() {
        return full(value, like.shape_ref(), dtype);
    }
    noted(Refit::Like(like.clone()), || full(value, like.shape_ref(), dtype))
}

#[track_caller]
pub(crate) fn unary(op: UnaryOp, x: &Array) -> Array {
    apply(Op::Unary(op), &[x])
}

#[track_caller]
pub(crate) fn binary(op: BinaryOp, a: &Array, b: &Array) -> Array {
    apply(Op::Binary(op), &[a, b])
}

macro_rules! binaries {
    ($($name:ident $op:ident;)*) => {
        $(#[track_caller]
        pub(crate) fn $name(a: &Array, b: &Array) -> Array {
            binary(BinaryOp::$op, a, b)
        })*
    };
}
binaries! {
    add Add;
    sub Subtract;
    mul Multiply;
    div Divide;
    equal Equal;
    greater Greater;
    less Less;
    less_equal LessEqual;
    greater_equal GreaterEqual;
}

macro_rules! unaries {
    ($($name:ident $op:ident;)*) => {
        $(#[track_caller]
        pub(crate) fn $name(x: &Array) -> Array {
            unary(UnaryOp::$op, x)
        })*
    };
}
unaries! {
    neg Negative;
    exp Exp;
    log Log;
    square Square;
    sigmoid Sigmoid;
}

/// The complex conjugate; a real array itself.
#[track_caller]
pub(crate) fn conj(a: &Array) -> Array {
    if a.dtype().is_complex() { unary(UnaryOp::Conjugate, a) } else { a.clone() }
}

/// `a` where the condition holds, else `b`.
#[track_caller]
pub(crate) fn select(condition: &Array, a: &Array, b: &Array) -> Array {
    apply(Op::Select, &[condition, a, b])
}

/// `a` where the condition holds, else zero: never by multiplying, which would let infinities and NaN through.
#[track_caller]
pub(crate) fn masked(condition: &Array, a: &Array) -> Array {
    select(condition, a, &zero(a.dtype()))
}

#[track_caller]
pub(crate) fn cast(a: &Array, dtype: Dtype) -> Array {
    if a.dtype() == dtype { a.clone() } else { apply(Op::Cast { dtype }, &[a]) }
}

#[track_caller]
pub(crate) fn reshape(a: &Array, shape: &[usize]) -> Array {
    if a.shape() == shape { a.clone() } else { apply(Op::Reshape { shape: Shape::from(shape) }, &[a]) }
}

/// The elements in the shape of another array.
#[track_caller]
pub(crate) fn reshape_like(a: &Array, like: &Array) -> Array {
    if !is_shapeless() {
        return reshape(a, like.shape());
    }
    noted(Refit::Like(like.clone()), || apply(Op::Reshape { shape: like.shape_ref().clone() }, &[a]))
}

/// The array repeated to the shape of another one.
#[track_caller]
pub(crate) fn broadcast_like(a: &Array, like: &Array) -> Array {
    if !is_shapeless() {
        return broadcast(a, like.shape());
    }
    noted(Refit::Like(like.clone()), || apply(Op::Broadcast { shape: like.shape_ref().clone() }, &[a]))
}

#[track_caller]
pub(crate) fn transpose(a: &Array, axes: &[usize]) -> Array {
    if axes.iter().enumerate().all(|(i, &axis)| i == axis) {
        return a.clone();
    }
    apply(Op::Transpose { axes: axes.iter().copied().collect() }, &[a])
}

/// The last two axes exchanged.
#[track_caller]
pub(crate) fn matrix_transpose(a: &Array) -> Array {
    let mut axes: Dims = (0..a.ndim()).collect();
    let n = axes.len();
    axes.swap(n - 1, n - 2);
    transpose(a, &axes)
}

/// One axis moved to another place, the others in their order.
#[track_caller]
pub(crate) fn move_axis(a: &Array, from: usize, to: usize) -> Array {
    let mut axes: Dims = (0..a.ndim()).filter(|&axis| axis != from).collect();
    axes.insert(to, from);
    transpose(a, &axes)
}

#[track_caller]
pub(crate) fn broadcast(a: &Array, shape: &[usize]) -> Array {
    if a.shape() == shape { a.clone() } else { apply(Op::Broadcast { shape: Shape::from(shape) }, &[a]) }
}

#[track_caller]
pub(crate) fn reduce(op: ReduceOp, a: &Array, axes: &[usize], keepdims: bool) -> Array {
    if axes.is_empty() {
        return a.clone();
    }
    apply(Op::Reduce { op, axes: axes.iter().copied().collect(), keepdims }, &[a])
}

#[track_caller]
pub(crate) fn sum(a: &Array, axes: &[usize], keepdims: bool) -> Array {
    let dtype = a.dtype();
    // Small integers are summed as 32-bit ones; a gradient has the type of what it belongs to.
    cast(&reduce(ReduceOp::Sum, a, axes, keepdims), dtype)
}

#[track_caller]
pub(crate) fn scan(op: ScanOp, a: &Array, axis: usize, reverse: bool, inclusive: bool) -> Array {
    apply(Op::Scan { op, axis, reverse, inclusive }, &[a])
}

/// The whole of a shape as a selection.
pub(crate) fn whole(shape: &[usize]) -> SliceSpec {
    SliceSpec {
        start: SmallVec::from_elem(0, shape.len()),
        size: shape.iter().copied().collect(),
        step: SmallVec::from_elem(1, shape.len()),
    }
}

/// `size` positions from `start` on along one axis.
#[track_caller]
pub(crate) fn part(a: &Array, axis: usize, start: usize, size: usize) -> Array {
    let mut spec = whole(a.shape());
    (spec.start[axis], spec.size[axis]) = (start, size);
    slice(a, spec)
}

#[track_caller]
pub(crate) fn slice(a: &Array, spec: SliceSpec) -> Array {
    if spec == whole(a.shape()) { a.clone() } else { apply(Op::Slice(Box::new(spec)), &[a]) }
}

#[track_caller]
pub(crate) fn slice_update(a: &Array, update: &Array, spec: SliceSpec) -> Array {
    if spec == whole(a.shape()) {
        return update.clone();
    }
    apply(Op::SliceUpdate(Box::new(spec)), &[a, update])
}

#[track_caller]
pub(crate) fn concatenate(parts: &[Array], axis: usize) -> Array {
    match parts {
        [only] => only.clone(),
        _ => apply(Op::Concatenate { axis }, &parts.iter().collect::<Vec<_>>()),
    }
}

#[track_caller]
pub(crate) fn matmul(a: &Array, b: &Array) -> Array {
    apply(Op::Matmul, &[a, b])
}

/// `0, 1, …` up to `len` as `int32`, or `int64` if they do not fit.
#[track_caller]
pub(crate) fn counting(len: usize) -> Array {
    let dtype = if i32::try_from(len).is_ok() { Dtype::Int32 } else { Dtype::Int64 };
    apply(Op::Arange { start: Scalar::Int(0), step: Scalar::Int(1), len, dtype }, &[])
}

/// The array with size-one axes where axes were reduced away, so that it broadcasts against the reduced array.
#[track_caller]
pub(crate) fn with_reduced(a: &Array, shape: &[usize], axes: &[usize]) -> Array {
    let kept: Vec<usize> =
        shape.iter().enumerate().map(|(i, &d)| if axes.contains(&i) { 1 } else { d }).collect();
    if !is_shapeless() || a.ndim() == shape.len() {
        return reshape(a, &kept);
    }
    let mut own = 0..a.ndim();
    let dim = |axis: usize| match axes.contains(&axis) {
        true => Dim::Is(1),
        false => own.next().map_or(Dim::Is(1), Dim::Of),
    };
    let dims = (0..shape.len()).map(dim).collect();
    noted(Refit::Dims(dims), || apply(Op::Reshape { shape: Shape::from(&*kept) }, &[a]))
}

/// The sum over all axes along which `like` was repeated: what broadcasting becomes in reverse.
#[track_caller]
pub(crate) fn unbroadcast(g: &Array, like: &Array) -> Array {
    if g.shape() == like.shape() {
        return g.clone();
    }
    reshape_like(&summed_to(g, like.shape()), like)
}

/// As [`unbroadcast`], to a shape that no array has.
#[track_caller]
pub(crate) fn unbroadcast_to(g: &Array, shape: &[usize]) -> Array {
    if g.shape() == shape { g.clone() } else { reshape(&summed_to(g, shape), shape) }
}

/// The sum over the axes that a smaller shape does not have, which stay with size one.
#[track_caller]
fn summed_to(g: &Array, shape: &[usize]) -> Array {
    let missing = g.ndim() - shape.len();
    let repeated = |axis: &usize| *axis < missing || (shape[*axis - missing] == 1 && g.shape()[*axis] != 1);
    let axes: Vec<usize> = (0..g.ndim()).filter(repeated).collect();
    sum(g, &axes, true)
}
