//! The one rule for what an operation accepts and what it returns. Nothing that passes it can fail for its shapes or
//! types when it runs, whoever made the operation: a function of this library, or a file.

use smallvec::SmallVec;

use super::infer_fused as fused;
use super::{BinaryOp, Count, Dims, Op, ReduceOp, SliceSpec, StridedSpec};
use crate::array::{Dtype, Shape};
use crate::error::{Error, Result};

/// The shape and element type of an input or a result.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Spec {
    /// Sizes of the axes.
    pub shape: Shape,
    /// Type of the elements.
    pub dtype: Dtype,
}

impl Spec {
    /// Bytes of all elements.
    pub fn nbytes(&self) -> usize {
        self.shape.elements() * self.dtype.size()
    }
}

/// The results of an operation, in order; mostly one.
pub type Specs = SmallVec<[Spec; 1]>;

pub(super) type Input<'a> = (&'a Shape, Dtype);

impl Op {
    /// The shapes and types of the results for these inputs: one for most operations.
    ///
    /// # Errors
    /// Whatever makes the operation impossible: number of inputs, shapes, types, axes, overflow of the size.
    pub fn infer(&self, inputs: &[(&Shape, Dtype)]) -> Result<Specs> {
        self.check_count(inputs.len())?;
        let specs = self.rule(inputs)?;
        debug_assert_eq!(specs.len(), self.results(), "{self:?}");
        for spec in &specs {
            spec.shape.check(self.name(), spec.dtype.size())?;
        }
        Ok(specs)
    }

    /// The shape and type of the one result.
    ///
    /// # Errors
    /// As [`infer`](Op::infer), and for operations that have several results.
    pub(crate) fn infer_one(&self, inputs: &[(&Shape, Dtype)]) -> Result<Spec> {
        let mut specs = self.infer(inputs)?;
        match (specs.pop(), specs.len()) {
            (Some(spec), 0) => Ok(spec),
            (_, more) => {
                let message = format!("makes {} arrays, where one was asked for", more + 1);
                Err(Error::argument(self.name(), message))
            }
        }
    }

    /// The result of the commonest case, an elementwise operation on arrays of one shape, found without further checks:
    /// what its inputs fit, the result fits.
    pub(crate) fn infer_alike(&self, inputs: &[(&Shape, Dtype)]) -> Option<Dtype> {
        let (compute, result) = match (self, inputs) {
            (Op::Binary(op), [a, b]) if a == b => (op.compute_dtype(a.1)?, op.result_dtype(a.1)),
            (Op::Unary(op), [a]) => (op.compute_dtype(a.1)?, op.result_dtype(a.1)),
            _ => return None,
        };
        let dtype = inputs[0].1;
        (compute == dtype && result.size() <= dtype.size()).then_some(result)
    }

    fn check_count(&self, count: usize) -> Result<()> {
        let (low, high) = match (self.describe().inputs, self) {
            (Count::Exactly(n), _) => (n, n),
            (Count::AtLeast(n), _) => (n, usize::MAX),
            (Count::Declared, Op::Custom(kernel)) => (kernel.inputs.len(), kernel.inputs.len()),
            (Count::Declared, other) => {
                return Err(Error::internal(other.name(), "only kernels of the user declare their inputs"));
            }
        };
        if (low..=high).contains(&count) {
            return Ok(());
        }
        let wanted = if high == usize::MAX { format!("at least {low}") } else { low.to_string() };
        Err(Error::argument(self.name(), format!("takes {wanted} arrays, not {count}")))
    }

