//! What the arguments of operations may be, and how they are read.

use pellucid::op::Scalar;
use pellucid::ops::Operand;
use pellucid::{Array, Axes, Shape, ops};
use pyo3::exceptions::{PyOverflowError, PyTypeError, PyValueError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{
    PyBool, PyComplex, PyComplexMethods, PyDict, PyFloat, PyInt, PyList, PySequence, PyString, PyTuple,
};

use crate::array::foreign::{Copying, too_large};
use crate::array::{PyArray, construct};
use crate::type_name;

/// The most integers in a list of axes or of numbers for axes. Somewhat more than there can be axes, so that the function
/// that was called says what is wrong with a list that is a little too long.
const MOST_INTEGERS: usize = 4 * Shape::MAX_AXES;
/// The most positions at which an array is divided.
const MOST_POSITIONS: usize = 1 << 24;

/// An array, and nothing that would have to become one.
pub struct Arr(pub Array);

impl std::ops::Deref for Arr {
    type Target = Array;
    fn deref(&self) -> &Array {
        &self.0
    }
}

impl<'py> FromPyObject<'_, 'py> for Arr {
    type Error = PyErr;

    fn extract(obj: Borrowed<'_, 'py, PyAny>) -> PyResult<Arr> {
        match obj.cast::<PyArray>() {
            Ok(array) => Ok(Arr(array.get().array())),
            Err(_) => match wrapped(&obj)? {
                Some(array) => Ok(Arr(array)),
                None => Err(PyTypeError::new_err(format!("expected an array, not {}", type_name(&obj)))),
            },
        }
    }
}

/// The array of an object that offers one as MLX asks for it.
fn wrapped(obj: &Bound<'_, PyAny>) -> PyResult<Option<Array>> {
    let name = intern!(obj.py(), "__mlx_array__");
    if !obj.hasattr(name)? {
        return Ok(None);
    }
    let made = obj.call_method0(name)?;
    let array =
        made.cast::<PyArray>().map_err(|_| PyTypeError::new_err("__mlx_array__ must return an array"))?;
    Ok(Some(array.get().array()))
}

/// A Python number. Integers keep 64 bits; `None` if it is not a number.
pub fn number(obj: &Bound<'_, PyAny>) -> PyResult<Option<Scalar>> {
    Ok(Some(if obj.is_instance_of::<PyFloat>() {
        Scalar::Float(obj.extract()?)
    } else if obj.is_instance_of::<PyBool>() {
        Scalar::Bool(obj.extract()?)
    } else if obj.is_instance_of::<PyInt>() {
        match obj.extract::<i64>() {
            Ok(value) => Scalar::Int(value),
            Err(_) => Scalar::Uint(
                obj.extract::<u64>()
                    .map_err(|_| PyValueError::new_err(format!("the number {obj} does not fit 64 bits")))?,
            ),
        }
    } else if let Ok(value) = obj.cast::<PyComplex>() {
        Scalar::Complex(value.real(), value.imag())
    } else {
        return Ok(None);
    }))
}

/// An object of another kind that says which complex number it is, as MLX takes it.
fn convertible(obj: &Bound<'_, PyAny>) -> PyResult<Option<Input>> {
    if !obj.hasattr(intern!(obj.py(), "__complex__"))? {
        return Ok(None);
    }
    let made = obj.py().get_type::<PyComplex>().call1((obj,))?.cast_into::<PyComplex>()?;
    Ok(Some(Input::Number(Scalar::Complex(made.real(), made.imag()))))
}

/// An array or a number. Memory of another library becomes an array that takes the type of the array it meets.
pub enum Input {
    Array(Array),
    Number(Scalar),
    Foreign(Array),
}

impl Input {
    /// Reads an input; `None` if the object is not one.
    pub fn read(obj: &Bound<'_, PyAny>) -> PyResult<Option<Input>> {
        if let Ok(array) = obj.cast::<PyArray>() {
            return Ok(Some(Input::Array(array.get().array())));
        }
        if let Some(value) = number(obj)? {
            return Ok(Some(Input::Number(value)));
        }
        if obj.is_instance_of::<PyList>() || obj.is_instance_of::<PyTuple>() {
            return Ok(None);
        }
        if let Some(array) = wrapped(obj)? {
            return Ok(Some(Input::Array(array)));
        }
        if let Some(array) = construct::from_foreign(obj, false, Copying::Always)? {
            return Ok(Some(Input::Foreign(array)));
        }
        convertible(obj)
    }

