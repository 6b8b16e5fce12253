//! Operations as data. [`Op`] is the one spelling of every operation: it is shape-checked by [`infer`](Op::infer),
//! run by the backends, fused by the planner, printed in graphs and written to traces.

mod conv;
mod cost;
mod custom;
mod describe;
mod elementwise;
mod fft;
mod fused;
mod host_call;
mod infer;
mod infer_fused;
mod linalg;
mod load;
mod program;
mod scalar;

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use smallvec::SmallVec;

pub use conv::ConvSpec;
pub use custom::{CustomKernel, Port};
pub use describe::Family;
pub(crate) use describe::{Count, TakesOver};
pub use elementwise::{BinaryOp, UnaryOp};
pub use fft::{FftKind, FftSpec};
pub use fused::{AttentionSpec, NormKind, QuantMode, QuantPart, QuantSpec, RopeSpec};
pub use host_call::{HostCall, HostVersion};
pub use infer::{Spec, Specs};
pub use linalg::{LinalgOp, SvdVectors};
pub use load::LoadSpec;
pub(crate) use load::OpenFile;
pub(crate) use program::{Arg, Func, Instr, Program, divmod};
pub use scalar::{Float, Scalar};

use crate::array::{Dtype, Shape};

/// Axes, positions and sizes, one per dimension.
pub type Dims = SmallVec<[usize; 4]>;

/// Reductions of one or more axes to a single element.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReduceOp {
    /// Sum.
    Sum,
    /// Product.
    Prod,
    /// Largest element; NaN wins.
    Max,
    /// Smallest element; NaN wins.
    Min,
    /// True if all are not zero.
    All,
    /// True if one is not zero.
    Any,
    /// Logarithm of the sum of exponentials, without overflow.
    Logsumexp,
}

/// Positions of extreme elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ArgReduceOp {
    /// Position of the first largest element.
    Argmax,
    /// Position of the first smallest element.
    Argmin,
}

/// Running reductions along one axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ScanOp {
    /// Running sum.
    Cumsum,
    /// Running product.
    Cumprod,
    /// Running maximum.
    Cummax,
    /// Running minimum.
    Cummin,
    /// Running logarithm of the sum of exponentials.
    Logcumsumexp,
}

/// What [`Op::Scatter`] makes of an element and its updates.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ScatterOp {
    /// The last update.
    Replace,
    /// The sum of all; 16-bit floats are added in `float32`.
    Sum,
    /// The product of all; 16-bit floats are multiplied in `float32`.
    Prod,
    /// The largest; NaN wins.
    Max,
    /// The smallest; NaN wins.
    Min,
}

impl ScatterOp {
    /// The name of the operation, as graphs, labels and traces show it.
    pub const fn name(self) -> &'static str {
        match self {
            ScatterOp::Replace => "scatter",
            ScatterOp::Sum => "scatter_add",
            ScatterOp::Prod => "scatter_prod",
            ScatterOp::Max => "scatter_max",
            ScatterOp::Min => "scatter_min",
        }
    }
}

/// A rectangular selection with steps: along axis `i`, positions `start[i]`, `start[i] + step[i]`, …, `size[i]` of them.
/// Positions are valid by construction: normalised, in range.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct SliceSpec {
    /// First position along each axis.
    pub start: Dims,
    /// Number of positions along each axis.
    pub size: Dims,
    /// Distance between positions; negative runs backwards.
    pub step: SmallVec<[isize; 4]>,
}