    /// Operations with several results return their list; the others have one.
    fn rule(&self, inputs: &[Input]) -> Result<Specs> {
        let name = self.name();
        let (shape, dtype) = match self {
            Op::Divmod => {
                let quotient = binary(BinaryOp::FloorDivide, name, inputs[0], inputs[1])?;
                let remainder = binary(BinaryOp::Remainder, name, inputs[0], inputs[1])?;
                return Ok([quotient, remainder].map(spec).into_iter().collect());
            }
            Op::Custom(kernel) => {
                kernel.check()?;
                for (port, &(_, dtype)) in kernel.inputs.iter().zip(inputs) {
                    same_dtype(name, port.dtype, dtype)?;
                }
                let outputs = kernel.outputs.iter();
                return Ok(outputs.map(|(port, shape)| spec((shape.clone(), port.dtype))).collect());
            }
            Op::Linalg(op) => return op.rule(inputs),
            Op::Full { shape, dtype, .. } => Ok((shape.clone(), *dtype)),
            Op::Arange { len, dtype, .. } => match dtype {
                Dtype::Bool => Err(Error::dtype(name, "bool has no steps; use a number type")),
                _ => Ok((Shape::from(*len), *dtype)),
            },
            Op::Load(spec) => Ok((spec.shape.clone(), spec.dtype)),
            Op::RandomBits { shape, width } => random_bits(inputs[0], shape, *width),
            Op::Unary(op) => match op.compute_dtype(inputs[0].1) {
                Some(compute) if compute == inputs[0].1 => {
                    Ok((inputs[0].0.clone(), op.result_dtype(compute)))
                }
                Some(compute) => Err(Error::dtype(name, format!("needs {compute}, not {}", inputs[0].1))),
                None => Err(Error::dtype(name, format!("does not take {}", inputs[0].1))),
            },
            Op::Binary(op) => binary(*op, name, inputs[0], inputs[1]),
            Op::Select => {
                if inputs[0].1 != Dtype::Bool {
                    return Err(Error::dtype(
                        name,
                        format!("the condition must be bool, not {}", inputs[0].1),
                    ));
                }
                same_dtype(name, inputs[1].1, inputs[2].1)?;
                let shape = inputs[1].0.broadcast_for(name, inputs[2].0)?;
                Ok((shape.broadcast_for(name, inputs[0].0)?, inputs[1].1))
            }
            Op::Cast { dtype } => Ok((inputs[0].0.clone(), *dtype)),
            Op::Contiguous | Op::Depends | Op::StopGradient => Ok((inputs[0].0.clone(), inputs[0].1)),
            Op::Reshape { shape } => {
                if shape.elements() != inputs[0].0.elements() {
                    return Err(Error::shape(
                        name,
                        format!(
                            "cannot turn {} elements of shape {} into {} of shape {shape}",
                            inputs[0].0.elements(),
                            inputs[0].0,
                            shape.elements()
                        ),
                    ));
                }
                Ok((shape.clone(), inputs[0].1))
            }
            Op::Transpose { axes } => transpose(axes, inputs[0]),
            Op::Broadcast { shape } => {
                let (from, dtype) = inputs[0];
                match from.broadcast_for(name, shape) {
                    Ok(result) if result == *shape => Ok((result, dtype)),
                    _ => Err(Error::shape(name, format!("shape {from} cannot be broadcast to {shape}"))),
                }
            }
            Op::Slice(spec) => Ok((check_slice(name, spec, inputs[0].0)?, inputs[0].1)),
            Op::AsStrided(spec) => as_strided(spec, inputs[0]),
            Op::View { dtype } => view(*dtype, inputs[0]),
            Op::Concatenate { axis } => concatenate(*axis, inputs),
            Op::Pad { low, high } => pad(low, high, inputs[0], inputs[1]),
            Op::SliceUpdate(spec) => {
                let part = check_slice(name, spec, inputs[0].0)?;
                same_dtype(name, inputs[0].1, inputs[1].1)?;
                if part != *inputs[1].0 {
                    return Err(Error::shape(
                        name,
                        format!("the part to replace has shape {part}, the update {}", inputs[1].0),
                    ));
                }
                Ok((inputs[0].0.clone(), inputs[0].1))
            }
            Op::Take { axis } => {
                let ((x, dtype), (at, index)) = (inputs[0], inputs[1]);
                check_axis(name, *axis, x.len())?;
                check_index_dtype(name, index)?;
                check_gather_source(name, x, *axis, at.elements())?;
                let dims = x[..*axis].iter().chain(at.iter()).chain(&x[*axis + 1..]);
                Ok((dims.copied().collect(), dtype))
            }
            Op::Gather { axes } => {
                let (_, at) = gathered(name, axes, inputs)?;
                Ok((at, inputs[0].1))
            }
            Op::Scatter { axes, .. } => {
                let Some((updates, rest)) = inputs.split_last() else {
                    return Err(Error::argument(name, "takes at least 3 arrays, not 0"));
                };
                let (x, part) = gathered(name, axes, rest)?;
                same_dtype(name, inputs[0].1, updates.1)?;
                if part != *updates.0 {
                    let message = format!("the places have shape {part}, the updates {}", updates.0);
                    return Err(Error::shape(name, message));
                }
                Ok((x, inputs[0].1))
            }
            Op::TakeAlongAxis { axis } => {
                check_along(name, *axis, inputs[0].0, inputs[1])?;
                check_gather_source(name, inputs[0].0, *axis, inputs[1].0.elements())?;
                Ok((inputs[1].0.clone(), inputs[0].1))
            }
            Op::PutAlongAxis { axis } => {
                check_along(name, *axis, inputs[0].0, inputs[1])?;
                same_dtype(name, inputs[0].1, inputs[2].1)?;
                if inputs[1].0 != inputs[2].0 {
                    return Err(Error::shape(
                        name,
                        format!("indices have shape {}, values {}", inputs[1].0, inputs[2].0),
                    ));
                }
                check_gather_source(name, inputs[0].0, *axis, inputs[1].0.elements())?;
                Ok((inputs[0].0.clone(), inputs[0].1))
            }
            Op::Reduce { op, axes, keepdims } => reduce(name, *op, axes, *keepdims, inputs[0]),
            Op::ArgReduce { axis, keepdims, .. } => {
                let (shape, _) = inputs[0];
                check_axis(name, *axis, shape.len())?;
                if shape[*axis] == 0 {
                    return Err(Error::shape(name, format!("axis {axis} of shape {shape} has no elements")));
                }
                Ok((drop_axes(shape, &[*axis], *keepdims), Dtype::Uint32))
            }
            Op::Scan { axis, .. } => {
                check_axis(name, *axis, inputs[0].0.len())?;
                Ok((inputs[0].0.clone(), inputs[0].1))
            }
            Op::Softmax { axes, .. } => {
                check_axes(name, axes, inputs[0].0.len())?;
                if !inputs[0].1.is_floating() {
                    return Err(Error::dtype(name, format!("needs a floating type, not {}", inputs[0].1)));
                }
                Ok((inputs[0].0.clone(), inputs[0].1))
            }
            Op::Sort { axis } | Op::Argsort { axis } => {
                check_axis(name, *axis, inputs[0].0.len())?;
                let dtype = if matches!(self, Op::Sort { .. }) { inputs[0].1 } else { Dtype::Uint32 };
                Ok((inputs[0].0.clone(), dtype))
            }
            Op::SearchSorted { .. } => {
                let ((sequence, dtype), (values, other)) = (inputs[0], inputs[1]);
                same_dtype(name, dtype, other)?;
                if sequence.len() != 1 {
                    return Err(Error::shape(
                        name,
                        format!("the sorted sequence must have one axis, but its shape is {sequence}"),
                    ));
                }
                if u32::try_from(sequence[0]).is_err() {
                    return Err(Error::shape(name, format!("positions in {sequence} do not fit uint32")));
                }
                Ok((values.clone(), Dtype::Uint32))
            }
            Op::Fft(spec) => spec.rule(inputs[0]),
            Op::SegmentedMm => segmented(name, inputs),
            Op::Matmul => matmul(name, inputs[0], inputs[1]),
            Op::Conv(spec) => spec.infer(inputs[0], inputs[1]),
            Op::QuantizedMatmul { spec, transpose, gather } => {
                fused::quantized_matmul(spec, *transpose, *gather, inputs)
            }
            Op::Quantize { spec, part } => fused::quantize(spec, *part, inputs),
            Op::Dequantize { spec, dtype } => fused::dequantize(spec, *dtype, inputs),
            Op::Norm { kind, weight, bias, .. } => fused::norm(*kind, *weight, *bias, inputs),
            Op::NormBackward { kind, weight, .. } => fused::norm_backward(*kind, *weight, inputs),
            Op::Rope(spec) => fused::rope(spec, inputs),
            Op::CrossEntropy => fused::cross_entropy(false, inputs),
            Op::CrossEntropyBackward => fused::cross_entropy(true, inputs),
            Op::Attention(spec) => fused::attention(spec, inputs),
            Op::AttentionBackward { spec, mask_gradient } => {
                fused::attention_backward(spec, *mask_gradient, inputs)
            }
            Op::GatedDelta { mask } => fused::gated_delta(*mask, inputs),
            Op::Addmm { .. } => {
                let (shape, dtype) = matmul(name, inputs[1], inputs[2])?;
                same_dtype(name, inputs[0].1, dtype)?;
                match inputs[0].0.broadcast_for(name, &shape) {
                    Ok(result) if result == shape => Ok((shape, dtype)),
                    _ => {
                        let message = format!("c of shape {} cannot be broadcast to {shape}", inputs[0].0);
                        Err(Error::shape(name, message))
                    }
                }
            }
        }?;
        Ok(SmallVec::from_buf([Spec { shape, dtype }]))
    }
}

