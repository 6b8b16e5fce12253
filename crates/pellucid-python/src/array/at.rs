//! `a.at[i].add(v)`: updates that add up where an index names a place twice.

use pellucid::ops::{self, Accumulate};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use super::PyArray;
use super::index::{Selected, selected};
use crate::args::{Input, alone};
use crate::call::build;

/// An array and a part of it that is to be updated.
#[pyclass(module = "pellucid.core", frozen)]
pub struct ArrayAt {
    array: Py<PyArray>,
    key: Option<Py<PyAny>>,
}

impl ArrayAt {
    pub fn new(array: Py<PyArray>) -> ArrayAt {
        ArrayAt { array, key: None }
    }

    fn update(&self, py: Python<'_>, how: Accumulate, value: &Input) -> PyResult<PyArray> {
        let Some(key) = &self.key else {
            return Err(PyValueError::new_err("say which part to update: a.at[indices].add(value)"));
        };
        let indices = match selected(key.bind(py))? {
            Selected::Places(indices) => indices,
            Selected::Mask(_) => {
                return Err(PyValueError::new_err("at takes integers, slices and integer arrays, not masks"));
            }
        };
        let array = self.array.get().array();
        build(py, None, || ops::slice_accumulate(&array, alone(value), &indices, how))
    }
}

macro_rules! updates {
    ($($name:ident $how:ident $doc:literal;)*) => {
        #[pymethods]
        impl ArrayAt {
            $(#[doc = concat!(stringify!($name), "(self, value: scalar | array) -> array\n\n", $doc)]
            fn $name(&self, py: Python<'_>, value: Input) -> PyResult<PyArray> {
                self.update(py, Accumulate::$how, &value)
            })*
        }
    };
}

updates! {
    add Add "A copy with the value added to the part.";
    subtract Subtract "A copy with the value subtracted from the part.";
    multiply Multiply "A copy with the part multiplied by the value.";
    divide Divide "A copy with the part divided by the value.";
    maximum Maximum "A copy with the larger of the part and the value.";
    minimum Minimum "A copy with the smaller of the part and the value.";
}

#[pymethods]
impl ArrayAt {
    fn __getitem__(&self, py: Python<'_>, indices: Py<PyAny>) -> ArrayAt {
        ArrayAt { array: self.array.clone_ref(py), key: Some(indices) }
    }
}