    /// As the only input of a function: a number has the type it has on its own.
    pub fn single(self) -> Array {
        match self {
            Input::Array(a) | Input::Foreign(a) => a,
            Input::Number(v) => Array::scalar(v),
        }
    }

    fn operand(&self, other: &Input) -> Operand<'static> {
        match (self, other) {
            (Input::Number(v), _) => Operand::from(*v),
            (Input::Foreign(a), Input::Array(b)) => Operand::from(ops::astype(a, b.dtype())),
            (Input::Array(a) | Input::Foreign(a), _) => Operand::from(a.clone()),
        }
    }
}

impl From<Arr> for Input {
    fn from(array: Arr) -> Input {
        Input::Array(array.0)
    }
}

/// Two inputs as the library takes them.
pub fn pair(a: &Input, b: &Input) -> (Operand<'static>, Operand<'static>) {
    (a.operand(b), b.operand(a))
}

/// One input beside nothing it could take its type from.
pub fn alone(a: &Input) -> Operand<'static> {
    match a {
        Input::Number(v) => Operand::from(*v),
        Input::Array(a) | Input::Foreign(a) => Operand::from(a.clone()),
    }
}

impl<'py> FromPyObject<'_, 'py> for Input {
    type Error = PyErr;

    fn extract(obj: Borrowed<'_, 'py, PyAny>) -> PyResult<Input> {
        Input::read(&obj)?.ok_or_else(|| {
            let message =
                format!("{} is neither an array nor a number; make an array of it first", type_name(&obj));
            if obj.is_none() { PyTypeError::new_err(message) } else { PyValueError::new_err(message) }
        })
    }
}

/// An integer, not a bool and not a float.
pub struct Int(pub i64);

impl<'py> FromPyObject<'_, 'py> for Int {
    type Error = PyErr;

    fn extract(obj: Borrowed<'_, 'py, PyAny>) -> PyResult<Int> {
        if obj.is_instance_of::<PyFloat>() || obj.is_instance_of::<PyArray>() {
            return Err(PyTypeError::new_err(format!("expected an integer, not {}", type_name(&obj))));
        }
        obj.extract::<i64>().map(Int)
    }
}

/// The items of a sequence, `most` at most. A sequence may be as long as it likes without having that many items in
/// memory, such as `range(2**62)`, so that nothing is made for it before its length is known to be possible.
pub fn items<'py, T>(
    obj: &Bound<'py, PyAny>,
    most: usize,
    read: impl Fn(Bound<'py, PyAny>) -> PyResult<T>,
) -> PyResult<Vec<T>> {
    let too_long = |length: String| {
        Err(PyValueError::new_err(format!("a sequence of {length} items is given, and {most} are possible")))
    };
    match obj.len() {
        Ok(length) if length > most => return too_long(length.to_string()),
        // Longer than any memory.
        Err(error) if error.is_instance_of::<PyOverflowError>(obj.py()) => {
            return too_long(error.to_string());
        }
        _ => {}
    }
    let mut list = Vec::new();
    for item in obj.try_iter()? {
        if list.len() == most {
            return too_long(format!("more than {most}"));
        }
        list.push(read(item?)?);
    }
    Ok(list)
}

/// One integer or a sequence of them.
pub struct Ints {
    pub list: Vec<i64>,
    pub single: bool,
}

impl Ints {
    fn read(obj: &Bound<'_, PyAny>, most: usize) -> PyResult<Ints> {
        if obj.is_instance_of::<PyInt>() {
            return Ok(Ints { list: vec![obj.extract()?], single: true });
        }
        let integers = || items(obj, most, |item| Ok(item.extract::<Int>()?.0));
        if obj.is_instance_of::<PyList>() || obj.is_instance_of::<PyTuple>() {
            return Ok(Ints { list: integers()?, single: false });
        }
        if let Ok(Int(value)) = obj.extract::<Int>() {
            return Ok(Ints { list: vec![value], single: true });
        }
        let wrong = || {
            let kind = type_name(obj);
            PyTypeError::new_err(format!("expected an integer or a sequence of integers, not {kind}"))
        };
        if obj.is_instance_of::<PyString>() || obj.cast::<PySequence>().is_err() {
            return Err(wrong());
        }
        match integers() {
            Ok(list) => Ok(Ints { list, single: false }),
            Err(error) if error.is_instance_of::<PyTypeError>(obj.py()) => Err(wrong()),
            Err(error) => Err(error),
        }
    }
}

