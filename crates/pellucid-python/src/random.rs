//! Random numbers: `pellucid.core.random`.

use pellucid::random::{self, Samples};
use pellucid::{Array, Dtype, Shape, ops};
use pyo3::exceptions::{PyIndexError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyInt, PyList};

use crate::args::{Arr, Count, Input, Int, SizeList, alone};
use crate::array::PyArray;
use crate::call::build;
use crate::dtype::PyDtype;

fn shape_or_none(shape: Option<SizeList>) -> Shape {
    shape.map_or_else(Shape::default, |shape| shape.0.into())
}

fn or(dtype: Option<PyDtype>, default: Dtype) -> Dtype {
    dtype.map_or(default, |dtype| dtype.0)
}

fn or_number(value: &Option<Input>, number: i64) -> ops::Operand<'static> {
    value.as_ref().map_or_else(|| number.into(), alone)
}

/// An integer for `permutation`, or the array to permute.
enum Permuted {
    Count(usize),
    Array(Array),
}

impl<'py> FromPyObject<'_, 'py> for Permuted {
    type Error = PyErr;

    fn extract(obj: Borrowed<'_, 'py, PyAny>) -> PyResult<Permuted> {
        if obj.is_instance_of::<PyInt>() {
            return Ok(Permuted::Count(obj.extract::<Count>()?.0));
        }
        obj.extract::<Arr>().map(|array| Permuted::Array(array.0))
    }
}

mod table {
    use super::*;

    crate::ops::functions! {
        split(key, num = Count(2), stream = None) as "(key, num=2, stream=None)" [key: Arr, num: Count]
            "(key: array, num: int = 2, stream: StreamOrDevice = None)" "array"
            "New keys from one."
            => random::split(&key, num.0);
        uniform(low = None, high = None, shape = None, dtype = None, key = None, stream = None)
            [low: Option<Input>, high: Option<Input>, shape: Option<SizeList>, dtype: Option<PyDtype>, key: Option<Arr>]
            "(low: scalar | array = 0, high: scalar | array = 1, shape: Sequence[int] = [], dtype: Dtype | None = float32, key: array | None = None, stream: StreamOrDevice = None)" "array"
            "Numbers between two limits, all equally likely."
            => random::uniform(or_number(&low, 0), or_number(&high, 1), shape_or_none(shape), or(dtype, Dtype::Float32), key.as_deref());
        normal(shape = None, dtype = None, loc = None, scale = None, key = None, stream = None)
            [shape: Option<SizeList>, dtype: Option<PyDtype>, loc: Option<Input>, scale: Option<Input>, key: Option<Arr>]
            "(shape: Sequence[int] = [], dtype: Dtype | None = float32, loc: scalar | array | None = None, scale: scalar | array | None = None, key: array | None = None, stream: StreamOrDevice = None)" "array"
            "Numbers of the normal distribution."
            => random::normal(shape_or_none(shape), or(dtype, Dtype::Float32), or_number(&loc, 0), or_number(&scale, 1), key.as_deref());
        truncated_normal(lower, upper, shape = None, dtype = None, key = None, stream = None)
            [lower: Input, upper: Input, shape: Option<SizeList>, dtype: Option<PyDtype>, key: Option<Arr>]
            "(lower: scalar | array, upper: scalar | array, shape: Sequence[int] | None = None, dtype: Dtype | None = float32, key: array | None = None, stream: StreamOrDevice = None)" "array"
            "Numbers of the normal distribution that lie between two limits."
            => random::truncated_normal(alone(&lower), alone(&upper), shape.map(|shape| shape.0.into()), or(dtype, Dtype::Float32), key.as_deref());
        multivariate_normal(mean, cov, shape = None, dtype = None, key = None, stream = None)
            [mean: Arr, cov: Arr, shape: Option<SizeList>, dtype: Option<PyDtype>, key: Option<Arr>]
            "(mean: array, cov: array, shape: Sequence[int] = [], dtype: Dtype | None = float32, key: array | None = None, stream: StreamOrDevice = None)" "array"
            "Numbers that are normal together, with these means and covariances."
            => random::multivariate_normal(&mean, &cov, shape_or_none(shape), or(dtype, Dtype::Float32), key.as_deref());
        gumbel(shape = None, dtype = None, key = None, stream = None)
            [shape: Option<SizeList>, dtype: Option<PyDtype>, key: Option<Arr>]
            "(shape: Sequence[int] = [], dtype: Dtype | None = float32, key: array | None = None, stream: StreamOrDevice = None)" "array"
            "Numbers of the Gumbel distribution."
            => random::gumbel(shape_or_none(shape), or(dtype, Dtype::Float32), key.as_deref());
        laplace(shape = None, dtype = None, loc = 0.0, scale = 1.0, key = None, stream = None)
            [shape: Option<SizeList>, dtype: Option<PyDtype>, loc: f64, scale: f64, key: Option<Arr>]
            "(shape: Sequence[int] = [], dtype: Dtype | None = float32, loc: float = 0.0, scale: float = 1.0, key: array | None = None, stream: StreamOrDevice = None)" "array"
            "Numbers of the Laplace distribution."
            => random::laplace(shape_or_none(shape), or(dtype, Dtype::Float32), loc, scale, key.as_deref());
        bernoulli(p = None, shape = None, key = None, stream = None)
            [p: Option<Input>, shape: Option<SizeList>, key: Option<Arr>]
            "(p: scalar | array = 0.5, shape: Sequence[int] | None = None, key: array | None = None, stream: StreamOrDevice = None)" "array"
            "True with a probability."
            => random::bernoulli(p.as_ref().map_or_else(|| 0.5.into(), alone), shape.map(|shape| shape.0.into()), key.as_deref());
        categorical(logits, axis = -1, shape = None, num_samples = None, key = None, stream = None)
            [logits: Arr, axis: i64, shape: Option<SizeList>, num_samples: Option<Count>, key: Option<Arr>]
            "(logits: array, axis: int = -1, shape: Sequence[int] | None = None, num_samples: int | None = None, key: array | None = None, stream: StreamOrDevice = None)" "array"
            "Positions along an axis, with probabilities given by their logarithms."
            => {
                let samples = match (shape, num_samples) {
                    (Some(_), Some(_)) => return Err(crate::ops::argument("categorical", "takes shape or num_samples, not both".to_owned())),
                    (Some(shape), None) => Samples::Shape(shape.0.into()),
                    (None, Some(count)) => Samples::Count(count.0),
                    (None, None) => Samples::One,
                };
                Ok(random::categorical(&logits, axis, samples, key.as_deref()))
            };
        randint(low, high, shape = None, dtype = None, key = None, stream = None)
            [low: Input, high: Input, shape: Option<SizeList>, dtype: Option<PyDtype>, key: Option<Arr>]
            "(low: scalar | array, high: scalar | array, shape: Sequence[int] = [], dtype: Dtype | None = int32, key: array | None = None, stream: StreamOrDevice = None)" "array"
            "Integers from one up to but not including another."
            => random::randint(alone(&low), alone(&high), shape_or_none(shape), or(dtype, Dtype::Int32), key.as_deref());
        permutation(x, axis = Int(0), key = None, stream = None) as "(x, axis=0, key=None, stream=None)" [x: Permuted, axis: Int, key: Option<Arr>]
            "(x: int | array, axis: int = 0, key: array | None = None, stream: StreamOrDevice = None)" "array"
            "The numbers below x, or the parts of an array along an axis, in random order."
            => match x {
                Permuted::Count(count) => random::permutation(count, key.as_deref()),
                Permuted::Array(array) => random::permutation_of(&array, axis.0, key.as_deref()),
            };
    }
}

