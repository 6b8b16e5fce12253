//! Operations as the callback of `export_function` sees them: MLX's names and arguments.

use pellucid::op::{
    ArgReduceOp, BinaryOp, FftKind, LinalgOp, NormKind, Op, QuantMode, QuantSpec, ReduceOp, Scalar, ScanOp,
    ScatterOp, SliceSpec, Spec, SvdVectors, UnaryOp,
};
use pellucid::{Array, Dtype};
use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use pyo3::types::{PyList, PyTuple};

use crate::dtype::PyDtype;

use Argument::{Bool, Float, Int, Text};

/// An argument of a primitive.
pub enum Argument {
    Int(i64),
    Float(f64),
    Bool(bool),
    Text(String),
    Dtype(Dtype),
    /// Sizes, positions and steps: a tuple.
    Shape(Vec<i64>),
    /// Axes and the like: a list.
    List(Vec<i64>),
}

impl Argument {
    pub fn object<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        match self {
            Int(v) => v.into_bound_py_any(py),
            Float(v) => v.into_bound_py_any(py),
            Bool(v) => v.into_bound_py_any(py),
            Text(v) => v.into_bound_py_any(py),
            Argument::Dtype(v) => PyDtype(*v).into_bound_py_any(py),
            Argument::Shape(v) => Ok(PyTuple::new(py, v)?.into_any()),
            Argument::List(v) => Ok(PyList::new(py, v)?.into_any()),
        }
    }
}

fn shape(sizes: &[usize]) -> Argument {
    Argument::Shape(sizes.iter().map(|&n| n as i64).collect())
}

fn list(axes: &[usize]) -> Argument {
    Argument::List(axes.iter().map(|&n| n as i64).collect())
}

/// `log_sum_exp` as `LogSumExp`.
fn camel(name: &str) -> String {
    let part = |part: &str| {
        let mut letters = part.chars();
        letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
    };
    name.split('_').map(part).collect()
}

/// Start, end and step along each axis.
fn slice(spec: &SliceSpec) -> Vec<Argument> {
    let start: Vec<i64> = spec.start.iter().map(|&n| n as i64).collect();
    let steps: Vec<i64> = spec.step.iter().map(|&n| n as i64).collect();
    let places = start.iter().zip(&spec.size).zip(&steps);
    let stop = places.map(|((&start, &size), &step)| start + size as i64 * step).collect();
    vec![Argument::Shape(start), Argument::Shape(stop), Argument::Shape(steps)]
}

/// The shape of what one index chooses: one along the axes that are indexed.
fn chosen(x: &Spec, axes: &[usize]) -> Argument {
    let size = |(axis, &size): (usize, &usize)| if axes.contains(&axis) { 1 } else { size as i64 };
    Argument::Shape(x.shape.iter().enumerate().map(size).collect())
}

fn packed(spec: &QuantSpec) -> Vec<Argument> {
    let mode = match spec.mode {
        QuantMode::Affine => 0,
        QuantMode::Mxfp4 => 1,
        QuantMode::Mxfp8 => 2,
        QuantMode::Nvfp4 => 3,
    };
    vec![Int(spec.group as i64), Int(spec.bits.into()), Int(mode)]
}

fn unary(op: UnaryOp) -> (String, Vec<Argument>) {
    let name = match op {
        UnaryOp::Log2 => return ("Log".to_owned(), vec![Int(0)]),
        UnaryOp::Log10 => return ("Log".to_owned(), vec![Int(1)]),
        UnaryOp::Log => return ("Log".to_owned(), vec![Int(2)]),
        UnaryOp::Sqrt => return ("Sqrt".to_owned(), vec![Bool(false)]),
        UnaryOp::Rsqrt => return ("Sqrt".to_owned(), vec![Bool(true)]),
        UnaryOp::Arccos => "ArcCos",
        UnaryOp::Arccosh => "ArcCosh",
        UnaryOp::Arcsin => "ArcSin",
        UnaryOp::Arcsinh => "ArcSinh",
        UnaryOp::Arctan => "ArcTan",
        UnaryOp::Arctanh => "ArcTanh",
        UnaryOp::Erfinv => "ErfInv",
        other => return (camel(other.name()), Vec::new()),
    };
    (name.to_owned(), Vec::new())
}