impl<'py> FromPyObject<'_, 'py> for Ints {
    type Error = PyErr;

    fn extract(obj: Borrowed<'_, 'py, PyAny>) -> PyResult<Ints> {
        Ints::read(&obj, MOST_INTEGERS)
    }
}

/// Where an array is divided: a number of parts, or positions, of which there may be many.
pub struct Parts(pub Ints);

impl<'py> FromPyObject<'_, 'py> for Parts {
    type Error = PyErr;

    fn extract(obj: Borrowed<'_, 'py, PyAny>) -> PyResult<Parts> {
        Ints::read(&obj, MOST_POSITIONS).map(Parts)
    }
}

/// A sequence of integers.
pub struct IntList(pub Vec<i64>);

/// Sizes of axes, of which negative ones may stand for what is left.
pub struct NewSizes(pub Vec<i64>);

impl<'py> FromPyObject<'_, 'py> for NewSizes {
    type Error = PyErr;

    fn extract(obj: Borrowed<'_, 'py, PyAny>) -> PyResult<NewSizes> {
        let IntList(list) = obj.extract()?;
        match list.iter().find(|&&size| i32::try_from(size).is_err()) {
            None => Ok(NewSizes(list)),
            Some(size) => Err(too_large(size)),
        }
    }
}

impl<'py> FromPyObject<'_, 'py> for IntList {
    type Error = PyErr;

    fn extract(obj: Borrowed<'_, 'py, PyAny>) -> PyResult<IntList> {
        match obj.extract::<Ints>()? {
            Ints { list, single: false } => Ok(IntList(list)),
            _ => Err(PyTypeError::new_err("expected a sequence of integers, not an integer")),
        }
    }
}

/// Sizes of axes: one, or a sequence of them.
pub struct Sizes(pub Vec<usize>);

impl<'py> FromPyObject<'_, 'py> for Sizes {
    type Error = PyErr;

    fn extract(obj: Borrowed<'_, 'py, PyAny>) -> PyResult<Sizes> {
        sizes(&obj.extract::<Ints>()?.list).map(Sizes)
    }
}

/// Sizes of axes as a sequence.
pub struct SizeList(pub Vec<usize>);

impl<'py> FromPyObject<'_, 'py> for SizeList {
    type Error = PyErr;

    fn extract(obj: Borrowed<'_, 'py, PyAny>) -> PyResult<SizeList> {
        sizes(&obj.extract::<IntList>()?.0).map(SizeList)
    }
}

/// Sizes, which are not negative.
pub fn sizes(list: &[i64]) -> PyResult<Vec<usize>> {
    let size = |&size: &i64| {
        if i32::try_from(size).is_err() {
            return Err(too_large(size));
        }
        usize::try_from(size).map_err(|_| {
            PyValueError::new_err(format!(
                "[shape] sizes must not be negative, but one is {size} in {list:?}"
            ))
        })
    };
    list.iter().map(size).collect()
}

/// A number that must not be negative.
#[derive(Clone, Copy)]
pub struct Count(pub usize);

impl<'py> FromPyObject<'_, 'py> for Count {
    type Error = PyErr;

    fn extract(obj: Borrowed<'_, 'py, PyAny>) -> PyResult<Count> {
        let Int(value) = obj.extract()?;
        let negative = |_| PyValueError::new_err(format!("must not be negative, but is {value}"));
        usize::try_from(value).map(Count).map_err(negative)
    }
}

/// The axes of a reduction: all of them, one or several.
pub fn axes(given: Option<Ints>) -> Axes {
    given.map_or(Axes::All, |ints| Axes::from(ints.list))
}

/// One axis, or none.
pub fn axis(given: Option<Int>) -> Option<i64> {
    given.map(|Int(axis)| axis)
}

/// The arrays of a list or tuple.
pub struct Arrays(pub Vec<Array>);

impl Arrays {
    pub fn refs(&self) -> Vec<&Array> {
        self.0.iter().collect()
    }
}

impl<'py> FromPyObject<'_, 'py> for Arrays {
    type Error = PyErr;

    fn extract(obj: Borrowed<'_, 'py, PyAny>) -> PyResult<Arrays> {
        if obj.is_instance_of::<PyDict>() {
            return Err(PyTypeError::new_err("expected a sequence of arrays, not a dict"));
        }
        let items: PyResult<Vec<Array>> = obj.try_iter()?.map(|item| Ok(item?.extract::<Arr>()?.0)).collect();
        items.map(Arrays)
    }
}
