//! Operations computed in one go although they could be written with others: less memory is read and written, and what a
//! gradient needs is kept in a small form.

use smallvec::smallvec;

use super::creation::zeros;
use super::shape::broadcast_to;
use super::{cast, shaped, slice_axis};
use crate::array::{Array, Dtype, Inputs, Shape, fail, ok};
use crate::error::{Error, Result};
use crate::op::{AttentionSpec, Float, NormKind, Op, RopeSpec};

#[track_caller]
fn norm(kind: NormKind, x: &Array, weight: Option<&Array>, bias: Option<&Array>, eps: f64) -> Array {
    ok!(x);
    ok!(weight);
    ok!(bias);
    let dtype = weight.map_or(x.dtype(), |w| x.dtype().promote(w.dtype()));
    let mut inputs: Inputs = smallvec![cast(x, dtype)];
    inputs.extend(weight.into_iter().chain(bias).map(|a| cast(a, dtype)));
    let op = Op::Norm { kind, weight: weight.is_some(), bias: bias.is_some(), eps: Float(eps) };
    Array::from_op(op, inputs)
}

/// Layer normalisation of the last axis: `(x − mean) / √(variance + eps)`, times `weight`, plus `bias`.
///
/// ```
/// use pellucid::{Array, fast};
/// # fn main() -> pellucid::Result<()> {
/// let x = Array::from([[1.0f32, 3.0], [0.0, 8.0]]);
/// assert_eq!(fast::layer_norm(&x, None, None, 0.0).to_vec::<f32>()?, [-1.0, 1.0, -1.0, 1.0]);
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// [`Error::Shape`] if there is no axis or weight and bias are not as long as the last one, [`Error::Dtype`] if the type
/// is not floating.
#[track_caller]
pub fn layer_norm(x: &Array, weight: Option<&Array>, bias: Option<&Array>, eps: f64) -> Array {
    norm(NormKind::Layer, x, weight, bias, eps)
}

/// Root-mean-square normalisation of the last axis: `x / √(mean(x²) + eps)`, times `weight`.
///
/// ```
/// use pellucid::prelude::*;
/// use pellucid::fast;
/// assert_eq!(fast::rms_norm(&array![[2.0, 2.0]], None, 0.0).to_vec::<f32>().unwrap(), [1.0, 1.0]);
/// ```
///
/// # Errors
/// As [`layer_norm`].
#[track_caller]
pub fn rms_norm(x: &Array, weight: Option<&Array>, eps: f64) -> Array {
    norm(NormKind::Rms, x, weight, None, eps)
}

/// A rotary position encoding: which features turn, and how fast.
#[derive(Clone, Debug)]
pub struct Rope {
    dims: i64,
    traditional: bool,
    base: Option<f64>,
    scale: f64,
    offset: Array,
    freqs: Option<Array>,
}

impl Rope {
    /// Turns the first `dims` features: pairs half of them apart, with base 10,000, from position zero on.
    pub fn new(dims: i64) -> Rope {
        Rope {
            dims,
            traditional: false,
            base: Some(10_000.0),
            scale: 1.0,
            offset: Array::from(0i32),
            freqs: None,
        }
    }

    /// Whether neighbours are pairs.
    #[must_use]
    pub fn traditional(self, traditional: bool) -> Rope {
        Rope { traditional, ..self }
    }

    /// The base of the periods; `None` if they are given with [`freqs`](Rope::freqs).
    #[must_use]
    pub fn base(self, base: impl Into<Option<f64>>) -> Rope {
        Rope { base: base.into(), ..self }
    }

    /// What positions are multiplied by.
    #[must_use]
    pub fn scale(self, scale: f64) -> Rope {
        Rope { scale, ..self }
    }

    /// The first position: an integer, or one for each row of the batch.
    #[must_use]
    pub fn offset(self, offset: impl Into<Array>) -> Rope {
        Rope { offset: offset.into(), ..self }
    }

    /// The period of each pair, instead of a base.
    #[must_use]
    pub fn freqs(self, freqs: impl Into<Option<Array>>) -> Rope {
        Rope { freqs: freqs.into(), ..self }
    }

