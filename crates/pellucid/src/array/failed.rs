//! Failed arrays: what a call that cannot work returns instead of an error.
//!
//! A failed array carries its error to wherever elements are read. Whatever is computed from it fails with the same
//! error, so that the first mistake is the one that comes out.

use std::cell::Cell;
use std::sync::atomic::Ordering;
use std::sync::{Arc, LazyLock};

use super::{Array, Dtype, NodeRef, Shape, State};
use crate::call_site::CallSite;
use crate::error::{Error, Result};
use crate::eval::{Failure, state_if_cut_off};
use crate::fork;
use crate::ops::Operand;
use crate::stream::any_stream;

/// The value of a `Result`, or out of the function with a failed array. Arrays that have failed leave the function too,
/// so a function names its inputs first and need not think of failed ones any more.
macro_rules! ok {
    ($value:expr) => {
        match $crate::array::Sound::sound($value) {
            Ok(value) => value,
            Err(failure) => return $crate::array::Fails::carrying(failure),
        }
    };
    ($first:expr, $($more:expr),+) => {
        ok!($first);
        $(ok!($more);)+
    };
}
pub(crate) use ok;

/// What may have failed: results, arrays and lists of them.
pub(crate) trait Sound {
    type Value;

    /// The value, or why there is none.
    fn sound(self) -> Result<Self::Value, Arc<Failure>>;
}

impl<T> Sound for Result<T> {
    type Value = T;

    #[inline]
    #[track_caller]
    fn sound(self) -> Result<T, Arc<Failure>> {
        match self {
            Ok(value) => Ok(value),
            Err(error) => Err(failure(error)),
        }
    }
}

impl<'a> Sound for &'a Array {
    type Value = &'a Array;

    #[inline]
    fn sound(self) -> Result<&'a Array, Arc<Failure>> {
        match self.known_failure() {
            None => Ok(self),
            Some(failure) => Err(failure),
        }
    }
}

impl Sound for Option<&Array> {
    type Value = ();

    fn sound(self) -> Result<(), Arc<Failure>> {
        self.and_then(Array::known_failure).map_or(Ok(()), Err)
    }
}

impl Sound for &[Array] {
    type Value = ();

    fn sound(self) -> Result<(), Arc<Failure>> {
        self.iter().find_map(Array::known_failure).map_or(Ok(()), Err)
    }
}

impl Sound for &[&Array] {
    type Value = ();

    fn sound(self) -> Result<(), Arc<Failure>> {
        self.iter().find_map(|a| a.known_failure()).map_or(Ok(()), Err)
    }
}

impl Sound for &Operand<'_> {
    type Value = ();

    #[inline]
    fn sound(self) -> Result<(), Arc<Failure>> {
        self.array().and_then(Array::known_failure).map_or(Ok(()), Err)
    }
}

/// What functions return: arrays, which carry failures.
pub(crate) trait Fails {
    /// The same failure, in what the function returns.
    fn carrying(failure: Arc<Failure>) -> Self;
}

impl Fails for Array {
    #[track_caller]
    fn carrying(failure: Arc<Failure>) -> Array {
        let (site, state) = (CallSite::here(), State::Failed(failure));
        Array(NodeRef::new(Shape::from(0), Dtype::Float32, any_stream(), site, state))
    }
}

/// A failed array that carries the error, for functions that return arrays.
impl From<Error> for Array {
    #[track_caller]
    fn from(error: Error) -> Array {
        fail(error)
    }
}

impl Fails for Vec<Array> {
    #[track_caller]
    fn carrying(failure: Arc<Failure>) -> Vec<Array> {
        vec![Fails::carrying(failure)]
    }
}

impl Fails for (Array, Array) {
    #[track_caller]
    fn carrying(failure: Arc<Failure>) -> (Array, Array) {
        (Fails::carrying(failure.clone()), Fails::carrying(failure))
    }
}

impl Fails for (Array, Array, Array) {
    #[track_caller]
    fn carrying(failure: Arc<Failure>) -> (Array, Array, Array) {
        (Fails::carrying(failure.clone()), Fails::carrying(failure.clone()), Fails::carrying(failure))
    }
}

/// The results of a call that makes `count` arrays: of one that failed, as many failed ones, so that taking them apart
/// does not fail before the error is seen.
pub(crate) fn as_many(mut results: Vec<Array>, count: usize) -> Vec<Array> {
    if let [only] = &*results
        && count > 1
        && only.known_failure().is_some()
    {
        results = vec![only.clone(); count];
    }
    results
}

/// What a function returns when it cannot do what it was asked.
#[cold]
#[track_caller]
pub(crate) fn fail<T: Fails>(error: Error) -> T {
    T::carrying(failure(error))
}

/// As [`fail`], for a call that was right: the array keeps the shape and type it was to have.
#[cold]
#[track_caller]
pub(crate) fn fail_like(error: Error, shape: Shape, dtype: Dtype) -> Array {
    let (site, state) = (CallSite::here(), State::Failed(failure(error)));
    Array(NodeRef::new(shape, dtype, any_stream(), site, state))
}

/// A failure of the call that is being made.
#[cold]
#[track_caller]
fn failure(error: Error) -> Arc<Failure> {
    if STRICT.get().unwrap_or(*STRICT_BY_ENVIRONMENT) {
        panic!("{error}");
    }
    let error = match error {
        told @ (Error::Call { .. } | Error::Launch { .. }) => told,
        new => Error::Call { site: CallSite::here(), source: Arc::new(new) },
    };
    Arc::new(Failure::new(error))
}

thread_local! {
    static STRICT: Cell<Option<bool>> = const { Cell::new(None) };
}

