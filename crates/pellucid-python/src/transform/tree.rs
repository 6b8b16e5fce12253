//! Trees of arrays in Python: lists, tuples and dictionaries, in the order in which they were filled.

use pellucid::{Array, random};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyTuple};

use crate::array::PyArray;
use crate::error::OrRaise;
use crate::random::RandomState;

/// Trees deeper than this are not trees of arrays.
const DEEPEST: usize = 512;

fn too_deep() -> PyErr {
    PyValueError::new_err("the arguments are nested too deeply, or contain themselves")
}

/// What an object is in a tree.
pub enum Kind<'a, 'py> {
    Array(&'a Bound<'py, PyArray>),
    List(&'a Bound<'py, PyList>),
    Tuple(&'a Bound<'py, PyTuple>),
    Dict(&'a Bound<'py, PyDict>),
    Other,
}

pub fn kind<'a, 'py>(object: &'a Bound<'py, PyAny>) -> Kind<'a, 'py> {
    if let Ok(array) = object.cast::<PyArray>() {
        Kind::Array(array)
    } else if let Ok(list) = object.cast::<PyList>() {
        Kind::List(list)
    } else if let Ok(tuple) = object.cast::<PyTuple>() {
        Kind::Tuple(tuple)
    } else if let Ok(dict) = object.cast::<PyDict>() {
        Kind::Dict(dict)
    } else {
        Kind::Other
    }
}

/// Calls `f` for every leaf, in order.
pub fn visit<'py>(
    object: &Bound<'py, PyAny>,
    f: &mut impl FnMut(&Bound<'py, PyAny>) -> PyResult<()>,
) -> PyResult<()> {
    fn below<'py>(
        object: &Bound<'py, PyAny>,
        depth: usize,
        f: &mut impl FnMut(&Bound<'py, PyAny>) -> PyResult<()>,
    ) -> PyResult<()> {
        if depth > DEEPEST {
            return Err(too_deep());
        }
        match kind(object) {
            Kind::Array(_) | Kind::Other => f(object),
            Kind::List(list) => list.iter().try_for_each(|item| below(&item, depth + 1, f)),
            Kind::Tuple(tuple) => tuple.iter().try_for_each(|item| below(&item, depth + 1, f)),
            Kind::Dict(dict) => dict.iter().try_for_each(|(_, item)| below(&item, depth + 1, f)),
        }
    }
    below(object, 0, f)
}

/// The arrays of a tree; anything else in it is an error if `only_arrays`.
pub fn arrays(object: &Bound<'_, PyAny>, only_arrays: bool) -> PyResult<Vec<Array>> {
    let mut found = Vec::new();
    visit(object, &mut |leaf| {
        match leaf.cast::<PyArray>() {
            Ok(array) => found.push(array.get().array()),
            Err(_) if only_arrays => {
                let message = format!(
                    "[tree_flatten] The argument should contain only arrays, not {}",
                    crate::type_name(leaf)
                );
                return Err(PyValueError::new_err(message));
            }
            Err(_) => {}
        }
        Ok(())
    })?;
    Ok(found)
}

/// A tuple of the same class: named ones are called with their items, others with one list.
fn tuple_like<'py>(like: &Bound<'py, PyTuple>, items: Vec<Bound<'py, PyAny>>) -> PyResult<Bound<'py, PyAny>> {
    let py = like.py();
    let plain = PyTuple::new(py, items)?;
    if like.is_exact_instance_of::<PyTuple>() {
        return Ok(plain.into_any());
    }
    if like.hasattr("_fields")? {
        return like.get_type().call1(plain);
    }
    like.get_type().call1((PyList::new(py, plain.iter())?,))
}

/// The same tree with other leaves: new lists and dictionaries, tuples of their own class.
pub fn map<'py>(
    object: &Bound<'py, PyAny>,
    f: &mut impl FnMut(&Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    fn below<'py>(
        object: &Bound<'py, PyAny>,
        depth: usize,
        f: &mut impl FnMut(&Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        if depth > DEEPEST {
            return Err(too_deep());
        }
        let py = object.py();
        match kind(object) {
            Kind::Array(_) | Kind::Other => f(object),
            Kind::List(list) => {
                let items: Vec<_> =
                    list.iter().map(|item| below(&item, depth + 1, f)).collect::<PyResult<_>>()?;
                Ok(PyList::new(py, items)?.into_any())
            }
            Kind::Tuple(tuple) => {
                let items: Vec<_> =
                    tuple.iter().map(|item| below(&item, depth + 1, f)).collect::<PyResult<_>>()?;
                tuple_like(tuple, items)
            }
            Kind::Dict(dict) => {
                let made = PyDict::new(py);
                for (key, item) in dict.iter() {
                    made.set_item(key, below(&item, depth + 1, f)?)?;
                }
                Ok(made.into_any())
            }
        }
    }
    below(object, 0, f)
}