    fn spec(&self) -> Result<RopeSpec> {
        let name = "rope";
        if self.base.is_some() == self.freqs.is_some() {
            let which = if self.freqs.is_some() { "both" } else { "neither" };
            return Err(Error::argument(name, format!("needs either a base or freqs, not {which}")));
        }
        let dims = usize::try_from(self.dims)
            .map_err(|_| Error::argument(name, format!("dims must be positive, not {}", self.dims)))?;
        Ok(RopeSpec {
            dims,
            traditional: self.traditional,
            base: self.base.map(Float),
            scale: Float(self.scale),
            inverse: false,
        })
    }
}

/// Rotary position encoding of `x [B, …, T, D]`.
///
/// ```
/// use pellucid::{Array, fast, fast::Rope, ops};
/// # fn main() -> pellucid::Result<()> {
/// let x = ops::ones([1, 2, 4], pellucid::Dtype::Float32);
/// let turned = fast::rope(&x, &Rope::new(4).offset(7));
/// assert_eq!(turned.shape(), [1, 2, 4]);
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// [`Error::Shape`], [`Error::Argument`] or [`Error::Dtype`] if `x`, the number of features, the offset or the periods
/// do not fit each other.
#[track_caller]
pub fn rope(x: &Array, rope: &Rope) -> Array {
    ok!(x, &rope.offset);
    ok!(rope.freqs.as_ref());
    let spec = ok!(rope.spec());
    let mut inputs: Inputs = smallvec![x.clone(), rope.offset.clone()];
    inputs.extend(rope.freqs.clone());
    Array::from_op(Op::Rope(spec), inputs)
}

/// What keeps queries from keys in [`scaled_dot_product_attention`].
#[derive(Clone, Debug, Default)]
pub enum Mask {
    /// Every query sees every key.
    #[default]
    None,
    /// A query sees no key beyond its own position; the last query is at the last key.
    Causal,
    /// True where a query sees a key, or numbers that are added to the scores; broadcast to `[B, N, T, S]`.
    Array(Array),
}

/// Attention `softmax(scale · q @ kᵀ + mask) @ v` of `q [B, N, T, D]` to `k [B, M, S, D]` and `v [B, M, S, E]`, where
/// groups of `N / M` heads of queries share keys and values. `sinks` has one score for each head of queries that takes
/// part in the softmax and has no value.
///
/// The scores are never kept: memory grows with the sum of the lengths, not with their product.
///
/// ```
/// use pellucid::{Dtype, fast, fast::Mask, ops};
/// # fn main() -> pellucid::Result<()> {
/// let (q, kv) = (ops::ones([1, 4, 3, 8], Dtype::Float32), ops::ones([1, 2, 5, 8], Dtype::Float32));
/// let seen = fast::scaled_dot_product_attention(&q, &kv, &kv, 0.5, Mask::Causal, None);
/// assert_eq!(seen.to_vec::<f32>()?, [1.0; 96]);
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// [`Error::Shape`] if the shapes do not fit, [`Error::Dtype`] if the types are not floating or the mask or the sinks do
/// not promote to theirs.
#[track_caller]
pub fn scaled_dot_product_attention(
    q: &Array,
    k: &Array,
    v: &Array,
    scale: f64,
    mask: Mask,
    sinks: Option<&Array>,
) -> Array {
    let name = "scaled_dot_product_attention";
    ok!(q, k, v);
    ok!(sinks);
    let dtype = q.dtype().promote(k.dtype()).promote(v.dtype());
    let mut inputs: Inputs = smallvec![cast(q, dtype), cast(k, dtype), cast(v, dtype)];
    let mut spec = AttentionSpec { scale: Float(scale), causal: false, mask: false, sinks: sinks.is_some() };
    match &mask {
        Mask::None => {}
        Mask::Causal => spec.causal = true,
        Mask::Array(mask) => {
            ok!(mask);
            if q.ndim() == 4 && k.ndim() == 4 {
                inputs.push(ok!(whole_mask(mask, q, k, dtype)));
                spec.mask = true;
            }
        }
    }
    if let Some(sinks) = sinks {
        if sinks.dtype().promote(dtype) != dtype {
            return fail(Error::dtype(name, format!("sinks of {} do not promote to {dtype}", sinks.dtype())));
        }
        inputs.push(cast(sinks, dtype));
    }
    let made = Array::from_op(Op::Attention(spec), inputs);
    ok!(&made);
    let shape = Shape::from([q.shape()[0], q.shape()[1], q.shape()[2], v.shape()[3]]);
    cast(&part(&made, 0, shape), dtype)
}