fn binary(op: BinaryOp) -> (String, Vec<Argument>) {
    let bits = |which| ("BitwiseBinary".to_owned(), vec![Int(which)]);
    match op {
        BinaryOp::BitwiseAnd => bits(0),
        BinaryOp::BitwiseOr => bits(1),
        BinaryOp::BitwiseXor => bits(2),
        BinaryOp::LeftShift => bits(3),
        BinaryOp::RightShift => bits(4),
        BinaryOp::Equal => ("Equal".to_owned(), vec![Bool(false)]),
        BinaryOp::Arctan2 => ("ArcTan2".to_owned(), Vec::new()),
        BinaryOp::Logaddexp => ("LogAddExp".to_owned(), Vec::new()),
        other => (camel(other.name()), Vec::new()),
    }
}

fn linalg(op: LinalgOp) -> (String, Vec<Argument>) {
    let (name, arguments) = match op {
        LinalgOp::Cholesky => ("Cholesky", vec![Bool(false)]),
        LinalgOp::Inverse => ("Inverse", vec![Bool(false), Bool(true)]),
        LinalgOp::TriangularInverse { upper } => ("Inverse", vec![Bool(true), Bool(upper)]),
        LinalgOp::Lu => ("LUF", Vec::new()),
        LinalgOp::Qr => ("QRF", Vec::new()),
        LinalgOp::Svd { vectors } => ("SVD", vec![Bool(vectors != SvdVectors::None)]),
        LinalgOp::Eigh { upper, vectors } => {
            ("Eigh", vec![Text(if upper { "U" } else { "L" }.to_owned()), Bool(vectors)])
        }
        LinalgOp::Eig { vectors } => ("Eig", vec![Bool(vectors)]),
        LinalgOp::TriangularSolve { upper } => ("SolveTriangular", vec![Bool(upper)]),
        LinalgOp::Solve => ("Solve", Vec::new()),
    };
    (name.to_owned(), arguments)
}

fn scatter(how: ScatterOp) -> Argument {
    Int(match how {
        ScatterOp::Max => 0,
        ScatterOp::Min => 1,
        ScatterOp::Sum => 2,
        ScatterOp::Prod => 3,
        ScatterOp::Replace => 4,
    })
}

