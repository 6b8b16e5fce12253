//! Keys, and each thread's sequence of them.

use std::cell::RefCell;
use std::hash::{BuildHasher, Hasher};

use crate::array::{Array, Dtype, Inputs, Shape, Sizes, fail, ok};
use crate::backend::cpu::threefry;
use crate::error::{Error, Result};
use crate::op::Op;
use crate::ops;
use crate::transform::is_traced;

/// Where a thread's sequence of keys is.
#[derive(Clone)]
enum State {
    /// Plain numbers: a failed computation must not spoil the numbers that come after it.
    Words([u32; 2]),
    /// A key that a recorded function takes or has made, which has no elements yet.
    Lazy(Array),
}

thread_local! {
    static STATE: RefCell<Option<State>> = const { RefCell::new(None) };
}

/// The thread's state, with words wherever they are known.
fn current() -> State {
    match STATE.with_borrow(Clone::clone) {
        None => State::Words(fresh()),
        Some(State::Lazy(key)) if key.is_available() && !is_traced(&key) => match key.to_vec::<u32>() {
            Ok(words) => State::Words([words[0], words[1]]),
            Err(_) => State::Lazy(key),
        },
        Some(state) => state,
    }
}

fn set(state: State) {
    // Dropped outside of the borrow: freeing an array may free much.
    drop(STATE.replace(Some(state)));
}

fn words(seed: u64) -> [u32; 2] {
    [(seed >> 32) as u32, seed as u32]
}

#[track_caller]
fn from_words(words: [u32; 2]) -> Array {
    ok!(Array::from_bytes("key", bytemuck::cast_slice(&words), Shape::from(2), Dtype::Uint32))
}

/// A key for random numbers: two words of `uint32`.
///
/// # Errors
/// [`Error::Memory`] if there is no memory for it.
#[track_caller]
pub fn key(seed: u64) -> Array {
    from_words(words(seed))
}

/// Starts this thread's sequence of keys. Without it, the sequence starts at a different place in every thread and run.
pub fn seed(seed: u64) {
    set(State::Words(words(seed)));
}

/// The key that this thread's sequence goes on from.
///
/// ```
/// use pellucid::random;
/// # fn main() -> pellucid::Result<()> {
/// random::seed(7);
/// let state = random::state();
/// let first = random::uniform(0, 1, 3, pellucid::Dtype::Float32, None).to_vec::<f32>()?;
/// random::set_state(&state)?;
/// assert_eq!(random::uniform(0, 1, 3, pellucid::Dtype::Float32, None).to_vec::<f32>()?, first);
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// [`Error::Memory`] if there is no memory for it.
#[track_caller]
pub fn state() -> Array {
    let state = current();
    set(state.clone());
    match state {
        State::Words(words) => from_words(words),
        State::Lazy(key) => key,
    }
}

/// Lets this thread's sequence go on from a key.
///
/// # Errors
/// [`Error::Argument`] if the key is not two words of `uint32`; what made its evaluation impossible.
pub fn set_state(key: &Array) -> Result<()> {
    key.check()?;
    check_key("set_state", key)?;
    if !key.is_available() || is_traced(key) {
        set(State::Lazy(key.clone()));
        return Ok(());
    }
    let words = key.to_vec::<u32>()?;
    set(State::Words([words[0], words[1]]));
    Ok(())
}

/// A seed of the operating system's, by way of the hasher.
fn fresh() -> [u32; 2] {
    words(std::hash::RandomState::new().build_hasher().finish())
}

fn check_key(function: &'static str, key: &Array) -> Result<()> {
    if key.shape() == [2] && key.dtype() == Dtype::Uint32 {
        return Ok(());
    }
    let message = format!("a key is uint32 of shape [2], not {} of shape {}", key.dtype(), key.shape_ref());
    Err(Error::argument(function, message))
}

/// The given key, or the next of this thread's sequence.
#[track_caller]
pub(super) fn key_or_next(key: Option<&Array>) -> Array {
    if let Some(key) = key {
        return key.clone();
    }
    // As `split` in two: the first key is kept, the second one used.
    match current() {
        State::Words(words) => {
            let (keep, used) = threefry(words, [0, 1], [2, 3]);
            set(State::Words(keep));
            from_words(used)
        }
        State::Lazy(key) => {
            let keys = split(&key, 2);
            let one = |i: i64| ops::index(&keys, &[ops::Index::Int(i)]);
            set(State::Lazy(one(0)));
            one(1)
        }
    }
}

/// Random bits as unsigned integers of 1, 2 or 4 bytes.
///
/// # Errors
/// [`Error::Argument`] if the width is another, or the key is not two words of `uint32`.
#[track_caller]
pub fn bits(shape: impl Into<Sizes>, width: u8, key: Option<&Array>) -> Array {
    ok!(key);
    if let Some(key) = key {
        ok!(check_key("bits", key));
    }
    if !matches!(width, 1 | 2 | 4) {
        return fail(Error::argument("bits", format!("width must be 1, 2 or 4 bytes, not {width}")));
    }
    let shape = ok!(shape.into().shape("bits"));
    ok!(shape.check("bits", width.into()));
    let mut inputs = Inputs::new();
    inputs.push(key_or_next(key));
    Array::from_op(Op::RandomBits { shape, width }, inputs)
}

/// New keys from one: an array of shape `[num, 2]`.
///
/// # Errors
/// [`Error::Argument`] if the key is not two words of `uint32`.
#[track_caller]
pub fn split(key: &Array, num: usize) -> Array {
    bits([num, 2], 4, Some(key))
}