/// Elements from `start` on of a flat array, in a shape.
#[track_caller]
pub(crate) fn part(flat: &Array, start: usize, shape: Shape) -> Array {
    shaped(&slice_axis(flat, 0, start, shape.elements(), 1), shape)
}

/// A mask as attention takes it: bool or the type of the queries, with all axes, repeated without copying.
#[track_caller]
fn whole_mask(mask: &Array, q: &Array, k: &Array, dtype: Dtype) -> Result<Array> {
    let name = "scaled_dot_product_attention";
    if mask.dtype() != Dtype::Bool && mask.dtype().promote(dtype) != dtype {
        return Err(Error::dtype(name, format!("a mask of {} does not promote to {dtype}", mask.dtype())));
    }
    let whole = Shape::from([q.shape()[0], q.shape()[1], q.shape()[2], k.shape()[2]]);
    if mask.shape_ref().broadcast_for(name, &whole)? != whole {
        let message = format!("a mask of shape {} does not broadcast to {whole}", mask.shape_ref());
        return Err(Error::shape(name, message));
    }
    let mask = if mask.dtype() == Dtype::Bool { mask.clone() } else { cast(mask, dtype) };
    Ok(broadcast_to(&mask, &whole))
}

/// Cross entropy of logits over the last axis with class indices: `logsumexp(logits) − logits[target]`, as `float32`.
///
/// ```
/// use pellucid::{Array, fast};
/// # fn main() -> pellucid::Result<()> {
/// let loss = fast::cross_entropy(&Array::from([[0.0f32, 0.0]]), &Array::from([1]));
/// assert!((loss.item::<f32>()? - 2f32.ln()).abs() < 1e-6);
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// [`Error::Shape`] if targets are not logits without their last axis, [`Error::Dtype`] if logits are not floating or
/// targets no integers. A target that is no class fails when it runs.
#[track_caller]
pub fn cross_entropy(logits: &Array, targets: &Array) -> Array {
    ok!(logits, targets);
    let loss = super::apply2(Op::CrossEntropy, logits.clone(), targets.clone());
    cast(&loss, Dtype::Float32)
}

/// The gated delta rule over `T` steps: the state `[B, Hv, Dv, Dk]` decays by `gamma`, is corrected by `beta` towards
/// `v` under `k`, and is read by `q`. Returns the readings `[B, T, Hv, Dv]` and the last state. Steps that `mask [B, T]`
/// leaves out read zero and leave the state as it is.
///
/// ```
/// use pellucid::prelude::*;
/// use pellucid::fast;
/// let (q, v, gate) = (Array::ones((1, 2, 1, 4)), Array::ones((1, 2, 1, 3)), Array::ones((1, 2, 1)));
/// let (read, state) = fast::gated_delta_update([&q, &q, &v, &gate, &gate], None, None);
/// assert_eq!((read.shape(), state.shape()), (&[1, 2, 1, 3][..], &[1, 1, 3, 4][..]));
/// ```
///
/// # Errors
/// [`Error::Shape`] if the shapes do not fit, [`Error::Dtype`] if a type is not floating.
#[track_caller]
pub fn gated_delta_update(
    [q, k, v, gamma, beta]: [&Array; 5],
    state: Option<&Array>,
    mask: Option<&Array>,
) -> (Array, Array) {
    ok!(q, k, v, gamma, beta);
    ok!(state);
    ok!(mask);
    if q.ndim() != 4 || k.ndim() != 4 || v.ndim() != 4 {
        let message = format!(
            "q, k and v need four axes, not shapes {}, {} and {}",
            q.shape_ref(),
            k.shape_ref(),
            v.shape_ref()
        );
        return fail(Error::shape("gated_delta_update", message));
    }
    let whole = [v.shape()[0], v.shape()[2], v.shape()[3], k.shape()[3]];
    let state = state.map_or_else(|| zeros(whole, Dtype::Float32), |state| cast(state, Dtype::Float32));
    let mut inputs: Inputs = [q, k, v, gamma, beta].into_iter().cloned().collect();
    inputs.push(state);
    inputs.extend(mask.map(|mask| cast(mask, Dtype::Bool)));
    let made = Array::from_op(Op::GatedDelta { mask: mask.is_some() }, inputs);
    ok!(&made);
    let readings = cast(&part(&made, 0, v.shape_ref().clone()), v.dtype());
    (readings, part(&made, v.size(), Shape::from(whole)))
}
