//! Numbers packed into few bits, and products with them.

use smallvec::smallvec;

use super::shape::{broadcast_to, expand_dims};
use super::{cast, shaped};
use crate::array::{Array, Dtype, Inputs, Shape, fail, ok};
use crate::error::{Error, Result};
use crate::op::{Op, QuantMode, QuantPart, QuantSpec};

/// How numbers are packed: a mode, and what differs from its defaults.
///
/// ```
/// use pellucid::ops::Packing;
/// let three_bits = Packing::affine().bits(3).group_size(32);
/// # let _ = three_bits;
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packing {
    mode: QuantMode,
    bits: Option<i64>,
    group: Option<i64>,
}

impl Packing {
    /// This mode with its usual bits and groups.
    pub fn new(mode: QuantMode) -> Packing {
        Packing { mode, bits: None, group: None }
    }

    /// Whole numbers of four bits, with a scale and a bias for each 64.
    pub fn affine() -> Packing {
        Packing::new(QuantMode::Affine)
    }

    /// Bits of a number.
    #[must_use]
    pub fn bits(self, bits: impl Into<Option<i64>>) -> Packing {
        Packing { bits: bits.into(), ..self }
    }

    /// Numbers that share a scale.
    #[must_use]
    pub fn group_size(self, group: impl Into<Option<i64>>) -> Packing {
        Packing { group: group.into(), ..self }
    }

    pub(crate) fn spec(self, function: &'static str) -> Result<QuantSpec> {
        let (group, bits) = self.mode.defaults();
        let given =
            |value: Option<i64>, usual: usize| usize::try_from(value.unwrap_or(usual as i64)).unwrap_or(0);
        let bits = u8::try_from(given(self.bits, bits as usize)).unwrap_or(0);
        let spec = QuantSpec { mode: self.mode, bits, group: given(self.group, group) };
        spec.check(function)?;
        Ok(spec)
    }
}

/// What [`quantize`] returns: packed words, scales, and biases in mode affine.
#[derive(Clone, Debug)]
pub struct Quantized {
    /// Codes, packed into `uint32` along the last axis.
    pub words: Array,
    /// One for each group.
    pub scales: Array,
    /// One for each group; none but in mode affine.
    pub biases: Option<Array>,
}

/// Packs an array along its last axis. The bytes are those of MLX.
///
/// ```
/// use pellucid::{Array, ops, ops::Packing};
/// # fn main() -> pellucid::Result<()> {
/// let w = ops::reshape(&ops::arange(0.0, 64.0, 1.0, None), [2, 32]);
/// let packed = ops::quantize(&w, Packing::affine().group_size(32).bits(8), None);
/// assert_eq!(packed.words.shape(), [2, 8]);
/// let back = ops::dequantize(&packed, Packing::affine().group_size(32).bits(8), None, None);
/// assert!(ops::allclose(&w, &back, 1e-5, 1e-1, false).item::<bool>()?);
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// [`Error::Argument`] if the mode has no such bits or groups, [`Error::Shape`] if the last axis is no multiple of the
/// group, [`Error::Dtype`] if the type is not `float32`, `float16` or `bfloat16`.
#[track_caller]
pub fn quantize(w: &Array, packing: Packing, global_scale: Option<&Array>) -> Quantized {
    let part = |part: QuantPart| -> Array {
        ok!(w);
        ok!(global_scale);
        let spec = ok!(packing.spec("quantize"));
        let mut inputs: Inputs = smallvec![w.clone()];
        inputs.extend(global_scale.cloned());
        Array::from_op(Op::Quantize { spec, part }, inputs)
    };
    let biases = (packing.mode == QuantMode::Affine).then(|| part(QuantPart::Biases));
    Quantized { words: part(QuantPart::Words), scales: part(QuantPart::Scales), biases }
}

/// The numbers that packed ones stand for, as `dtype`: the type of the scales in mode affine if it is not given, else
/// `bfloat16`.
///
/// ```
/// use pellucid::prelude::*;
/// let packing = ops::Packing::affine();
/// let packed = ops::quantize(&Array::ones((2, 64)), packing, None);
/// assert!(ops::allclose(&ops::dequantize(&packed, packing, None, None), 1.0, 1e-5, 1e-6, false).item::<bool>().unwrap());
/// ```
///
/// # Errors
/// As [`quantize`]; [`Error::Shape`] if words and scales do not fit, [`Error::Dtype`] if `dtype` is not floating.
#[track_caller]
pub fn dequantize(
    packed: &Quantized,
    packing: Packing,
    global_scale: Option<&Array>,
    dtype: Option<Dtype>,
) -> Array {
    ok!(&packed.words, &packed.scales);
    ok!(packed.biases.as_ref());
    ok!(global_scale);
    let spec = ok!(packing.spec("dequantize"));
    let natural = match packed.scales.dtype() {
        scales if spec.mode == QuantMode::Affine => scales,
        _ => Dtype::Bfloat16,
    };
    let mut inputs = packed.inputs();
    inputs.extend(global_scale.cloned());
    let dtype = dtype.unwrap_or(natural);
    if !dtype.is_floating() {
        return fail(Error::dtype("dequantize", format!("the numbers have a floating type, not {dtype}")));
    }
    // The numbers have no more digits than float32 has.
    let made = if dtype == Dtype::Float64 { Dtype::Float32 } else { dtype };
    cast(&Array::from_op(Op::Dequantize { spec, dtype: made }, inputs), dtype)
}