pub(super) fn same_dtype(name: &'static str, a: Dtype, b: Dtype) -> Result<()> {
    if a == b { Ok(()) } else { Err(Error::dtype(name, format!("element types {a} and {b} must be equal"))) }
}

fn check_axis(name: &'static str, axis: usize, ndim: usize) -> Result<()> {
    if axis < ndim { Ok(()) } else { Err(Error::Axis { function: name, axis: axis as i64, ndim }) }
}

fn check_axes(name: &'static str, axes: &[usize], ndim: usize) -> Result<()> {
    for &axis in axes {
        check_axis(name, axis, ndim)?;
    }
    match axes.windows(2).find(|w| w[0] >= w[1]) {
        None => Ok(()),
        Some(_) => Err(Error::argument(name, format!("axes {axes:?} must be ascending and different"))),
    }
}

fn check_index_dtype(name: &'static str, dtype: Dtype) -> Result<()> {
    if dtype.is_integer() {
        Ok(())
    } else {
        Err(Error::dtype(name, format!("indices must be integers, not {dtype}")))
    }
}

/// A non-empty result cannot be gathered from an axis without elements.
fn check_gather_source(name: &'static str, x: &Shape, axis: usize, indices: usize) -> Result<()> {
    if x[axis] == 0 && indices != 0 {
        return Err(Error::shape(name, format!("axis {axis} of shape {x} has no elements to index")));
    }
    Ok(())
}

