//! Calls that cannot work, as failed arrays.

use pellucid::{Array, Error, Result};

/// A failed array that says which argument is wrong.
#[cold]
#[track_caller]
pub(crate) fn argument(function: &'static str, message: impl Into<String>) -> Array {
    Array::from(Error::Argument { function, message: message.into() })
}

/// A failed array that says which shape is wrong.
#[cold]
#[track_caller]
pub(crate) fn shape(function: &'static str, message: impl Into<String>) -> Array {
    Array::from(Error::Shape { function, message: message.into() })
}

/// The sizes of an array that must have `N` axes; otherwise the failed array to return.
#[track_caller]
pub(crate) fn sizes<const N: usize>(
    function: &'static str,
    what: &str,
    x: &Array,
) -> Result<[usize; N], Array> {
    if x.check().is_err() {
        return Err(x.clone());
    }
    x.shape().try_into().map_err(|_| {
        let message = format!("{what} must have {N} axes, but has shape {}", x.shape_ref());
        shape(function, message)
    })
}
