//! The functions of the fixture by name: one line each.

use pellucid::fft::{self, Norm};
use pellucid::ops::{self, Contraction, Cuts, Index, Indexing, Operand, Side};
use pellucid::random::{self, Samples};
use pellucid::{Array, Axes, Dtype, Result, Shape};

use crate::arguments::Arguments;

/// Calls a function by mlx's name with arrays and other arguments.
///
/// # Panics
/// If there is no such function here.
pub fn call(function: &str, x: &[Array], args: &Arguments) -> Result<Vec<Array>> {
    if let Some(result) = elementwise(function, x).or_else(|| reduction(function, x, args)) {
        return checked(vec![result]);
    }
    if let Some(results) = several(function, x, args) {
        return checked(results);
    }
    let single = choosing(function, x, args)
        .or_else(|| layout(function, x, args))
        .or_else(|| selection(function, x, args))
        .or_else(|| creation(function, x, args))
        .or_else(|| product(function, x, args))
        .or_else(|| transform(function, x, args))
        .or_else(|| from_key(function, x, args));
    checked(vec![single.unwrap_or_else(|| panic!("no function {function} in call.rs"))])
}

/// The results, or what was wrong with the call.
fn checked(results: Vec<Array>) -> Result<Vec<Array>> {
    results.iter().try_for_each(Array::check).map(|()| results)
}

macro_rules! by_name {
    ($function:expr; $($name:ident),* => $call:expr) => {
        match $function {
            $(stringify!($name) => Some($call(ops::$name)),)*
            _ => None,
        }
    };
}

fn elementwise(function: &str, x: &[Array]) -> Option<Array> {
    by_name!(function;
        abs, arccos, arccosh, arcsin, arcsinh, arctan, arctanh, bitwise_invert, ceil, conjugate, cos, cosh, degrees,
        erf, erfinv, exp, expm1, floor, imag, isfinite, isinf, isnan, isneginf, isposinf, log, log10, log1p, log2,
        logical_not, negative, positive, radians, real, reciprocal, rsqrt, sigmoid, sign, sin, sinh, sqrt, square, tan,
        tanh, trunc, zeros_like, ones_like, contiguous, matrix_transpose, atleast_1d, atleast_2d, atleast_3d
        => |f: fn(&Array) -> Array| f(&x[0]))
    .or_else(|| {
        by_name!(function;
            add, arctan2, bitwise_and, bitwise_or, bitwise_xor, divide, equal, floor_divide, greater, greater_equal,
            left_shift, less, less_equal, logaddexp, logical_and, logical_or, logical_xor, maximum, minimum, multiply,
            not_equal, power, remainder, right_shift, subtract
            => |f: fn(Operand<'static>, Operand<'static>) -> Array| f(x[0].clone().into(), x[1].clone().into()))
    })
}

fn reduction(function: &str, x: &[Array], args: &Arguments) -> Option<Array> {
    let keepdims = args.flag("keepdims", false);
    by_name!(function; sum, prod, max, min, all, any, mean, logsumexp, count_nonzero, median
        => |f: fn(&Array, Axes, bool) -> Array| f(&x[0], args.axes("axis"), keepdims))
    .or_else(|| {
        by_name!(function; cumsum, cumprod, cummax, cummin, logcumsumexp
        => |f: fn(&Array, Option<i64>, bool, bool) -> Array| {
            f(&x[0], args.axis("axis"), args.flag("reverse", false), args.flag("inclusive", true))
        })
    })
    .or_else(|| {
        by_name!(function; argmax, argmin
            => |f: fn(&Array, Option<i64>, bool) -> Array| f(&x[0], args.axis("axis"), keepdims))
    })
    .or_else(|| {
        by_name!(function; sort, argsort
            => |f: fn(&Array, Option<i64>) -> Array| f(&x[0], args.axis("axis")))
    })
    .or_else(|| {
        let ddof = args.int("ddof", 0) as usize;
        Some(match function {
            "var" => ops::var(&x[0], args.axes("axis"), keepdims, ddof),
            "std" => ops::std(&x[0], args.axes("axis"), keepdims, ddof),
            "softmax" => ops::softmax(&x[0], args.axes("axis"), args.flag("precise", false)),
            "diff" => ops::diff(&x[0], args.int("n", 1) as usize, args.int("axis", -1)),
            "partition" => ops::partition(&x[0], args.int("kth", 0), args.int("axis", -1)),
            "argpartition" => {
                let places = ops::argpartition(&x[0], args.int("kth", 0), args.int("axis", -1));
                ops::take_along_axis(&x[0], &places, args.int("axis", -1))
            }
            "topk" => ops::topk(&x[0], args.count("k"), args.int("axis", -1)),
            _ => return None,
        })
    })
}