fn random_bits((keys, dtype): Input, shape: &Shape, width: u8) -> Result<(Shape, Dtype)> {
    let name = "random_bits";
    if dtype != Dtype::Uint32 || keys.last() != Some(&2) {
        return Err(Error::argument(
            name,
            format!("keys must be uint32 of shape [..., 2], not {dtype} of {keys}"),
        ));
    }
    let dtype = match width {
        1 => Dtype::Uint8,
        2 => Dtype::Uint16,
        4 => Dtype::Uint32,
        _ => return Err(Error::argument(name, format!("width must be 1, 2 or 4 bytes, not {width}"))),
    };
    Ok((keys[..keys.len() - 1].iter().chain(shape.iter()).copied().collect(), dtype))
}

fn spec((shape, dtype): (Shape, Dtype)) -> Spec {
    Spec { shape, dtype }
}

fn binary(op: BinaryOp, name: &'static str, a: Input, b: Input) -> Result<(Shape, Dtype)> {
    same_dtype(name, a.1, b.1)?;
    match op.compute_dtype(a.1) {
        Some(compute) if compute == a.1 => Ok((a.0.broadcast_for(name, b.0)?, op.result_dtype(compute))),
        Some(compute) => Err(Error::dtype(name, format!("needs {compute}, not {}", a.1))),
        None => Err(Error::dtype(name, format!("does not take {}", a.1))),
    }
}

fn transpose(axes: &Dims, (shape, dtype): Input) -> Result<(Shape, Dtype)> {
    let mut sorted = axes.clone();
    sorted.sort_unstable();
    if !sorted.iter().copied().eq(0..shape.len()) {
        return Err(Error::argument(
            "transpose",
            format!("axes {axes:?} must name each of the {} axes of shape {shape} once", shape.len()),
        ));
    }
    Ok((axes.iter().map(|&a| shape[a]).collect(), dtype))
}

fn check_slice(name: &'static str, spec: &SliceSpec, shape: &Shape) -> Result<Shape> {
    let ndim = shape.len();
    if [spec.start.len(), spec.size.len(), spec.step.len()] != [ndim; 3] {
        return Err(Error::argument(name, format!("the slice must have {ndim} axes, as shape {shape} has")));
    }
    let empty = spec.size.contains(&0);
    for axis in 0..ndim {
        let (start, size, step, len) = (spec.start[axis], spec.size[axis], spec.step[axis], shape[axis]);
        if name == "slice_update" && step == 0 && size > 1 {
            return Err(Error::argument(
                name,
                format!("the step of axis {axis} is 0: positions must differ"),
            ));
        }
        if empty {
            // Nothing is read; positions still must not reach beyond the ends.
            if start > len {
                return Err(Error::Index { function: name, index: start as i64, axis, size: len });
            }
            continue;
        }
        let last = step.checked_mul((size - 1) as isize).and_then(|d| d.checked_add_unsigned(start));
        let inside = |p: isize| (0..len as isize).contains(&p);
        if !isize::try_from(size).is_ok_and(|_| last.is_some_and(inside)) || start >= len {
            let index = last.filter(|&p| !inside(p)).unwrap_or(start as isize) as i64;
            return Err(Error::Index { function: name, index, axis, size: len });
        }
    }
    Ok(spec.size.iter().copied().collect())
}