static STRICT_BY_ENVIRONMENT: LazyLock<bool> =
    LazyLock::new(|| std::env::var("PELLUCID_STRICT").is_ok_and(|value| !matches!(&*value, "" | "0")));

/// Makes wrong calls of this thread panic at once, at the line of the call, instead of returning a failed array; for
/// looking at the place in a debugger. `PELLUCID_STRICT=1` does it for all threads that do not say otherwise. Returns
/// how it was before.
///
/// ```
/// use pellucid::{Array, ops};
/// let before = pellucid::strict(true);
/// let caught = std::panic::catch_unwind(|| ops::reshape(&Array::from([1, 2, 3]), [2, 2]));
/// pellucid::strict(before);
/// assert!(caught.is_err());
/// ```
pub fn strict(on: bool) -> bool {
    STRICT.replace(Some(on)).unwrap_or(*STRICT_BY_ENVIRONMENT)
}

impl Array {
    /// Fails if it is known that this array has failed: because it was asked for something impossible, was made from
    /// an array that failed, or could not be computed. Computes nothing.
    ///
    /// ```
    /// use pellucid::{Array, Error, ops};
    /// let wrong = ops::matmul(&Array::from([1.0f32, 2.0]), &Array::from([1.0f32, 2.0, 3.0])); // no panic, no `?`
    /// let later = wrong.exp() + 1;
    /// let error = later.check().unwrap_err();
    /// assert!(matches!(error.root(), Error::Shape { function: "matmul", .. }));
    /// assert!(error.to_string().contains(".rs:")); // the line of the matmul
    /// ```
    ///
    /// A failed array has the shape `[0]` and the type `float32`, so that loops over its elements end at once. One
    /// that failed when it was computed keeps the shape and type it was to have.
    ///
    /// # Errors
    /// The first thing that went wrong on the way to this array; the same error each time.
    pub fn check(&self) -> Result<()> {
        if fork::is_cut_off() {
            return match state_if_cut_off(self) {
                Some(State::Failed(failure)) => Err(failure.tell()),
                _ => Ok(()),
            };
        }
        let mut state = self.0.state.lock();
        state.settle();
        match &*state {
            State::Failed(failure) => {
                self.0.failed.store(true, Ordering::Relaxed);
                Err(failure.tell())
            }
            _ => Ok(()),
        }
    }

    /// Why the array has failed, if that is known without looking into its state: wrong calls are, and what the user
    /// was told about.
    #[inline]
    pub(crate) fn known_failure(&self) -> Option<Arc<Failure>> {
        if self.0.failed.load(Ordering::Relaxed) { self.failure() } else { None }
    }

    #[cold]
    fn failure(&self) -> Option<Arc<Failure>> {
        if fork::is_cut_off() {
            return match state_if_cut_off(self)? {
                State::Failed(failure) => Some(failure.clone()),
                _ => None,
            };
        }
        let mut state = self.0.state.lock();
        if let State::Shared(_) = &*state {
            state.settle();
        }
        match &*state {
            State::Failed(failure) => Some(failure.clone()),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops;

    #[test]
    fn a_failed_array_returns_its_error_again_and_again() {
        let line = line!() + 1;
        let a: Array = fail(Error::argument("test", "no luck"));
        let text = format!("[test] no luck\n  called at {}:{line}", file!());
        for _ in 0..2 {
            assert_eq!(a.check().unwrap_err().to_string(), text);
            assert_eq!(a.eval().unwrap_err().to_string(), text);
            assert_eq!(a.to_vec::<f32>().unwrap_err().to_string(), text);
            assert_eq!(a.to_vec::<i32>().unwrap_err().to_string(), text);
            assert_eq!(a.item::<i32>().unwrap_err().to_string(), text);
            assert_eq!(a.item_at::<i32>(&[1, 2]).unwrap_err().to_string(), text);
            assert_eq!(a.to_scalar().unwrap_err().to_string(), text);
            assert_eq!(a.to_bytes().unwrap_err().to_string(), text);
        }
        assert_eq!(a.to_string(), format!("<{text}>"));
    }

    #[test]
    fn the_first_of_several_mistakes_comes_out() {
        let a = Array::from([1.0f32, 2.0, 3.0]);
        let first = ops::reshape(&a, [2, 2]);
        let then = ops::sum(&ops::transpose(&first, crate::Axes::from([0, 5])), 7, false);
        let both = ops::add(&then, ops::matmul(&a, &Array::from([1.0f32])));
        assert_eq!(both.check().unwrap_err().to_string(), first.check().unwrap_err().to_string());
        assert_eq!((both.shape(), both.dtype()), (&[0][..], Dtype::Float32));
    }

    #[test]
    fn what_failed_when_it_was_computed_is_the_first_mistake_once_it_is_known() {
        let a = ops::take(&Array::from([1, 2, 3]), &Array::from([7]), 0);
        assert!(a.check().is_ok());
        let told = a.eval().unwrap_err().to_string();
        assert_eq!(ops::reshape(&a, [9, 9]).check().unwrap_err().to_string(), told);
        assert_eq!((a.shape(), a.dtype()), (&[1][..], Dtype::Int32));
    }

    #[test]
    fn strict_threads_panic_at_the_line_of_the_call() {
        let before = strict(true);
        let caught = std::panic::catch_unwind(|| ops::reshape(&Array::from([1, 2, 3]), [2, 2]));
        assert!(strict(before));
        let text = caught.err().and_then(|text| text.downcast::<String>().ok()).expect("a message");
        assert!(text.starts_with("[reshape]"), "{text}");
    }
}