/// Functions that return several arrays.
fn several(function: &str, x: &[Array], args: &Arguments) -> Option<Vec<Array>> {
    let pair = |(a, b): (Array, Array)| vec![a, b];
    let all: Vec<&Array> = x.iter().collect();
    Some(match function {
        "divmod" => pair(ops::divmod(&x[0], &x[1])),
        "minmax" => pair(ops::minmax(&x[0], args.axes("axis"), args.flag("keepdims", false))),
        "split" => {
            let name = "indices_or_sections";
            let cuts = if args.is_list(name) { Cuts::At(args.ints(name)) } else { args.count(name).into() };
            ops::split(&x[0], cuts, args.int("axis", 0))
        }
        "unstack" => ops::unstack(&x[0], args.int("axis", 0)),
        "broadcast_arrays" => ops::broadcast_arrays(&all),
        "meshgrid" => {
            let indexing = if args.text("indexing") == "ij" { Indexing::Ij } else { Indexing::Xy };
            ops::meshgrid(&all, args.flag("sparse", false), indexing)
        }
        _ => return None,
    })
}

fn choosing(function: &str, x: &[Array], args: &Arguments) -> Option<Array> {
    let equal_nan = args.flag("equal_nan", false);
    let (rtol, atol) = (args.float("rtol", 1e-5), args.float("atol", 1e-8));
    let limit = |name: &str, place: usize| match args.has(name) {
        false => None,
        true if args.text(name).starts_with('@') => Some(Operand::from(&x[place])),
        true => Some(Operand::from(args.number(name))),
    };
    Some(match function {
        "where" => ops::where_(&x[0], &x[1], &x[2]),
        "where_number" => ops::where_(&x[0], &x[1], args.number("value")),
        "add_number" => ops::add(&x[0], args.number("value")),
        "number_subtract" => ops::subtract(args.number("value"), &x[0]),
        "power_number" => ops::power(&x[0], args.number("value")),
        "clip" => ops::clip(&x[0], limit("low", 1), limit("high", 2)),
        "round" => ops::round(&x[0], args.int("decimals", 0) as i32),
        "nan_to_num" => ops::nan_to_num(
            &x[0],
            args.float("nan", 0.0),
            args.maybe_float("posinf"),
            args.maybe_float("neginf"),
        ),
        "isclose" => ops::isclose(&x[0], &x[1], rtol, atol, equal_nan),
        "allclose" => ops::allclose(&x[0], &x[1], rtol, atol, equal_nan),
        "array_equal" => ops::array_equal(&x[0], &x[1], equal_nan),
        "astype" => ops::astype(&x[0], args.dtype().unwrap()),
        "view" => ops::view(&x[0], args.dtype().unwrap()),
        _ => return None,
    })
}

