//! Lists of indices: the rectangular part first, then what index arrays choose from it.

use smallvec::{SmallVec, smallvec};

use super::{Index, value};
use crate::array::{Array, Dtype, Inputs, Shape, fail, ok};
use crate::device::DeviceType;
use crate::error::{Error, Result};
use crate::op::{Dims, Op, ScatterOp, SliceSpec};
use crate::ops::elementwise::{add, multiply};
use crate::ops::operand::Operand;
use crate::ops::shape::{broadcast_to, permuted};
use crate::ops::{apply2, cast, counting, flat, shaped, slice, whole};
use crate::stream::current_stream;

/// First position, number of positions and step of a slice of an axis, as Python computes them.
fn resolve_slice(
    function: &'static str,
    start: Option<i64>,
    stop: Option<i64>,
    step: i64,
    size: usize,
) -> Result<(usize, usize, isize)> {
    if step == 0 {
        return Err(Error::argument(function, "the step of a slice must not be zero"));
    }
    let (size, wide) = (size as i128, i128::from(step));
    let (lowest, highest) = if step > 0 { (0, size) } else { (-1, size - 1) };
    let place = |p: i64| {
        let p = i128::from(p);
        (if p < 0 { p + size } else { p }).clamp(lowest, highest)
    };
    let (first, last) = if step > 0 { (lowest, highest) } else { (highest, lowest) };
    let (start, stop) = (start.map_or(first, place), stop.map_or(last, place));
    let span = if step > 0 { stop - start } else { start - stop };
    let count = if span <= 0 { 0 } else { (span - 1) / wide.abs() + 1 };
    // A step beyond the axis is never taken.
    let step = if count <= 1 { 1 } else { step as isize };
    Ok((if count == 0 { 0 } else { start as usize }, count as usize, step))
}

/// A list of indices applied to a shape: the rectangular part, and what is left to do afterwards.
struct Selection {
    spec: SliceSpec,
    /// Index arrays and the axes they are for.
    arrays: Vec<(usize, Array)>,
    /// The axes of the result in order.
    layout: Vec<Piece>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Piece {
    /// An axis of the input, as the slice left it.
    Axis(usize),
    /// A new axis.
    New,
    /// The axes of the index arrays.
    Arrays,
}

impl Selection {
    fn new(function: &'static str, a: &Array, indices: &[Index]) -> Result<Selection> {
        let ndim = a.ndim();
        let used = indices.iter().filter(|i| !matches!(i, Index::NewAxis | Index::Ellipsis)).count();
        if used > ndim {
            let message = format!("{used} indices for the {ndim} axes of shape {}", a.shape_ref());
            return Err(Error::argument(function, message));
        }
        if indices.iter().filter(|i| matches!(i, Index::Ellipsis)).count() > 1 {
            return Err(Error::argument(function, "takes one ellipsis at most"));
        }
        let mut result = Selection { spec: whole(a), arrays: Vec::new(), layout: Vec::new() };
        // NumPy puts the axes of index arrays where the first stands, or first if something stands between them.
        let chooses = |i: &Index| matches!(i, Index::Int(_) | Index::Array(_));
        let with_arrays = indices.iter().any(|i| matches!(i, Index::Array(_)));
        let first = indices.iter().position(chooses).filter(|_| with_arrays);
        let last = indices.iter().rposition(chooses);
        let apart = match (first, last) {
            (Some(first), Some(last)) => !indices[first..=last].iter().all(chooses),
            _ => false,
        };
        if apart {
            result.layout.push(Piece::Arrays);
        }
        let mut axis = 0;
        for (i, index) in indices.iter().enumerate() {
            if first == Some(i) && !apart {
                result.layout.push(Piece::Arrays);
            }
            match index {
                Index::NewAxis => result.layout.push(Piece::New),
                Index::Ellipsis => {
                    let rest = ndim - used;
                    result.layout.extend((axis..axis + rest).map(Piece::Axis));
                    axis += rest;
                    continue;
                }
                _ => {
                    result.select(function, a, index, axis)?;
                    axis += 1;
                }
            }
        }
        result.layout.extend((axis..ndim).map(Piece::Axis));
        Ok(result)
    }

    fn select(&mut self, function: &'static str, a: &Array, index: &Index, axis: usize) -> Result<()> {
        let size = a.shape()[axis];
        match index {
            Index::Int(at) => {
                let place = if *at < 0 { i128::from(*at) + size as i128 } else { i128::from(*at) };
                if !(0..size as i128).contains(&place) {
                    return Err(Error::Index { function, index: *at, axis, size });
                }
                self.spec.start[axis] = place as usize;
                self.spec.size[axis] = 1;
            }
            Index::Slice { start, stop, step } => {
                let (start, count, step) = resolve_slice(function, *start, *stop, *step, size)?;
                self.spec.start[axis] = start;
                self.spec.size[axis] = count;
                self.spec.step[axis] = step;
                self.layout.push(Piece::Axis(axis));
            }
            Index::Array(at) => {
                if !at.dtype().is_integer() {
                    let message = format!("indices must be integers, not {} (axis {axis})", at.dtype());
                    return Err(Error::dtype(function, message));
                }
                self.arrays.push((axis, at.clone()));
            }
            Index::NewAxis | Index::Ellipsis => {}
        }
        Ok(())
    }