impl Quantized {
    fn inputs(&self) -> Inputs {
        let mut inputs: Inputs = smallvec![self.words.clone(), self.scales.clone()];
        inputs.extend(self.biases.clone());
        inputs
    }

    /// With scales and biases in the type of a product.
    #[track_caller]
    fn converted(&self, dtype: Dtype) -> Quantized {
        let scales = if self.biases.is_some() { cast(&self.scales, dtype) } else { self.scales.clone() };
        let biases = self.biases.as_ref().map(|b| cast(b, dtype));
        Quantized { words: self.words.clone(), scales, biases }
    }

    /// The type of a product with `x`.
    fn product_dtype(&self, function: &'static str, x: &Array) -> Result<Dtype> {
        let mut dtype = x.dtype();
        if let Some(biases) = &self.biases {
            dtype = dtype.promote(self.scales.dtype()).promote(biases.dtype());
        }
        if !dtype.is_floating() {
            return Err(Error::dtype(function, format!("needs a floating type, not {dtype}")));
        }
        Ok(dtype)
    }
}

/// `x @ wᵀ`, or `x @ w` without `transpose`, with a packed `w` that is read once and never unpacked as a whole.
///
/// ```
/// use pellucid::prelude::*;
/// let packing = ops::Packing::affine();
/// let w = ops::quantize(&Array::ones((2, 64)), packing, None);
/// assert!(ops::allclose(&ops::quantized_matmul(&Array::ones((1, 64)), &w, true, packing), 64.0, 1e-5, 1e-6, false).item::<bool>().unwrap());
/// ```
///
/// # Errors
/// As [`dequantize`]; [`Error::Shape`] if `x` and `w` do not fit.
#[track_caller]
pub fn quantized_matmul(x: &Array, w: &Quantized, transpose: bool, packing: Packing) -> Array {
    let name = "quantized_matmul";
    ok!(x, &w.words, &w.scales);
    ok!(w.biases.as_ref());
    let spec = ok!(packing.spec(name));
    let dtype = ok!(w.product_dtype(name, x));
    let row = x.ndim() == 1;
    let left = if row { expand_dims(x, [0]) } else { x.clone() };
    let mut inputs: Inputs = smallvec![cast(&left, dtype)];
    inputs.extend(w.converted(dtype).inputs());
    let product = Array::from_op(Op::QuantizedMatmul { spec, transpose, gather: false }, inputs);
    if !row {
        return product;
    }
    ok!(&product);
    let mut shape = product.shape_ref().clone();
    shape.remove(shape.len() - 2);
    shaped(&product, shape)
}

/// As [`quantized_matmul`], with matrices of `x` and `w` that indices choose: flat numbers over their leading axes. What
/// is not given counts all matrices in order.
///
/// ```
/// use pellucid::prelude::*;
/// let packing = ops::Packing::affine();
/// let w = ops::quantize(&Array::ones((3, 2, 64)), packing, None);
/// let chosen = array![2u32];
/// let y = ops::gather_qmm(&Array::ones((1, 1, 64)), &w, None, Some(&chosen), true, packing, None);
/// assert_eq!(y.shape(), [1, 1, 2]);
/// ```
///
/// # Errors
/// As [`quantized_matmul`]; an index out of range fails when it runs.
#[track_caller]
pub fn gather_qmm(
    x: &Array,
    w: &Quantized,
    lhs_indices: Option<&Array>,
    rhs_indices: Option<&Array>,
    transpose: bool,
    packing: Packing,
    global_scale: Option<&Array>,
) -> Array {
    let name = "gather_qmm";
    ok!(x, &w.words, &w.scales);
    ok!(w.biases.as_ref());
    let x = &ok!(globally_scaled(name, x, packing, global_scale));
    if lhs_indices.is_none() && rhs_indices.is_none() {
        return quantized_matmul(x, w, transpose, packing);
    }
    let spec = ok!(packing.spec(name));
    let dtype = ok!(w.product_dtype(name, x));
    if x.ndim() < 2 || w.words.ndim() < 2 {
        let message = format!(
            "needs two or more axes on each side (shapes {} and {})",
            x.shape_ref(),
            w.words.shape_ref()
        );
        return fail(Error::shape(name, message));
    }
    let left = lhs_indices.cloned().unwrap_or_else(|| numbers(&x.shape()[..x.ndim() - 2]));
    let right = rhs_indices.cloned().unwrap_or_else(|| numbers(&w.words.shape()[..w.words.ndim() - 2]));
    ok!(&left, &right);
    let shape = ok!(left.shape_ref().broadcast_for(name, right.shape_ref()));
    let (left, right) = (broadcast_to(&left, &shape), broadcast_to(&right, &shape));
    let mut inputs: Inputs = smallvec![cast(x, dtype)];
    inputs.extend(w.converted(dtype).inputs());
    inputs.extend([left, right]);
    Array::from_op(Op::QuantizedMatmul { spec, transpose, gather: true }, inputs)
}