fn as_strided(spec: &StridedSpec, (shape, dtype): Input) -> Result<(Shape, Dtype)> {
    let name = "as_strided";
    if spec.shape.len() != spec.strides.len() {
        let message = format!(
            "shape {} has {} axes, strides have {}",
            spec.shape,
            spec.shape.len(),
            spec.strides.len()
        );
        return Err(Error::argument(name, message));
    }
    let (mut low, mut high) = (spec.offset as i128, spec.offset as i128);
    for (&d, &s) in spec.shape.iter().zip(&spec.strides) {
        let reach = (d.max(1) - 1) as i128 * s as i128;
        (low, high) = (low + reach.min(0), high + reach.max(0));
    }
    let count = shape.elements() as i128;
    let empty = spec.shape.elements() == 0;
    if if empty { spec.offset as i128 > count } else { low < 0 || high >= count } {
        return Err(Error::argument(
            name,
            format!("reads elements {low} to {high}, but the input has {count}"),
        ));
    }
    Ok((spec.shape.clone(), dtype))
}

fn view(to: Dtype, (shape, from): Input) -> Result<(Shape, Dtype)> {
    let (old, new) = (from.size(), to.size());
    let mut shape = shape.clone();
    match shape.as_mut_slice().last_mut() {
        _ if old == new => {}
        Some(last) if (*last * old).is_multiple_of(new) => *last = *last * old / new,
        _ => {
            let message = format!(
                "the last axis of shape {shape} does not hold whole {to} elements when read from {from}"
            );
            return Err(Error::shape("view", message));
        }
    }
    Ok((shape, to))
}

fn concatenate(axis: usize, inputs: &[Input]) -> Result<(Shape, Dtype)> {
    let name = "concatenate";
    let (first, dtype) = inputs[0];
    check_axis(name, axis, first.len())?;
    let mut shape = first.clone();
    for (other, other_dtype) in &inputs[1..] {
        same_dtype(name, dtype, *other_dtype)?;
        let fits = other.len() == first.len() && (0..first.len()).all(|i| i == axis || other[i] == first[i]);
        if !fits {
            let message = format!("shapes {first} and {other} differ outside axis {axis}");
            return Err(Error::shape(name, message));
        }
        shape.as_mut_slice()[axis] = shape[axis].saturating_add(other[axis]);
    }
    Ok((shape, dtype))
}

fn pad(low: &Dims, high: &Dims, (shape, dtype): Input, value: Input) -> Result<(Shape, Dtype)> {
    let name = "pad";
    same_dtype(name, dtype, value.1)?;
    if !value.0.is_empty() {
        return Err(Error::shape(
            name,
            format!("the value must be a single element, not of shape {}", value.0),
        ));
    }
    if low.len() != shape.len() || high.len() != shape.len() {
        return Err(Error::argument(name, format!("needs one width per axis of shape {shape}")));
    }
    let dims = shape.iter().zip(low).zip(high);
    Ok((dims.map(|((&d, &l), &h)| d.saturating_add(l).saturating_add(h)).collect(), dtype))
}

/// The shape of `x`, and of what index arrays select from it: their axes, then all axes that none of them is for.
fn gathered(name: &'static str, axes: &Dims, inputs: &[Input]) -> Result<(Shape, Shape)> {
    let [(x, _), indices @ ..] = inputs else {
        return Err(Error::argument(name, "takes an array and its indices"));
    };
    check_axes(name, axes, x.len())?;
    if axes.is_empty() || indices.len() != axes.len() {
        let message =
            format!("axes {axes:?} need as many arrays of indices, one at least, not {}", indices.len());
        return Err(Error::argument(name, message));
    }
    for (&axis, (at, dtype)) in axes.iter().zip(indices) {
        check_index_dtype(name, *dtype)?;
        if *at != indices[0].0 {
            let message = format!("indices must have one shape, not {} and {at}", indices[0].0);
            return Err(Error::shape(name, message));
        }
        check_gather_source(name, x, axis, at.elements())?;
    }
    let others = x.iter().enumerate().filter(|(i, _)| !axes.contains(i)).map(|(_, &d)| d);
    Ok(((*x).clone(), indices[0].0.iter().copied().chain(others).collect()))
}