fn layout(function: &str, x: &[Array], args: &Arguments) -> Option<Array> {
    let all: Vec<&Array> = x.iter().collect();
    Some(match function {
        "reshape" => ops::reshape(&x[0], args.ints("shape")),
        "flatten" => ops::flatten(&x[0], args.int("start_axis", 0), args.int("end_axis", -1)),
        "unflatten" => ops::unflatten(&x[0], args.int("axis", 0), args.ints("shape")),
        "transpose" => ops::transpose(&x[0], if args.has("axes") { args.axes("axes") } else { Axes::All }),
        "swapaxes" => ops::swapaxes(&x[0], args.int("axis1", 0), args.int("axis2", 0)),
        "moveaxis" => ops::moveaxis(&x[0], args.int("source", 0), args.int("destination", 0)),
        "squeeze" => ops::squeeze(&x[0], args.axes("axis")),
        "expand_dims" => ops::expand_dims(&x[0], args.axes("axis")),
        "broadcast_to" => ops::broadcast_to(&x[0], args.shape("shape")),
        "as_strided" => {
            let strides: Vec<isize> = args.ints("strides").into_iter().map(|s| s as isize).collect();
            ops::as_strided(&x[0], args.shape("shape"), Some(&strides), args.count("offset"))
        }
        "concatenate" => ops::concatenate(&all, args.axis("axis")),
        "stack" => ops::stack(&all, args.int("axis", 0)),
        "tile" => ops::tile(&x[0], args.shape("reps")),
        "repeat" => ops::repeat(&x[0], args.count("repeats"), args.axis("axis")),
        "roll" => ops::roll(&x[0], &args.ints("shift"), args.axes("axis")),
        "pad" => {
            let value = if args.has("constant_values") { args.int("constant_values", 0) } else { 0 };
            ops::pad(&x[0], args.pad_width(), args.pad_mode(), value)
        }
        "diag" => ops::diag(&x[0], args.int("k", 0)),
        "diagonal" => ops::diagonal(&x[0], args.int("offset", 0), args.int("axis1", 0), args.int("axis2", 1)),
        "trace" => ops::trace(&x[0], 0, 0, 1, None),
        "tril" => ops::tril(&x[0], args.int("k", 0)),
        "triu" => ops::triu(&x[0], args.int("k", 0)),
        _ => return None,
    })
}

fn selection(function: &str, x: &[Array], args: &Arguments) -> Option<Array> {
    let indices = || -> Vec<Index> { args.indices(x) };
    Some(match function {
        "index" => ops::index(&x[0], &indices()),
        "slice_update" => ops::slice_update(&x[0], &x[1], &indices()),
        "slice_fill" => ops::slice_update(&x[0], args.number("value"), &indices()),
        "take" => ops::take(&x[0], &x[1], args.axis("axis")),
        "take_along_axis" => ops::take_along_axis(&x[0], &x[1], args.axis("axis")),
        "put_along_axis" => ops::put_along_axis(&x[0], &x[1], &x[2], args.axis("axis")),
        _ => return None,
    })
}

fn creation(function: &str, _: &[Array], args: &Arguments) -> Option<Array> {
    let dtype = args.dtype().unwrap_or(Dtype::Float32);
    Some(match function {
        "zeros" => ops::zeros(args.shape("shape"), dtype),
        "ones" => ops::ones(args.shape("shape"), dtype),
        "full" => ops::full(args.shape("shape"), args.number("vals"), dtype),
        "eye" => ops::eye(args.count("n"), args.count("m"), args.int("k", 0), dtype),
        "tri" => ops::tri(args.count("n"), args.count("m"), args.int("k", 0), dtype),
        "identity" => ops::identity(args.count("n"), dtype),
        "arange" => ops::arange(args.number("start"), args.number("stop"), args.number("step"), args.dtype()),
        "linspace" => {
            let (start, stop) = (args.float("start", 0.0), args.float("stop", 0.0));
            ops::linspace(start, stop, args.count("num"), args.flag("endpoint", true), dtype)
        }
        _ => return None,
    })
}

fn product(function: &str, x: &[Array], args: &Arguments) -> Option<Array> {
    Some(match function {
        "matmul" => ops::matmul(&x[0], &x[1]),
        "matmul_views" => {
            let every = |step| Index::step(None, None, step);
            let a = ops::swapaxes(&x[0], -1, -2).index([Index::Ellipsis, every(2)]);
            let b = ops::swapaxes(&x[1], -1, -2);
            let b = b.index([Index::Ellipsis, every(2), every(-1)]);
            ops::matmul(&a, &b)
        }
        "addmm" => ops::addmm(&x[0], &x[1], &x[2], args.float("alpha", 1.0), args.float("beta", 1.0)),
        "inner" => ops::inner(&x[0], &x[1]),
        "outer" => ops::outer(&x[0], &x[1]),
        "kron" => ops::kron(&x[0], &x[1]),
        "vecdot" => ops::vecdot(&x[0], &x[1], args.int("axis", -1)),
        "tensordot" if args.is_list("axes") => {
            let mut lists = args.int_lists("axes");
            let right = lists.pop().unwrap();
            ops::tensordot(&x[0], &x[1], Contraction::Axes(lists.pop().unwrap(), right))
        }
        "tensordot" => ops::tensordot(&x[0], &x[1], args.count("axes")),
        _ => return None,
    })
}

