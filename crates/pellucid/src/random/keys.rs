//! Keys, and each thread's sequence of them.

use std::cell::Cell;
use std::hash::{BuildHasher, Hasher};

use crate::array::{Array, Dtype, Inputs, Shape, fail, ok};
use crate::backend::cpu::threefry;
use crate::error::{Error, Result};
use crate::op::Op;

thread_local! {
    /// Plain numbers, not a lazy array: a failed computation must not spoil the numbers that come after it.
    static STATE: Cell<Option<[u32; 2]>> = const { Cell::new(None) };
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
    STATE.set(Some(words(seed)));
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
    let state = STATE.get().unwrap_or_else(fresh);
    STATE.set(Some(state));
    from_words(state)
}

/// Lets this thread's sequence go on from a key.
///
/// # Errors
/// [`Error::Argument`] if the key is not two words of `uint32`; what made its evaluation impossible.
pub fn set_state(key: &Array) -> Result<()> {
    key.check()?;
    check_key("set_state", key)?;
    let words = key.to_vec::<u32>()?;
    STATE.set(Some([words[0], words[1]]));
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
    let state = STATE.get().unwrap_or_else(fresh);
    // As `split` in two: the first key is kept, the second one used.
    let (keep, used) = threefry(state, [0, 1], [2, 3]);
    STATE.set(Some(keep));
    from_words(used)
}

/// Random bits as unsigned integers of 1, 2 or 4 bytes.
///
/// # Errors
/// [`Error::Argument`] if the width is another, or the key is not two words of `uint32`.
#[track_caller]
pub fn bits(shape: impl Into<Shape>, width: u8, key: Option<&Array>) -> Array {
    ok!(key);
    if let Some(key) = key {
        ok!(check_key("bits", key));
    }
    if !matches!(width, 1 | 2 | 4) {
        return fail(Error::argument("bits", format!("width must be 1, 2 or 4 bytes, not {width}")));
    }
    let shape = shape.into();
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