/// The same tree with other arrays, taken in order; everything else stays.
pub fn with_arrays<'py>(
    object: &Bound<'py, PyAny>,
    arrays: &mut impl Iterator<Item = Array>,
) -> PyResult<Bound<'py, PyAny>> {
    let py = object.py();
    map(object, &mut |leaf| match leaf.cast::<PyArray>() {
        Ok(_) => match arrays.next() {
            Some(array) => Ok(Bound::new(py, PyArray::new(array))?.into_any()),
            None => Ok(leaf.clone()),
        },
        Err(_) => Ok(leaf.clone()),
    })
}

/// A place in a list or a dictionary that holds a variable instead of the caller's array.
struct Slot<'py> {
    container: Bound<'py, PyAny>,
    key: Bound<'py, PyAny>,
    before: Bound<'py, PyAny>,
    variable: Bound<'py, PyAny>,
}

/// The caller's own lists and dictionaries, filled with variables: the function sees the objects that it was called with.
/// When it is over, each place gets the caller's array back, unless the function wrote something else there.
#[derive(Default)]
pub struct Filled<'py> {
    slots: Vec<Slot<'py>>,
    /// Whether the random state counts as an array.
    of_state: bool,
    /// The random state before.
    random: Option<Array>,
}

impl<'py> Filled<'py> {
    /// For trees of state, in which the random state is the key of this thread.
    pub fn of_state() -> Filled<'py> {
        Filled { of_state: true, ..Filled::default() }
    }

    /// Puts variables where the arrays of a tree are. Tuples cannot be changed and are made anew.
    pub fn fill(
        &mut self,
        object: &Bound<'py, PyAny>,
        variables: &mut impl Iterator<Item = Array>,
    ) -> PyResult<Bound<'py, PyAny>> {
        self.fill_below(object, 0, variables)
    }

    fn fill_below(
        &mut self,
        object: &Bound<'py, PyAny>,
        depth: usize,
        variables: &mut impl Iterator<Item = Array>,
    ) -> PyResult<Bound<'py, PyAny>> {
        if depth > DEEPEST {
            return Err(too_deep());
        }
        let py = object.py();
        match kind(object) {
            Kind::Array(_) => match variables.next() {
                Some(array) => Ok(Bound::new(py, PyArray::new(array))?.into_any()),
                None => Ok(object.clone()),
            },
            Kind::Other if self.of_state && object.is_instance_of::<RandomState>() => {
                self.random = Some(random::state());
                if let Some(variable) = variables.next() {
                    random::set_state(&variable).or_raise()?;
                }
                Ok(object.clone())
            }
            Kind::Other => Ok(object.clone()),
            Kind::Tuple(tuple) => {
                let mut items = Vec::with_capacity(tuple.len());
                for item in tuple.iter() {
                    items.push(self.fill_below(&item, depth + 1, variables)?);
                }
                tuple_like(tuple, items)
            }
            Kind::List(list) => {
                for place in 0..list.len() {
                    let before = list.get_item(place)?;
                    let after = self.fill_below(&before, depth + 1, variables)?;
                    if !after.is(&before) {
                        list.set_item(place, &after)?;
                        self.note(object, place.into_pyobject(py)?.into_any(), before, after);
                    }
                }
                Ok(object.clone())
            }
            Kind::Dict(dict) => {
                for (key, before) in dict.iter().collect::<Vec<_>>() {
                    let after = self.fill_below(&before, depth + 1, variables)?;
                    if !after.is(&before) {
                        set_dict_item(dict, &key, &after)?;
                        self.note(object, key, before, after);
                    }
                }
                Ok(object.clone())
            }
        }
    }

    fn note(
        &mut self,
        container: &Bound<'py, PyAny>,
        key: Bound<'py, PyAny>,
        before: Bound<'py, PyAny>,
        variable: Bound<'py, PyAny>,
    ) {
        self.slots.push(Slot { container: container.clone(), key, before, variable });
    }

    /// Gives every place its array back that still holds its variable.
    pub fn restore(self) -> PyResult<()> {
        for slot in self.slots.into_iter().rev() {
            let container = kind(&slot.container);
            let now = match &container {
                Kind::List(list) => list.get_item(slot.key.extract::<usize>()?).ok(),
                Kind::Dict(dict) => dict.get_item(&slot.key)?,
                _ => None,
            };
            if !now.is_some_and(|now| now.is(&slot.variable)) {
                continue;
            }
            match container {
                Kind::List(list) => list.set_item(slot.key.extract::<usize>()?, &slot.before)?,
                Kind::Dict(dict) => set_dict_item(dict, &slot.key, &slot.before)?,
                _ => {}
            }
        }
        match self.random {
            Some(state) => random::set_state(&state).or_raise(),
            None => Ok(()),
        }
    }
}

/// Sets an item of the dictionary itself, whatever a subclass does when items are set.
pub fn set_dict_item<'py>(
    dict: &Bound<'py, PyDict>,
    key: &Bound<'py, PyAny>,
    value: &Bound<'py, PyAny>,
) -> PyResult<()> {
    dict.set_item(key, value)
}
