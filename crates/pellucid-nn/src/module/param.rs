//! The leaves of modules: parameters, buffers and modes.

use std::fmt;
use std::ops::Deref;

use parking_lot::Mutex;
use pellucid::{Array, AsArray, ops::Operand};

use super::{Module, Visit, VisitMut};

/// An array that is learnt, unless it is frozen. It is used like the array it holds.
///
/// ```
/// use pellucid_nn::prelude::*;
/// # fn main() -> pellucid::Result<()> {
/// let scale = Param::from(Array::from([1.0f32, 2.0]));
/// assert_eq!((&scale * 3.0).to_vec::<f32>()?, [3.0, 6.0]);
/// assert_eq!((ones::<f32>(2) * &scale).to_vec::<f32>()?, [1.0, 2.0]);
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Param {
    array: Array,
    frozen: bool,
}

impl Param {
    /// A parameter that is learnt.
    pub fn new(array: Array) -> Param {
        Param { array, frozen: false }
    }

    /// The array.
    pub fn array(&self) -> &Array {
        &self.array
    }

    /// Replaces the array.
    pub fn set(&mut self, array: Array) {
        self.array = array;
    }

    /// Whether it is left as it is.
    pub fn is_frozen(&self) -> bool {
        self.frozen
    }

    /// Freezes it, or lets it learn.
    pub fn set_frozen(&mut self, frozen: bool) {
        self.frozen = frozen;
    }
}

impl Deref for Param {
    type Target = Array;

    fn deref(&self) -> &Array {
        &self.array
    }
}

impl From<Array> for Param {
    fn from(array: Array) -> Param {
        Param::new(array)
    }
}

impl AsArray for Param {
    fn as_array(&self) -> &Array {
        &self.array
    }
}

impl<'a> From<&'a Param> for Operand<'a> {
    fn from(parameter: &'a Param) -> Operand<'a> {
        Operand::from(&parameter.array)
    }
}

macro_rules! operators {
    ($($op:ident $method:ident;)*) => {
        $(impl<'b, B: Into<Operand<'b>>> std::ops::$op<B> for &Param {
            type Output = Array;

            #[track_caller]
            fn $method(self, other: B) -> Array {
                std::ops::$op::$method(&self.array, other)
            }
        })*
    };
}
operators! {
    Add add;
    Sub sub;
    Mul mul;
    Div div;
}

impl fmt::Debug for Param {
    /// Shape and type: the elements may not be computed yet.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let frozen = if self.frozen { ", frozen" } else { "" };
        write!(f, "Param({} {}{frozen})", self.array.shape_ref(), self.array.dtype())
    }
}

impl Module for Param {
    fn visit(&self, at: &mut Visit<'_>) {
        at.constant(&[self.frozen.into()]);
        at.parameter(self);
    }

    fn visit_mut(&mut self, at: &mut VisitMut<'_>) {
        at.parameter(self);
    }
}

/// An array that is saved with a model and never learnt.
impl Module for Array {
    fn visit(&self, at: &mut Visit<'_>) {
        at.buffer(self);
    }

    fn visit_mut(&mut self, at: &mut VisitMut<'_>) {
        at.buffer(self);
    }
}

/// An array that is saved and never learnt, and that a forward pass may replace: running statistics.
pub struct Buffer(Mutex<Array>);

impl Buffer {
    /// A buffer that begins with an array.
    pub fn new(array: Array) -> Buffer {
        Buffer(Mutex::new(array))
    }

    /// The array it holds now.
    pub fn get(&self) -> Array {
        self.0.lock().clone()
    }

    /// Replaces the array. What was held is dropped outside of the lock.
    pub fn set(&self, array: Array) {
        drop(std::mem::replace(&mut *self.0.lock(), array));
    }
}

impl Clone for Buffer {
    /// A buffer of its own with the same array.
    fn clone(&self) -> Buffer {
        Buffer::new(self.get())
    }
}

impl fmt::Debug for Buffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let array = self.get();
        write!(f, "Buffer({} {})", array.shape_ref(), array.dtype())
    }
}

impl Module for Buffer {
    fn visit(&self, at: &mut Visit<'_>) {
        at.buffer(&self.get());
    }

    fn visit_mut(&mut self, at: &mut VisitMut<'_>) {
        at.buffer(self.0.get_mut());
    }
}

/// Whether a layer learns or is used. New modules are in training mode.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// Dropout drops, batch norm uses the statistics of the batch.
    #[default]
    Training,
    /// Nothing is dropped, and running statistics are used.
    Evaluation,
}

impl Mode {
    /// True in training mode.
    pub fn is_training(self) -> bool {
        self == Mode::Training
    }
}

impl Module for Mode {
    fn visit(&self, at: &mut Visit<'_>) {
        at.constant(&[self.is_training().into()]);
    }

    fn visit_mut(&mut self, at: &mut VisitMut<'_>) {
        at.mode(self);
    }
}