/// MLX's name and arguments of an operation on arrays of these shapes and types.
pub fn primitive(op: &Op, inputs: &[&Spec]) -> (String, Vec<Argument>) {
    let first = |axes: &[usize]| inputs.first().map_or(Argument::Shape(Vec::new()), |x| chosen(x, axes));
    let (name, arguments) = match op {
        Op::Unary(op) => return unary(*op),
        Op::Binary(op) => return binary(*op),
        Op::Linalg(op) => return linalg(*op),
        Op::Arange { start, step, len, .. } => {
            let (start, step) = (start.to_f64(), step.to_f64());
            ("Arange", vec![Float(start), Float(start + step * *len as f64), Float(step)])
        }
        Op::RandomBits { shape: sizes, width } => ("RandomBits", vec![shape(sizes), Int((*width).into())]),
        Op::Divmod => ("DivMod", Vec::new()),
        Op::Select => ("Select", Vec::new()),
        Op::Cast { dtype } => ("AsType", vec![Argument::Dtype(*dtype)]),
        Op::View { dtype } => ("View", vec![Argument::Dtype(*dtype)]),
        Op::Reshape { shape: sizes } => ("Reshape", vec![shape(sizes)]),
        Op::Broadcast { shape: sizes } => ("Broadcast", vec![shape(sizes)]),
        Op::Transpose { axes } => ("Transpose", vec![list(axes)]),
        Op::Contiguous => ("Contiguous", vec![Bool(false)]),
        Op::Slice(spec) => ("Slice", slice(spec)),
        Op::SliceUpdate(spec) => {
            ("SliceUpdate", std::iter::once(scatter(ScatterOp::Replace)).chain(slice(spec)).collect())
        }
        Op::AsStrided(spec) => {
            let strides = spec.strides.iter().map(|&n| n as i64).collect();
            ("AsStrided", vec![shape(&spec.shape), Argument::Shape(strides), Int(spec.offset as i64)])
        }
        Op::Concatenate { axis } => ("Concatenate", vec![Int(*axis as i64)]),
        Op::Pad { low, high } => {
            let axes: Vec<usize> = (0..low.len()).collect();
            ("Pad", vec![list(&axes), shape(low), shape(high)])
        }
        Op::Take { axis } => ("Gather", vec![list(&[*axis]), first(&[*axis])]),
        Op::Gather { axes } => ("Gather", vec![list(axes), first(axes)]),
        Op::Scatter { axes, how } => ("Scatter", vec![scatter(*how), list(axes)]),
        Op::TakeAlongAxis { axis } => ("GatherAxis", vec![Int(*axis as i64)]),
        Op::PutAlongAxis { axis } => ("ScatterAxis", vec![Int(1), Int(*axis as i64)]),
        Op::Reduce { op: ReduceOp::Logsumexp, axes, .. } => ("LogSumExp", vec![list(axes)]),
        Op::Reduce { op, axes, .. } => {
            let which = match op {
                ReduceOp::All => 0,
                ReduceOp::Any => 1,
                ReduceOp::Sum | ReduceOp::Logsumexp => 2,
                ReduceOp::Prod => 3,
                ReduceOp::Min => 4,
                ReduceOp::Max => 5,
            };
            ("Reduce", vec![Int(which), list(axes)])
        }
        Op::ArgReduce { op, axis, .. } => {
            ("ArgReduce", vec![Int((*op == ArgReduceOp::Argmax).into()), Int(*axis as i64)])
        }
        Op::Scan { op, axis, reverse, inclusive } => {
            let which = match op {
                ScanOp::Cummax => 0,
                ScanOp::Cummin => 1,
                ScanOp::Cumsum => 2,
                ScanOp::Cumprod => 3,
                ScanOp::Logcumsumexp => 4,
            };
            ("Scan", vec![Int(which), Int(*axis as i64), Bool(*reverse), Bool(*inclusive)])
        }
        Op::Softmax { precise, .. } => ("Softmax", vec![Bool(*precise)]),
        Op::Sort { axis } => ("Sort", vec![Int(*axis as i64)]),
        Op::Argsort { axis } => ("ArgSort", vec![Int(*axis as i64)]),
        Op::SearchSorted { right } => ("SearchSorted", vec![Bool(*right)]),
        Op::Fft(spec) => {
            let inverse = matches!(spec.kind, FftKind::Inverse | FftKind::Hermitian);
            let real = matches!(spec.kind, FftKind::Real | FftKind::Hermitian);
            ("FFT", vec![list(&[spec.axis]), Bool(inverse), Bool(real), Bool(false)])
        }
        Op::Addmm { alpha, beta } => ("AddMM", vec![Float(alpha.0), Float(beta.0)]),
        Op::Conv(spec) => {
            let widths = |sizes: &[i64]| Argument::List(sizes.to_vec());
            let arguments = vec![
                list(&spec.stride),
                widths(&spec.low),
                widths(&spec.high),
                list(&spec.kernel_dilation),
                list(&spec.input_dilation),
                Int(spec.groups as i64),
                Bool(spec.flip),
            ];
            ("Convolution", arguments)
        }
        Op::QuantizedMatmul { spec, transpose, gather } => {
            let mut arguments = packed(spec);
            arguments.push(Bool(*transpose));
            (if *gather { "GatherQMM" } else { "QuantizedMatmul" }, arguments)
        }
        Op::Quantize { spec, .. } => {
            let mut arguments = packed(spec);
            arguments.push(Bool(false));
            ("Quantize", arguments)
        }
        Op::Dequantize { spec, .. } => {
            let mut arguments = packed(spec);
            arguments.push(Bool(true));
            ("Quantize", arguments)
        }
        Op::Norm { kind: NormKind::Rms, eps, .. } => ("RMSNorm", vec![Float(eps.0)]),
        Op::Norm { kind: NormKind::Layer, eps, .. } => ("LayerNorm", vec![Float(eps.0)]),
        Op::Rope(spec) => {
            let base = spec.base.map_or(0.0, |base| base.0);
            let arguments =
                vec![Int(spec.dims as i64), Bool(spec.traditional), Float(base), Float(spec.scale.0)];
            ("RoPE", arguments)
        }
        Op::Attention(spec) => ("ScaledDotProductAttention", vec![Float(spec.scale.0), Bool(spec.causal)]),
        Op::SegmentedMm => ("SegmentedMM", Vec::new()),
        Op::Custom(kernel) => ("CustomKernel", vec![Text(kernel.name.clone()), Text(kernel.body.clone())]),
        other => return (camel(other.name()), Vec::new()),
    };
    (name.to_owned(), arguments)
}

/// The one number of an array that has the same everywhere, as the constant that MLX makes of it.
pub fn number(value: Scalar, dtype: Dtype) -> Array {
    pellucid::ops::full(Vec::<usize>::new(), value, dtype)
}
