//! `pellucid.core.fast`: what models do all the time, computed in one go.

use pellucid::Array;
use pellucid::fast::{self, Mask, Rope};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyString;

use super::shape::argument;
use crate::args::{Arr, Int};

/// The first position: an integer, or an array.
struct Offset(Array);

impl<'py> FromPyObject<'_, 'py> for Offset {
    type Error = PyErr;

    fn extract(obj: Borrowed<'_, 'py, PyAny>) -> PyResult<Offset> {
        if let Ok(array) = obj.extract::<Arr>() {
            return Ok(Offset(array.0));
        }
        let Int(value) = obj.extract()?;
        let offset = i32::try_from(value)
            .map_err(|_| PyValueError::new_err(format!("[rope] the offset {value} does not fit 32 bits")))?;
        Ok(Offset(Array::from(offset)))
    }
}

/// `"causal"`, or an array.
enum Masked {
    Named(String),
    Array(Array),
}

impl<'py> FromPyObject<'_, 'py> for Masked {
    type Error = PyErr;

    fn extract(obj: Borrowed<'_, 'py, PyAny>) -> PyResult<Masked> {
        if obj.is_instance_of::<PyString>() {
            return Ok(Masked::Named(obj.extract()?));
        }
        obj.extract::<Arr>().map(|array| Masked::Array(array.0)).map_err(|_| {
            PyTypeError::new_err("[scaled_dot_product_attention] the mask is None, \"causal\" or an array")
        })
    }
}

fn mask(given: Option<Masked>) -> pellucid::Result<Mask> {
    Ok(match given {
        None => Mask::None,
        Some(Masked::Array(array)) => Mask::Array(array),
        Some(Masked::Named(name)) if name == "causal" => Mask::Causal,
        Some(Masked::Named(name)) => {
            let message = format!("the mask is an array or \"causal\", not {name:?}");
            return Err(argument("scaled_dot_product_attention", message));
        }
    })
}

mod table {
    use super::*;

    crate::ops::functions! {
        layer_norm(x, weight, bias, eps, *, stream = None) [x: Arr, weight: Option<Arr>, bias: Option<Arr>, eps: f64]
            "(x: array, weight: array | None, bias: array | None, eps: float, *, stream: StreamOrDevice = None)" "array"
            "Normalises the last axis to mean zero and variance one, then scales and shifts."
            => fast::layer_norm(&x, weight.as_deref(), bias.as_deref(), eps);
        rms_norm(x, weight, eps, *, stream = None) [x: Arr, weight: Option<Arr>, eps: f64]
            "(x: array, weight: array | None, eps: float, *, stream: StreamOrDevice = None)" "array"
            "Divides the last axis by the root of its mean square, then scales."
            => fast::rms_norm(&x, weight.as_deref(), eps);
        rope(a, dims, *, traditional, base, scale, offset, freqs = None, stream = None)
            [a: Arr, dims: Int, traditional: bool, base: Option<f64>, scale: f64, offset: Offset, freqs: Option<Arr>]
            "(a: array, dims: int, *, traditional: bool, base: float | None, scale: float, offset: int | array, freqs: array | None = None, stream: StreamOrDevice = None)" "array"
            "Rotary position encoding."
            => {
                let rope = Rope::new(dims.0).traditional(traditional).base(base).scale(scale).offset(offset.0);
                fast::rope(&a, &rope.freqs(freqs.map(|freqs| freqs.0)))
            };
        scaled_dot_product_attention(q, k, v, *, scale, mask = None, sinks = None, force_fused = false, stream = None)
            [q: Arr, k: Arr, v: Arr, scale: f64, mask: Option<Masked>, sinks: Option<Arr>, force_fused: bool]
            "(q: array, k: array, v: array, *, scale: float, mask: None | str | array = None, sinks: array | None = None, force_fused: bool = False, stream: StreamOrDevice = None)" "array"
            "Attention without keeping its scores: softmax(scale * q @ k.T + mask) @ v."
            => {
                // The kernel is always the fused one.
                let _ = force_fused;
                self::mask(mask).map(|mask| fast::scaled_dot_product_attention(&q, &k, &v, scale, mask, sinks.as_deref()))
            };
        cross_entropy(logits, targets, *, stream = None) [logits: Arr, targets: Arr]
            "(logits: array, targets: array, *, stream: StreamOrDevice = None)" "array"
            "Cross entropy of logits with class indices, over the last axis."
            => fast::cross_entropy(&logits, &targets);
        gated_delta_update(q, k, v, gamma, beta, initial_state = None, mask = None, stream = None)
            [q: Arr, k: Arr, v: Arr, gamma: Arr, beta: Arr, initial_state: Option<Arr>, mask: Option<Arr>]
            "(q: array, k: array, v: array, gamma: array, beta: array, initial_state: array | None = None, mask: array | None = None, stream: StreamOrDevice = None)" "list[array]"
            "The gated delta rule over all steps: readings and the last state."
            => {
                let (readings, state) = fast::gated_delta_update([&q, &k, &v, &gamma, &beta], initial_state.as_deref(), mask.as_deref());
                vec![readings, state]
            };
    }
}

pub fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    let fast = crate::submodule(m, "fast", "What models do all the time, computed in one go.")?;
    table::register(&fast)?;
    super::kernels::register(&fast)
}