    /// The shape that the index arrays have together.
    fn chosen(&self, function: &'static str) -> Result<Shape> {
        self.arrays
            .iter()
            .try_fold(Shape::default(), |all, (_, at)| all.broadcast_for(function, at.shape_ref()))
    }

    /// The axes that index arrays are for.
    fn axes(&self) -> Dims {
        self.arrays.iter().map(|&(axis, _)| axis).collect()
    }

    /// The index arrays, all of one shape.
    #[track_caller]
    fn index_arrays(&self, chosen: &Shape) -> Inputs {
        let mut all = Inputs::new();
        for (_, at) in &self.arrays {
            all.push(broadcast_to(at, chosen.clone()));
        }
        all
    }

    /// For each axis of the result, then for single positions, its place among the axes of the index arrays and then all
    /// others of the input.
    fn order(&self, ndim: usize, chosen: usize) -> Dims {
        let axes = self.axes();
        let kept: Dims = (0..ndim).filter(|x| !axes.contains(x)).collect();
        let mut order = Dims::new();
        for piece in &self.layout {
            match piece {
                Piece::Axis(axis) => order.extend(kept.iter().position(|x| x == axis).map(|p| p + chosen)),
                Piece::Arrays => order.extend(0..chosen),
                Piece::New => {}
            }
        }
        let single = (0..chosen + kept.len()).filter(|x| !order.contains(x)).collect::<Dims>();
        order.extend(single);
        order
    }