/// An operation: what to compute, without what to compute it on.
///
/// Inputs and their order are part of each variant's meaning, written beside it. Two operations are equal if they compute
/// the same bits: numbers are compared by their bits, so that plans and kernels can be looked up by an operation.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Op {
    // ---- sources: no array inputs
    /// One value everywhere. Inputs: none.
    Full {
        /// Shape of the result.
        shape: Shape,
        /// Type of the result.
        dtype: Dtype,
        /// The value.
        value: Scalar,
    },
    /// `start + i · step` for `i` in `0..len`, computed in the result's type. Inputs: none.
    Arange {
        /// First value.
        start: Scalar,
        /// Distance between values.
        step: Scalar,
        /// Number of values.
        len: usize,
        /// Type of the result.
        dtype: Dtype,
    },
    /// Elements of a file, read when they are needed. Inputs: none.
    Load(Box<LoadSpec>),
    /// Threefry-2x32 random bits; `shape` words of `width` bytes for each key. Inputs: keys `[..., 2]` of `uint32`.
    RandomBits {
        /// Shape of the words made from one key.
        shape: Shape,
        /// Bytes per word: 1, 2 or 4.
        width: u8,
    },

    // ---- elementwise
    /// A function of one array. Inputs: x.
    Unary(UnaryOp),
    /// A function of two arrays of one type, broadcast. Inputs: a, b.
    Binary(BinaryOp),
    /// Quotient rounded down and remainder with the sign of the divisor, broadcast. Inputs: a, b of one type. Results: both.
    Divmod,
    /// `a` where the condition holds, else `b`, broadcast. Inputs: condition (bool), a, b.
    Select,
    /// Conversion to another type, by value. Inputs: x.
    Cast {
        /// The type to convert to.
        dtype: Dtype,
    },

    // ---- layout: views where the memory allows
    /// Another shape, the same elements in row-major order. Inputs: x.
    Reshape {
        /// Shape of the result.
        shape: Shape,
    },
    /// Axes in another order. Inputs: x.
    Transpose {
        /// For each axis of the result, the axis of the input.
        axes: Dims,
    },
    /// Repetition along new or size-one axes, without copying. Inputs: x.
    Broadcast {
        /// Shape of the result.
        shape: Shape,
    },
    /// A rectangular selection with steps. Inputs: x.
    Slice(Box<SliceSpec>),
    /// Any shape and strides (in elements) over the row-major elements of the input. Inputs: x.
    AsStrided(Box<StridedSpec>),
    /// The same bytes read as another type. Inputs: x.
    View {
        /// The type to read the bytes as.
        dtype: Dtype,
    },
    /// The same elements, row-major in memory. Inputs: x.
    Contiguous,
    /// The first input, ready only when all others are. Inputs: x, dependencies….
    Depends,
    /// The same elements, through which no derivative passes. Inputs: x.
    StopGradient,

    // ---- assembling
    /// Arrays of one type joined along an axis. Inputs: one or more.
    Concatenate {
        /// The axis.
        axis: usize,
    },
    /// Constant padding. Inputs: x, value (0-d, same type).
    Pad {
        /// Elements added before each axis.
        low: Dims,
        /// Elements added after each axis.
        high: Dims,
    },
    /// A copy of `x` with a rectangular part replaced. Inputs: x, update (shape of the part).
    SliceUpdate(Box<SliceSpec>),

    // ---- indexing with arrays (every index is checked; negative ones count from the end)
    /// Elements of `x` along `axis` at the given positions. Inputs: x, indices (integer).
    Take {
        /// The axis.
        axis: usize,
    },
    /// Elements of `x` at places that index arrays name together, each along its axis, with all other axes of `x` behind
    /// those of the indices. Inputs: x, one array of indices for each axis, all of one shape.
    Gather {
        /// The axes, ascending.
        axes: Dims,
    },
    /// A copy of `x` in which places are combined with updates; inverse of `Gather`. Updates of one place meet it in
    /// their order. Inputs: x, one array of indices for each axis, all of one shape, updates (the shape that `Gather`
    /// gives).
    Scatter {
        /// The axes, ascending.
        axes: Dims,
        /// What becomes of a place and its updates.
        how: ScatterOp,
    },
    /// For each position of `indices`, the element of `x` there, with the axis position replaced. Inputs: x, indices.
    TakeAlongAxis {
        /// The axis.
        axis: usize,
    },
    /// A copy of `x` with elements along an axis replaced; inverse of `TakeAlongAxis`. Inputs: x, indices, values.
    PutAlongAxis {
        /// The axis.
        axis: usize,
    },

    // ---- reductions, scans, order
    /// A reduction over axes, which disappear or become size one. Inputs: x.
    Reduce {
        /// What to compute.
        op: ReduceOp,
        /// The axes, ascending.
        axes: Dims,
        /// Whether reduced axes stay with size one.
        keepdims: bool,
    },
    /// Position of an extreme along one axis, as `uint32`. Inputs: x.
    ArgReduce {
        /// What to look for.
        op: ArgReduceOp,
        /// The axis.
        axis: usize,
        /// Whether the axis stays with size one.
        keepdims: bool,
    },
    /// A running reduction along one axis. Inputs: x.
    Scan {
        /// What to compute.
        op: ScanOp,
        /// The axis.
        axis: usize,
        /// From the end towards the start.
        reverse: bool,
        /// Whether an element contributes to its own position.
        inclusive: bool,
    },
    /// exp(x − max) divided by its sum, over axes. Inputs: x (inexact).
    Softmax {
        /// The axes, ascending.
        axes: Dims,
        /// Accumulate 16-bit types in `float32`.
        precise: bool,
    },
    /// Elements in ascending order along an axis; NaN last. Inputs: x.
    Sort {
        /// The axis.
        axis: usize,
    },
    /// Positions that would sort along an axis, as `uint32`; equal elements keep their order. Inputs: x.
    Argsort {
        /// The axis.
        axis: usize,
    },

    /// For each value the number of elements of a sorted sequence before it, as `uint32`. Inputs: the sequence (one
    /// axis), values (the same type).
    SearchSorted {
        /// Whether equal elements count as before.
        right: bool,
    },

    // ---- transforms
    /// A Fourier transform along one axis. Inputs: x (`complex64`, or `float32` where the samples are real).
    Fft(FftSpec),

    // ---- products
    /// Matrix product of the last two axes, batched over the others with broadcasting. Inputs: a, b (one inexact type).
    Matmul,
    /// `alpha · (a @ b) + beta · c`. Inputs: c, a, b.
    Addmm {
        /// Factor of the product.
        alpha: Float,
        /// Factor of `c`.
        beta: Float,
    },

    /// The convolution of an input with a kernel, channels last. Inputs: x `[N, spatial…, C]`, w `[O, spatial…, C / groups]`.
    Conv(Box<ConvSpec>),
    /// A product with packed weights. Inputs: x, words, scales, biases in mode affine; with `gather`, the numbers of the
    /// matrices of x and of w that are multiplied besides.
    QuantizedMatmul {
        /// How the weights are packed.
        spec: QuantSpec,
        /// Whether the weights' rows are summed over, not their columns.
        transpose: bool,
        /// Whether indices choose the matrices.
        gather: bool,
    },

    // ---- packed numbers
    /// A part of numbers packed along the last axis. Inputs: w, a global scale where there is one.
    Quantize {
        /// How they are packed.
        spec: QuantSpec,
        /// Which array of the packed form.
        part: QuantPart,
    },
    /// The numbers that packed ones stand for. Inputs: words, scales, biases in mode affine, a global scale where there
    /// is one.
    Dequantize {
        /// How they are packed.
        spec: QuantSpec,
        /// Type of the result.
        dtype: Dtype,
    },

    // ---- fused: what models do all the time
    /// Normalisation of the last axis. Inputs: x, then a weight and a bias as said.
    Norm {
        /// What is subtracted and divided by.
        kind: NormKind,
        /// A weight is among the inputs.
        weight: bool,
        /// A bias is among the inputs.
        bias: bool,
        /// Added to the variance.
        eps: Float,
    },
    /// The gradient of [`Op::Norm`] for its x. Inputs: x, the weight as said, the cotangent.
    NormBackward {
        /// What is subtracted and divided by.
        kind: NormKind,
        /// A weight is among the inputs.
        weight: bool,
        /// Added to the variance.
        eps: Float,
    },
    /// Rotary positions. Inputs: x `[B, …, T, D]`, the offset, the periods unless there is a base.
    Rope(RopeSpec),
    /// `logsumexp(logits) − logits[target]` over the last axis. Inputs: logits, targets (integers).
    CrossEntropy,
    /// The gradient of [`Op::CrossEntropy`] for the logits. Inputs: logits, targets, the cotangent.
    CrossEntropyBackward,

    /// Attention without its scores. The result is flat, `float32` or `float64`: the attention `[B, N, T, E]`, then the
    /// logarithms of the sums `[B, N, T]`. Inputs: q `[B, N, T, D]`, k `[B, M, S, D]`, v `[B, M, S, E]`, a mask
    /// `[B, N, T, S]` and sinks `[N]` as said.
    Attention(AttentionSpec),
    /// The gradients of [`Op::Attention`], flat: of q, k and v, of the mask if asked for, of sinks. Inputs: its inputs,
    /// its result, the cotangent of the attention.
    AttentionBackward {
        /// The attention.
        spec: AttentionSpec,
        /// The gradient of an additive mask is wanted.
        mask_gradient: bool,
    },
    /// The gated delta rule. The result is flat, `float32`: the readings `[B, T, Hv, Dv]`, then the last state
    /// `[B, Hv, Dv, Dk]`. Inputs: q, k, v, gamma, beta, the state, a mask `[B, T]` as said.
    GatedDelta {
        /// A mask is among the inputs.
        mask: bool,
    },

    /// For each pair of positions the product of the columns of `a` and the rows of `b` between them. Inputs: a, b
    /// (matrices of one floating type), positions `[…, 2]` (integers).
    SegmentedMm,

    // ---- linear algebra
    /// A decomposition, an inverse or a solution of matrices, which says its inputs and results itself.
    Linalg(LinalgOp),

    // ---- kernels of the user
    /// A kernel written in WGSL. Inputs: as it declares them, row-major. Results: as it declares them.
    Custom(Arc<CustomKernel>),
}

/// What [`Op::AsStrided`] reads: in elements, from the start of the row-major input.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct StridedSpec {
    /// Shape of the result.
    pub shape: Shape,
    /// Distance between neighbours along each axis.
    pub strides: SmallVec<[isize; 4]>,
    /// First element.
    pub offset: usize,
}
