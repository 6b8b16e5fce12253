"""When a result counts as mlx's: the one place for tolerances.

Integers, bools and elements that only moved must be equal, with the sign of zero. Floating-point results may differ by
some units in the last place (ulps) of their type. Each row says how many, relative to what, and why.
"""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Rule:
    #: Units in the last place for float32, float64 and complex64.
    ulps: float
    #: The same for float16 and bfloat16.
    half_ulps: float
    #: What an ulp is measured at: each "element"; at least 1 ("one"); the largest of result and inputs ("largest").
    scale: str
    why: str


EXACT = Rule(0, 0, "element", "elements only move, or IEEE 754 says what the last bit is")
DEFAULT = Rule(8, 1, "element", "two libraries of elementary functions; 16-bit types are rounded from float32")
EXPONENTIAL = Rule(16, 1, "element", "mlx's own exponential is off by ten units for large numbers")
LOGARITHM = Rule(8, 1, "one", "near zero, the error is that of a number near one")
SUM = Rule(32, 4, "largest", "additions in another order; terms may cancel")
PRODUCT = Rule(32, 4, "element", "multiplications in another order")
TRANSFORM = Rule(32, 32, "largest", "sums of many terms with other factors of other roundings")
DECOMPOSITION = Rule(400, 400, "largest", "other algorithms; errors grow with the condition of the matrix")
WINDOW = Rule(16, 1, "one", "differences of numbers near one")
INVERSE_ERROR = Rule(16, 1, "one", "steep at its ends; one of the two computes float64 in float32, whose units count then")

_EXACT = """abs add arange argmax argmin argpartition argsort as_strided asarray astype atleast_1d atleast_2d atleast_3d
bitwise_and bitwise_invert bitwise_left_shift bitwise_or bitwise_right_shift bitwise_xor broadcast_arrays broadcast_to
ceil clip concat concatenate conj conjugate contiguous cummax cummin diag diagonal diff divide empty empty_like
expand_dims eye flatten flip floor from_dlpack full full_like identity imag left_shift load logical_not max maximum
matrix_transpose meshgrid min minimum minmax moveaxis multiply nan_to_num negative ones ones_like pad partition
permute_dims positive put_along_axis real repeat reshape right_shift roll round save sign slice slice_update sort split
sqrt square squeeze stack stop_gradient subtract swapaxes take take_along_axis tile topk transpose tri tril triu trunc
unflatten unstack view where zeros zeros_like depends random.bernoulli random.categorical random.key random.permutation
random.randint random.split random.bits fft.fftshift fft.ifftshift searchsorted unique to_fp8 from_fp8
operator.add operator.sub operator.mul operator.truediv operator.neg operator.pos operator.getitem operator.iadd
operator.isub operator.imul operator.itruediv builtin.abs array.T array.mT get.T get.mT get.real get.imag set at.add
at.subtract at.multiply at.divide at.maximum at.minimum""".split()

_RULES = {
    **{name: EXACT for name in _EXACT},
    **{name: EXPONENTIAL for name in "exp expm1 sigmoid softmax sinh cosh tanh".split()},
    **{name: LOGARITHM for name in "log logsumexp logcumsumexp logaddexp log1p random.gumbel".split()},
    **{name: SUM for name in """sum mean var std cumsum cumulative_sum matmul addmm inner outer tensordot kron vecdot
       einsum trace median operator.matmul operator.imatmul linspace convolve conv1d conv2d conv3d conv_general
       conv_transpose1d conv_transpose2d conv_transpose3d fast.scaled_dot_product_attention fast.cross_entropy
       fast.gated_delta_update fast.layer_norm fast.rms_norm fast.rope""".split()},
    **{name: PRODUCT for name in "prod cumprod cumulative_prod power pow operator.pow operator.ipow".split()},
    **{f"fft.{name}": TRANSFORM for name in """fft fft2 fftn ifft ifft2 ifftn rfft rfft2 rfftn irfft irfft2 irfftn stft
       istft""".split()},
    **{f"linalg.{name}": DECOMPOSITION for name in """cholesky cholesky_inv det eig eigh eigvals eigvalsh inv lu lu_factor
       norm pinv qr slogdet solve solve_triangular svd tri_inv""".split()},
    "matrix_norm": DECOMPOSITION,
    "random.multivariate_normal": DECOMPOSITION,
    **{name: WINDOW for name in "bartlett blackman hamming hanning".split()},
    **{name: SUM for name in "gather_mm segmented_mm block_masked_mm hadamard_transform linalg.cross".split()},
    **{name: INVERSE_ERROR for name in "erfinv random.normal random.truncated_normal random.laplace".split()},
    **{name: EXACT for name in ("quantize",)},
    "dequantize": Rule(2, 1, "largest", "a product and a sum, which may be fused into one rounding"),
    **{name: Rule(256, 64, "largest", "mlx sums 16-bit types in 16 bits; sums of hundreds of products")
       for name in ("quantized_matmul", "gather_qmm", "qqmm", "gather_qqmm")},
    "random.uniform": Rule(2, 1, "one", "a scale and a shift, which may be fused into one rounding"),
}

_LAST_BIT = {"float16": 2.0**-10, "bfloat16": 2.0**-7, "float32": 2.0**-23, "complex64": 2.0**-23, "float64": 2.0**-52}
_SMALLEST = {"float16": 2.0**-14, "bfloat16": 2.0**-126, "float32": 2.0**-126, "complex64": 2.0**-126, "float64": 2.0**-1022}


def rule(function):
    """The rule of a function; a method of arrays has that of the function."""
    name = function.removeprefix("array.")
    return _RULES.get(function) or _RULES.get(name, DEFAULT)


def wrong(function, dtype, ours, theirs, magnitude):
    """A mask of the elements that differ too much. `magnitude` is the largest finite element of the inputs."""
    ours, theirs = np.asarray(ours), np.asarray(theirs)
    if dtype not in _LAST_BIT:
        return ours != theirs
    if dtype == "complex64":
        ours, theirs = ours.astype(np.complex128), theirs.astype(np.complex128)
        size = np.maximum(np.abs(theirs.real), np.abs(theirs.imag))
        parts = [_apart(function, dtype, getattr(ours, p), getattr(theirs, p), size, magnitude) for p in ("real", "imag")]
        return parts[0] | parts[1]
    with np.errstate(invalid="ignore"):
        ours, theirs = ours.astype(np.float64), theirs.astype(np.float64)
    return _apart(function, dtype, ours, theirs, np.abs(theirs), magnitude)


def _apart(function, dtype, ours, theirs, size, magnitude):
    row = rule(function)
    ulps = row.half_ulps if dtype in ("float16", "bfloat16") else row.ulps
    if row is INVERSE_ERROR and dtype == "float64":
        dtype = "float32"
    same = (ours == theirs) | (np.isnan(ours) & np.isnan(theirs))
    if ulps == 0 and dtype != "complex64":
        return ~(same & ((np.signbit(ours) == np.signbit(theirs)) | np.isnan(ours)))
    if row.scale == "one":
        size = np.maximum(size, 1.0)
    elif row.scale == "largest":
        finite = size[np.isfinite(size)]
        size = np.maximum(size, max(magnitude, float(finite.max()) if finite.size else 0.0))
    # Below the normal numbers of the type, the spacing of the subnormal ones counts.
    with np.errstate(invalid="ignore", over="ignore"):
        limit = max(ulps, 4 if dtype == "complex64" else 0) * _LAST_BIT[dtype] * np.maximum(size, _SMALLEST[dtype])
        return ~(same | (np.abs(ours - theirs) <= limit))