fn transform(function: &str, x: &[Array], args: &Arguments) -> Option<Array> {
    let norm = || if args.has("norm") { args.text("norm").parse().unwrap() } else { Norm::Backward };
    let n = || args.has("n").then(|| args.count("n"));
    let sizes = || args.has("s").then(|| args.shape("s"));
    let m = || args.count("m");
    Some(match function {
        "fft" => fft::fft(&x[0], n(), args.int("axis", -1), norm()),
        "ifft" => fft::ifft(&x[0], n(), args.int("axis", -1), norm()),
        "rfft" => fft::rfft(&x[0], n(), args.int("axis", -1), norm()),
        "irfft" => fft::irfft(&x[0], n(), args.int("axis", -1), norm()),
        "fftn" => fft::fftn(&x[0], sizes().as_deref(), args.axes("axes"), norm()),
        "ifftn" => fft::ifftn(&x[0], sizes().as_deref(), args.axes("axes"), norm()),
        "rfftn" => fft::rfftn(&x[0], sizes().as_deref(), args.axes("axes"), norm()),
        "irfftn" => fft::irfftn(&x[0], sizes().as_deref(), args.axes("axes"), norm()),
        "fftshift" => fft::fftshift(&x[0], Axes::All),
        "ifftshift" => fft::ifftshift(&x[0], Axes::All),
        "searchsorted" => {
            let side = if args.text("side") == "left" { Side::Left } else { Side::Right };
            ops::searchsorted(&x[0], &x[1], side)
        }
        "einsum" => ops::einsum(args.text("subscripts"), &x.iter().collect::<Vec<_>>()),
        "hadamard_transform" => ops::hadamard_transform(&x[0], None),
        "bartlett" => ops::bartlett(m()),
        "blackman" => ops::blackman(m()),
        "hamming" => ops::hamming(m()),
        "hanning" => ops::hanning(m()),
        "to_fp8" => ops::to_fp8(&x[0]),
        "from_fp8" => ops::from_fp8(&x[0], args.dtype().unwrap()),
        _ => return None,
    })
}

fn from_key(function: &str, x: &[Array], args: &Arguments) -> Option<Array> {
    let dtype = args.dtype().unwrap_or(Dtype::Float32);
    let key = x.first();
    let shape = || args.shape("shape");
    let maybe_shape = || args.has("shape").then(|| Shape::from(args.shape("shape")));
    let limits = || match x {
        [_, low, high] => (Operand::from(low), Operand::from(high)),
        _ => (Operand::from(args.number("low")), Operand::from(args.number("high"))),
    };
    Some(match function {
        "random_key" => random::key(args.word("seed")),
        "random_split" => random::split(&x[0], args.count("num")),
        "random_uniform" => {
            let (low, high) = limits();
            random::uniform(low, high, shape(), dtype, key)
        }
        "random_randint" => {
            let (low, high) = limits();
            random::randint(low, high, shape(), dtype, key)
        }
        "random_normal" => {
            random::normal(shape(), dtype, args.float("loc", 0.0), args.float("scale", 1.0), key)
        }
        "random_truncated_normal" => {
            let (lower, upper) = (args.float("lower", 0.0), args.float("upper", 0.0));
            random::truncated_normal(lower, upper, maybe_shape(), dtype, key)
        }
        "random_gumbel" => random::gumbel(shape(), dtype, key),
        "random_laplace" => {
            random::laplace(shape(), dtype, args.float("loc", 0.0), args.float("scale", 1.0), key)
        }
        "random_bernoulli" => match args.maybe_float("p") {
            Some(p) => random::bernoulli(p, maybe_shape(), key),
            None => random::bernoulli(&x[1], maybe_shape(), key),
        },
        "random_categorical" => {
            let samples = match maybe_shape() {
                Some(shape) => Samples::Shape(shape),
                None if args.has("num_samples") => Samples::Count(args.count("num_samples")),
                None => Samples::One,
            };
            random::categorical(&x[1], args.int("axis", -1), samples, key)
        }
        "random_permutation" if args.has("n") => random::permutation(args.count("n"), key),
        "random_permutation" => random::permutation_of(&x[1], args.int("axis", 0), key),
        _ => return None,
    })
}
