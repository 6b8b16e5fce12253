//! Operators, from one table: what an operator is called, the function behind it, and what it does in an error.
#![allow(unsafe_op_in_unsafe_fn, reason = "what PyO3 makes of operators that come from a macro")]

use pellucid::ops;
use pyo3::basic::CompareOp;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;

use super::PyArray;
use crate::args::{Arr, Input};
use crate::call::build;
use crate::ops::binary::{Binary, apply};
use crate::type_name;

impl PyArray {
    fn with(
        &self,
        py: Python<'_>,
        function: Binary,
        what: &str,
        other: &Bound<'_, PyAny>,
    ) -> PyResult<PyArray> {
        apply(py, function, &Input::Array(self.array()), &operand(what, other)?, None)
    }

    fn reflected(
        &self,
        py: Python<'_>,
        function: Binary,
        what: &str,
        other: &Bound<'_, PyAny>,
    ) -> PyResult<PyArray> {
        apply(py, function, &operand(what, other)?, &Input::Array(self.array()), None)
    }
}

fn operand(what: &str, other: &Bound<'_, PyAny>) -> PyResult<Input> {
    Input::read(other)?.ok_or_else(|| {
        let message = format!("cannot perform {what} on an array and {}", type_name(other));
        if other.is_none() { PyTypeError::new_err(message) } else { PyValueError::new_err(message) }
    })
}

macro_rules! operators {
    ($($op:ident $what:literal: $forward:ident $in_place:ident $($reflected:ident)?;)*) => {
        #[pymethods]
        impl PyArray {
            $(fn $forward(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<PyArray> {
                self.with(py, ops::$op, $what, other)
            }

            fn $in_place(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<()> {
                self.replace(self.with(py, ops::$op, $what, other)?.array());
                Ok(())
            }

            $(fn $reflected(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<PyArray> {
                self.reflected(py, ops::$op, $what, other)
            })?)*
        }
    };
}

// Operators on bits have no reflected form, as in MLX.
operators! {
    add "addition": __add__ __iadd__ __radd__;
    subtract "subtraction": __sub__ __isub__ __rsub__;
    multiply "multiplication": __mul__ __imul__ __rmul__;
    floor_divide "floor division": __floordiv__ __ifloordiv__ __rfloordiv__;
    remainder "modulus": __mod__ __imod__ __rmod__;
    bitwise_and "bitwise and": __and__ __iand__;
    bitwise_or "bitwise or": __or__ __ior__;
    bitwise_xor "bitwise xor": __xor__ __ixor__;
    left_shift "left shift": __lshift__ __ilshift__;
    right_shift "right shift": __rshift__ __irshift__;
}

fn matrix<'py>(other: &Bound<'py, PyAny>) -> PyResult<Arr> {
    other.extract::<Arr>().map_err(|_| {
        PyTypeError::new_err(format!(
            "cannot perform matrix multiplication on an array and {}",
            type_name(other)
        ))
    })
}

#[pymethods]
impl PyArray {
    fn __pow__(
        &self,
        py: Python<'_>,
        other: &Bound<'_, PyAny>,
        modulo: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<PyArray> {
        without_modulo(modulo)?;
        self.with(py, ops::power, "power", other)
    }

    fn __rpow__(
        &self,
        py: Python<'_>,
        other: &Bound<'_, PyAny>,
        modulo: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<PyArray> {
        without_modulo(modulo)?;
        self.reflected(py, ops::power, "power", other)
    }

    fn __ipow__(
        &self,
        py: Python<'_>,
        other: &Bound<'_, PyAny>,
        modulo: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        without_modulo(modulo)?;
        self.replace(self.with(py, ops::power, "power", other)?.array());
        Ok(())
    }

    fn __truediv__(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<PyArray> {
        self.with(py, ops::divide, "division", other)
    }

    fn __rtruediv__(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<PyArray> {
        self.reflected(py, ops::divide, "division", other)
    }

    fn __itruediv__(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<()> {
        let dtype = self.array().dtype();
        if !dtype.is_inexact() {
            let message = format!("division in place would turn {dtype} into float32; write a = a / b");
            return Err(PyValueError::new_err(message));
        }
        self.replace(self.__truediv__(py, other)?.array());
        Ok(())
    }

    fn __matmul__(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<PyArray> {
        let other = matrix(other)?;
        build(py, None, || ops::matmul(&self.array(), &other))
    }

    fn __imatmul__(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<()> {
        self.replace(self.__matmul__(py, other)?.array());
        Ok(())
    }

    fn __neg__(&self, py: Python<'_>) -> PyResult<PyArray> {
        build(py, None, || ops::negative(&self.array()))
    }

    fn __pos__(&self) -> PyArray {
        PyArray::new(self.array())
    }

    fn __abs__(&self, py: Python<'_>) -> PyResult<PyArray> {
        build(py, None, || ops::abs(&self.array()))
    }

    fn __invert__(&self, py: Python<'_>) -> PyResult<PyArray> {
        build(py, None, || ops::bitwise_invert(&self.array()))
    }

    /// The older name of `__truediv__`.
    fn __div__(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<PyArray> {
        self.__truediv__(py, other)
    }

    /// The older name of `__rtruediv__`.
    fn __rdiv__(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<PyArray> {
        self.__rtruediv__(py, other)
    }

    fn __richcmp__<'py>(
        &self,
        py: Python<'py>,
        other: &Bound<'py, PyAny>,
        op: CompareOp,
    ) -> PyResult<Bound<'py, PyAny>> {
        let (function, what): (Binary, &str) = match op {
            CompareOp::Lt => (ops::less, "less than"),
            CompareOp::Le => (ops::less_equal, "less than or equal"),
            CompareOp::Gt => (ops::greater, "greater than"),
            CompareOp::Ge => (ops::greater_equal, "greater than or equal"),
            // An object that is no number and no array is not equal to one.
            CompareOp::Eq | CompareOp::Ne
                if !other.is_none() && Input::read(other).unwrap_or(None).is_none() =>
            {
                return Ok(pyo3::types::PyBool::new(py, matches!(op, CompareOp::Ne)).to_owned().into_any());
            }
            CompareOp::Eq => (ops::equal, "equality"),
            CompareOp::Ne => (ops::not_equal, "inequality"),
        };
        Ok(Bound::new(py, self.with(py, function, what, other)?)?.into_any())
    }
}

fn without_modulo(modulo: Option<&Bound<'_, PyAny>>) -> PyResult<()> {
    match modulo {
        Some(_) => Err(PyTypeError::new_err("pow() of arrays takes no modulus")),
        None => Ok(()),
    }
}