/// The flat numbers of all matrices of a batch, in its shape.
#[track_caller]
fn numbers(batch: &[usize]) -> Array {
    let count: usize = batch.iter().product();
    let op = Op::Arange { start: 0i64.into(), step: 1i64.into(), len: count, dtype: Dtype::Uint32 };
    shaped(&Array::from_op(op, Inputs::new()), Shape::from(batch))
}

/// Both factors packed: `x` is rounded to what its packed form stands for, and multiplied by the packed `w`. A `w` that
/// is not packed yet is packed first.
///
/// ```
/// use pellucid::prelude::*;
/// use pellucid::op::QuantMode;
/// let w = ops::Weights::Plain(Array::ones((2, 64)));
/// let y = ops::qqmm(&Array::ones((1, 64)), &w, ops::Packing::new(QuantMode::Mxfp8), [None, None]);
/// assert!(ops::allclose(&y, 64.0, 1e-5, 1e-6, false).item::<bool>().unwrap());
/// ```
///
/// # Errors
/// As [`quantized_matmul`].
#[track_caller]
pub fn qqmm(x: &Array, w: &Weights, packing: Packing, global_scales: [Option<&Array>; 2]) -> Array {
    let (x, w) = ok!(both_packed("qqmm", x, w, packing, global_scales));
    quantized_matmul(&x, &w, true, packing)
}

/// As [`qqmm`], with matrices that indices choose; see [`gather_qmm`].
///
/// ```
/// use pellucid::prelude::*;
/// use pellucid::op::QuantMode;
/// let (x, w) = (Array::ones((1, 1, 64)), ops::Weights::Plain(Array::ones((3, 2, 64))));
/// let packing = ops::Packing::new(QuantMode::Mxfp8);
/// let y = ops::gather_qqmm(&x, &w, None, Some(&array![2u32]), packing, [None, None]);
/// assert_eq!(y.shape(), [1, 1, 2]);
/// ```
///
/// # Errors
/// As [`gather_qmm`].
#[track_caller]
pub fn gather_qqmm(
    x: &Array,
    w: &Weights,
    lhs_indices: Option<&Array>,
    rhs_indices: Option<&Array>,
    packing: Packing,
    global_scales: [Option<&Array>; 2],
) -> Array {
    let (x, w) = ok!(both_packed("gather_qqmm", x, w, packing, global_scales));
    gather_qmm(&x, &w, lhs_indices, rhs_indices, true, packing, None)
}

/// Weights that may be packed already.
#[derive(Clone, Debug)]
pub enum Weights {
    /// Numbers.
    Plain(Array),
    /// Words and scales.
    Packed(Quantized),
}

#[track_caller]
fn both_packed(
    function: &'static str,
    x: &Array,
    w: &Weights,
    packing: Packing,
    [global_x, global_w]: [Option<&Array>; 2],
) -> Result<(Array, Quantized)> {
    x.check()?;
    if packing.mode == QuantMode::Affine {
        return Err(Error::argument(
            function,
            "both factors are packed in modes nvfp4, mxfp8 and mxfp4, not affine",
        ));
    }
    if !matches!(x.dtype(), Dtype::Float32 | Dtype::Float16 | Dtype::Bfloat16) {
        return Err(Error::dtype(
            function,
            format!("x must be float32, float16 or bfloat16, not {}", x.dtype()),
        ));
    }
    let rounded = dequantize(&quantize(x, packing, global_x), packing, global_x, Some(x.dtype()));
    let packed = match w {
        Weights::Packed(packed) => packed.clone(),
        Weights::Plain(w) => quantize(w, packing, global_w),
    };
    Ok((globally_scaled(function, &rounded, packing, global_w)?, packed))
}

/// `x` times what a global scale of the weights stands for: the product is linear in both.
#[track_caller]
fn globally_scaled(
    function: &'static str,
    x: &Array,
    packing: Packing,
    global: Option<&Array>,
) -> Result<Array> {
    let Some(global) = global else { return Ok(x.clone()) };
    global.check()?;
    if packing.mode != QuantMode::Nvfp4 {
        return Err(Error::argument(function, "a global scale belongs to mode nvfp4 alone"));
    }
    if global.ndim() != 0 || global.dtype() != Dtype::Float32 {
        let message =
            format!("a global scale is one float32, not {} of shape {}", global.dtype(), global.shape_ref());
        return Err(Error::shape(function, message));
    }
    let most = super::constant(function, (6.0f64 * 448.0).into(), Dtype::Float32);
    Ok(cast(&super::multiply(x, &super::divide(global, &most)), x.dtype()))
}