    /// The sizes of the result; `chosen` are those of the index arrays.
    fn shape(&self, chosen: &[usize]) -> Shape {
        let mut shape = Shape::default();
        for piece in &self.layout {
            match piece {
                Piece::Axis(axis) => shape.push(self.spec.size[*axis]),
                Piece::New => shape.push(1),
                Piece::Arrays => chosen.iter().for_each(|&d| shape.push(d)),
            }
        }
        shape
    }
}

/// The part of an array that a list of indices selects, as NumPy reads it.
///
/// ```
/// use pellucid::prelude::*;
/// let a = array![[1, 2], [3, 4]];
/// assert_eq!(ops::index(&a, &[Index::Ellipsis, Index::Int(0)]).to_vec::<i32>().unwrap(), [1, 3]);
/// ```
///
/// # Errors
/// [`Error::Index`] if a position is outside its axis (for those in arrays, when the result is computed),
/// [`Error::Argument`] if there are more indices than axes or a step is zero, [`Error::Dtype`] if an array is not of
/// integers.
#[track_caller]
pub fn index(a: &Array, indices: &[Index]) -> Array {
    ok!(a, indices);
    let selection = ok!(Selection::new("index", a, indices));
    let part = slice(a, selection.spec.clone());
    if selection.arrays.is_empty() {
        return shaped(&part, selection.shape(&[]));
    }
    let chosen = ok!(selection.chosen("index"));
    // The axes of arrays come first; single positions and slices keep their order behind them.
    let axes = selection.axes();
    let picked = if let [(axis, at)] = &*selection.arrays {
        let taken = apply2(Op::Take { axis: *axis }, part, at.clone());
        ok!(&taken);
        let block: SmallVec<[usize; 4]> = (*axis..*axis + at.ndim()).collect();
        let rest = (0..taken.ndim()).filter(|x| !block.contains(x));
        permuted(&taken, block.iter().copied().chain(rest).collect())
    } else if !composes() {
        let mut inputs: Inputs = smallvec![part];
        inputs.extend(selection.index_arrays(&chosen));
        Array::from_op(Op::Gather { axes }, inputs)
    } else {
        let rest = (0..a.ndim()).filter(|x| !axes.contains(x));
        let order = axes.iter().copied().chain(rest).collect();
        let moved = permuted(&part, order);
        ok!(&moved);
        let joined: usize = axes.iter().map(|&x| a.shape()[x]).product();
        let dims = [joined].into_iter().chain(moved.shape()[axes.len()..].iter().copied());
        let table = shaped(&moved, dims.collect());
        apply2(Op::Take { axis: 0 }, table, joint_position(a.shape(), &selection.arrays))
    };
    ok!(&picked);
    let order = selection.order(a.ndim(), chosen.len());
    shaped(&permuted(&picked, order), selection.shape(&chosen))
}

/// Whether gathering and scattering with several index arrays are composed of other operations: those have kernels on
/// a GPU.
pub(super) fn composes() -> bool {
    current_stream().is_ok_and(|stream| stream.device().device_type() == DeviceType::Gpu)
}

/// A copy of `a` in which the places that indices select, some of them by arrays, are combined with `update`, which has
/// the type of `a` and broadcasts to what is selected.
#[track_caller]
pub(super) fn scatter(a: &Array, update: &Array, indices: &[Index], how: ScatterOp) -> Array {
    let function = "slice_update";
    let selection = ok!(Selection::new(function, a, indices));
    let chosen = ok!(selection.chosen(function));
    let update = fitted(update, selection.shape(&chosen));
    ok!(&update);
    let whole = selection.spec == whole(a);
    let part = if whole { a.clone() } else { slice(a, selection.spec.clone()) };
    // From the order of the result's axes to that of the operation: the arrays' axes, then all others.
    let axes = selection.axes();
    let kept = (0..a.ndim()).filter(|x| !axes.contains(x)).map(|x| selection.spec.size[x]);
    let sizes: Shape = chosen.iter().copied().chain(kept).collect();
    let order = selection.order(a.ndim(), chosen.len());
    let mut back: SmallVec<[usize; 4]> = SmallVec::from_elem(0, order.len());
    order.iter().enumerate().for_each(|(to, &from)| back[from] = to);
    let update = permuted(&shaped(&update, order.iter().map(|&x| sizes[x]).collect()), back);
    let mut inputs: Inputs = smallvec![part];
    inputs.extend(selection.index_arrays(&chosen));
    inputs.push(update);
    let changed = Array::from_op(Op::Scatter { axes, how }, inputs);
    if whole { changed } else { apply2(Op::SliceUpdate(Box::new(selection.spec)), a.clone(), changed) }
}

/// Positions along several axes as positions along those axes joined. Each is checked against its own axis.
#[track_caller]
fn joint_position(shape: &[usize], arrays: &[(usize, Array)]) -> Array {
    let mut joint: Option<Array> = None;
    let total: usize = arrays.iter().map(|&(axis, _)| shape[axis]).product();
    let dtype = if i32::try_from(total).is_ok() { Dtype::Int32 } else { Dtype::Int64 };
    for (axis, at) in arrays {
        // Taking from 0, 1, … checks the positions and makes them positive; leading axes of size one keep the name of
        // the axis for the error.
        let mut dims: Shape = std::iter::repeat_n(1, *axis).collect();
        dims.push(shape[*axis]);
        let table = shaped(&cast(&counting(shape[*axis]), dtype), dims);
        let place = shaped(&apply2(Op::Take { axis: *axis }, table, at.clone()), at.shape_ref().clone());
        joint = Some(match joint {
            None => place,
            Some(before) => add(multiply(&before, shape[*axis]), place),
        });
    }
    joint.unwrap_or_else(|| fail(Error::internal("index", "no index arrays")))
}

/// A copy of `a` in which the selected part is replaced by `update`, which is broadcast to it and converted to the
/// type of `a`. Where index arrays name a place twice, the last of the values stays.
///
/// ```
/// use pellucid::{Array, idx, ops};
/// # fn main() -> pellucid::Result<()> {
/// let a = Array::from([1, 2, 3]);
/// assert_eq!(ops::slice_update(&a, 0, &idx![1..]).to_vec::<i32>()?, [1, 0, 0]);
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// As for [`index`], and [`Error::Shape`] if the update does not broadcast to the part.
#[track_caller]
pub fn slice_update<'u>(a: &Array, update: impl Into<Operand<'u>>, indices: &[Index]) -> Array {
    let update = update.into();
    ok!(a, &update, indices);
    let selection = ok!(Selection::new("slice_update", a, indices));
    let update = value(update, a.dtype());
    if selection.arrays.is_empty() {
        let part = fitted(&update, selection.shape(&[]));
        let sizes: Shape = selection.spec.size.iter().copied().collect();
        return apply2(Op::SliceUpdate(Box::new(selection.spec)), a.clone(), shaped(&part, sizes));
    }
    if !composes() {
        return scatter(a, &update, indices, ScatterOp::Replace);
    }
    let places = index(&shaped(&counting(a.size()), a.shape_ref().clone()), indices);
    let part = fitted(&update, places.shape_ref().clone());
    let inputs: Inputs = smallvec![flat(a), flat(&places), flat(&part)];
    shaped(&Array::from_op(Op::PutAlongAxis { axis: 0 }, inputs), a.shape_ref().clone())
}

#[track_caller]
pub(super) fn fitted(update: &Array, part: Shape) -> Array {
    ok!(update);
    // Leading axes of size one are as good as none, as in an assignment.
    let extra = update.ndim().saturating_sub(part.len());
    let fits = update.shape()[..extra].iter().all(|&d| d == 1);
    let update = if fits { shaped(update, Shape::from(&update.shape()[extra..])) } else { update.clone() };
    match update.shape_ref().broadcast_for("slice_update", &part) {
        Ok(shape) if shape == part => broadcast_to(&update, part),
        _ => {
            let message = format!("the part to replace has shape {part}, the update {}", update.shape_ref());
            fail(Error::shape("slice_update", message))
        }
    }
}