fn check_along(name: &'static str, axis: usize, x: &Shape, (indices, dtype): Input) -> Result<()> {
    check_axis(name, axis, x.len())?;
    check_index_dtype(name, dtype)?;
    if indices.len() != x.len() || (0..x.len()).any(|i| i != axis && indices[i] != x[i]) {
        return Err(Error::shape(
            name,
            format!("indices of shape {indices} must match {x} outside axis {axis}"),
        ));
    }
    Ok(())
}

fn drop_axes(shape: &Shape, axes: &[usize], keepdims: bool) -> Shape {
    let kept = |(i, &d): (usize, &usize)| match (axes.contains(&i), keepdims) {
        (false, _) => Some(d),
        (true, true) => Some(1),
        (true, false) => None,
    };
    shape.iter().enumerate().filter_map(kept).collect()
}

fn reduce(
    name: &'static str,
    op: ReduceOp,
    axes: &Dims,
    keepdims: bool,
    input: Input,
) -> Result<(Shape, Dtype)> {
    let (shape, dtype) = input;
    check_axes(name, axes, shape.len())?;
    let dtype = match op {
        // Small integers would overflow at once; MLX sums them as 32-bit ones.
        ReduceOp::Sum | ReduceOp::Prod => match dtype {
            Dtype::Bool | Dtype::Int8 | Dtype::Int16 => Dtype::Int32,
            Dtype::Uint8 | Dtype::Uint16 => Dtype::Uint32,
            other => other,
        },
        ReduceOp::Max | ReduceOp::Min => {
            // Also where no result would have to be found: whether it is an error does not depend on the other axes.
            if axes.iter().any(|&a| shape[a] == 0) {
                return Err(Error::shape(name, format!("shape {shape} has no elements along axes {axes:?}")));
            }
            dtype
        }
        ReduceOp::All | ReduceOp::Any => Dtype::Bool,
        ReduceOp::Logsumexp if !dtype.is_inexact() => {
            return Err(Error::dtype(name, format!("needs a floating or complex type, not {dtype}")));
        }
        ReduceOp::Logsumexp => dtype,
    };
    Ok((drop_axes(shape, axes, keepdims), dtype))
}

fn matmul(name: &'static str, (a, a_dtype): Input, (b, b_dtype): Input) -> Result<(Shape, Dtype)> {
    same_dtype(name, a_dtype, b_dtype)?;
    if !a_dtype.is_inexact() {
        return Err(Error::dtype(name, format!("needs a floating or complex type, not {a_dtype}")));
    }
    let (n, m) = (a.len(), b.len());
    if n < 2 || m < 2 {
        return Err(Error::shape(name, format!("needs two or more axes on each side (shapes {a} and {b})")));
    }
    if a[n - 1] != b[m - 2] {
        return Err(Error::shape(
            name,
            format!(
                "the last axis of a is {} and the second-to-last of b is {}; they must be equal (shapes {a} and {b})",
                a[n - 1],
                b[m - 2]
            ),
        ));
    }
    let mut shape = Shape::from(&a[..n - 2]).broadcast_for(name, &Shape::from(&b[..m - 2]))?;
    shape.push(a[n - 2]);
    shape.push(b[m - 1]);
    Ok((shape, a_dtype))
}

fn segmented(name: &'static str, inputs: &[Input]) -> Result<(Shape, Dtype)> {
    let (segments, index) = inputs[2];
    let (product, dtype) = matmul(name, inputs[0], inputs[1])?;
    if product.len() != 2 || inputs[0].0.len() != 2 || !dtype.is_floating() {
        let message =
            format!("needs two matrices of a floating type, not {} and {}", inputs[0].0, inputs[1].0);
        return Err(Error::shape(name, message));
    }
    if !index.is_integer() {
        return Err(Error::dtype(name, format!("segments must be integers, not {index}")));
    }
    if segments.last() != Some(&2) {
        return Err(Error::shape(name, format!("segments must have shape [..., 2], not {segments}")));
    }
    Ok((segments[..segments.len() - 1].iter().chain(product.iter()).copied().collect(), dtype))
}