/// A seed: a number that is not negative.
struct Seed(u64);

impl<'py> FromPyObject<'_, 'py> for Seed {
    type Error = PyErr;

    fn extract(obj: Borrowed<'_, 'py, PyAny>) -> PyResult<Seed> {
        obj.extract()
            .map(Seed)
            .map_err(|_| PyTypeError::new_err("a seed is an integer of 64 bits, not negative"))
    }
}

/// key(seed: int) -> array
///
/// A key for random numbers.
#[pyfunction]
fn key(py: Python<'_>, seed: Seed) -> PyResult<PyArray> {
    build(py, None, || random::key(seed.0))
}

/// seed(seed: int) -> None
///
/// Starts this thread's sequence of keys.
#[pyfunction]
fn seed(seed: Seed) {
    random::seed(seed.0);
}

/// The key that this thread's sequence goes on from, as a sequence of one array.
#[pyclass(name = "_RandomState", module = "pellucid.core.random", frozen)]
pub struct RandomState;

#[pymethods]
impl RandomState {
    fn __len__(&self) -> usize {
        1
    }

    fn __getitem__(&self, py: Python<'_>, index: isize) -> PyResult<PyArray> {
        if !matches!(index, 0 | -1) {
            return Err(PyIndexError::new_err("the random state is one array"));
        }
        build(py, None, random::state)
    }

    fn __setitem__(&self, py: Python<'_>, index: isize, key: Arr) -> PyResult<()> {
        if !matches!(index, 0 | -1) {
            return Err(PyIndexError::new_err("the random state is one array"));
        }
        build(py, None, || random::set_state(&key))
    }

    fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let list = PyList::new(py, [self.__getitem__(py, 0)?])?;
        list.call_method0("__iter__")
    }
}

pub fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    let random = crate::submodule(m, "random", "Random numbers from keys.")?;
    table::register(&random)?;
    crate::add_functions!(&random: key, seed);
    random.add_class::<RandomState>()?;
    random.add("state", RandomState)?;
    Ok(())
}
