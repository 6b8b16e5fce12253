//! Places in sorted sequences, different elements, and numbers in eight bits.

use pellucid::ops::{self, Side};
use pellucid::{Array, Dtype};
use pyo3::prelude::*;

use super::argument;
use crate::args::{Arr, Count, Input, alone};
use crate::array::PyArray;
use crate::call::{PyTupleOf, ToPython, Tuple};
use crate::dtype::PyDtype;

fn side(name: &str) -> pellucid::Result<Side> {
    match name {
        "left" => Ok(Side::Left),
        "right" => Ok(Side::Right),
        other => Err(argument("searchsorted", format!("side is left or right, not {other:?}"))),
    }
}

/// One array as itself, several as a tuple.
struct Asked(Vec<Array>);

#[derive(IntoPyObject)]
enum PyAsked {
    One(PyArray),
    Several(PyTupleOf),
}

impl ToPython for Asked {
    type Python = PyAsked;

    fn to_python(mut self) -> PyResult<PyAsked> {
        Ok(match self.0.len() {
            1 => PyAsked::One(self.0.remove(0).to_python()?),
            _ => PyAsked::Several(Tuple(self.0).to_python()?),
        })
    }
}

crate::ops::functions! {
    searchsorted(sorted_sequence, values, /, side = "left", *, stream = None) [sorted_sequence: Arr, values: Arr, side: &str]
        "(sorted_sequence: array, values: array, /, side: str = 'left', *, stream: StreamOrDevice = None)" "array"
        "Where values belong in a sorted sequence."
        => self::side(side).map(|side| ops::searchsorted(&sorted_sequence, &values, side));
    unique(a, /, size, return_index = false, return_inverse = false, return_counts = false, fill_value = None, *, stream = None)
        [a: Arr, size: Count, return_index: bool, return_inverse: bool, return_counts: bool, fill_value: Option<Input>]
        "(a: array, /, size: int, return_index: bool = False, return_inverse: bool = False, return_counts: bool = False, fill_value: scalar | array | None = None, *, stream: StreamOrDevice = None)" "array | tuple[array, ...]"
        "The different elements in ascending order, and where and how often they are."
        => {
            let found = ops::unique(&a, size.0, fill_value.as_ref().map(alone));
            let more = [(return_index, found.index), (return_inverse, found.inverse), (return_counts, found.counts)];
            let more = more.into_iter().filter(|(wanted, _)| *wanted).map(|(_, array)| array);
            Asked(std::iter::once(found.values).chain(more).collect())
        };
    to_fp8(x, *, stream = None) [x: Arr]
        "(x: array, *, stream: StreamOrDevice = None)" "array"
        "Numbers rounded to eight bits (e4m3)."
        => ops::to_fp8(&x);
    from_fp8(x, dtype = None, *, stream = None) as "(x, dtype=None, *, stream=None)" [x: Arr, dtype: Option<PyDtype>]
        "(x: array, dtype: Dtype = bfloat16, *, stream: StreamOrDevice = None)" "array"
        "The numbers that eight bits (e4m3) stand for."
        => ops::from_fp8(&x, dtype.map_or(Dtype::Bfloat16, |dtype| dtype.0));
}
