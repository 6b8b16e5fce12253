//! Modules as trees of arrays, for transforms. `#[derive(Module)]` implements [`Tree`](pellucid::transform::Tree) with it.

use std::hash::Hasher;

use pellucid::{Array, Dtype};

use super::{Mode, Module, Param, Visit, VisitMut, Visitor, VisitorMut};

/// Appends all arrays of a module: parameters and buffers, frozen or not.
pub fn leaves(module: &(impl Module + ?Sized), to: &mut Vec<Array>) {
    struct Leaves<'a>(&'a mut Vec<Array>);
    impl Visitor for Leaves<'_> {
        fn parameter(&mut self, _: &str, parameter: &Param) {
            self.0.push(parameter.array().clone());
        }

        fn buffer(&mut self, _: &str, array: &Array) {
            self.0.push(array.clone());
        }
    }
    Visit::all(module, &mut Leaves(to));
}

/// A copy of a module with other arrays, taken in order.
pub fn rebuild<M: Module + Clone>(module: &M, leaves: &mut dyn Iterator<Item = Array>) -> M {
    struct Rebuild<'a>(&'a mut dyn Iterator<Item = Array>);
    impl VisitorMut for Rebuild<'_> {
        fn parameter(&mut self, _: &str, parameter: &mut Param) {
            if let Some(array) = self.0.next() {
                parameter.set(array);
            }
        }

        fn buffer(&mut self, _: &str, array: &mut Array) {
            if let Some(new) = self.0.next() {
                *array = new;
            }
        }
    }
    let mut copy = module.clone();
    VisitMut::all(&mut copy, &mut Rebuild(leaves));
    copy
}

/// Tells a hasher what kinds of modules there are, their settings, modes, and which parameters are frozen.
pub fn constants(module: &(impl Module + ?Sized), to: &mut dyn Hasher) {
    struct Constants<'a>(&'a mut dyn Hasher);
    impl Visitor for Constants<'_> {
        fn begin(&mut self, _: &str, kind: &'static str) {
            self.0.write(kind.as_bytes());
        }

        fn end(&mut self) {
            self.0.write_u8(0xff);
        }

        fn constant(&mut self, bytes: &[u8]) {
            self.0.write(bytes);
        }
    }
    Visit::all(module, &mut Constants(to));
}

pub(super) fn set_mode(module: &mut (impl Module + ?Sized), mode: Mode) {
    struct Set(Mode);
    impl VisitorMut for Set {
        fn mode(&mut self, _: &str, mode: &mut Mode) {
            *mode = self.0;
        }
    }
    VisitMut::all(module, &mut Set(mode));
}

pub(super) fn set_dtype(module: &mut (impl Module + ?Sized), dtype: Dtype) {
    struct Set(Dtype);
    impl VisitorMut for Set {
        fn parameter(&mut self, _: &str, parameter: &mut Param) {
            if parameter.dtype().is_floating() {
                let cast = parameter.astype(self.0);
                parameter.set(cast);
            }
        }

        fn buffer(&mut self, _: &str, array: &mut Array) {
            if array.dtype().is_floating() {
                *array = array.astype(self.0);
            }
        }
    }
    VisitMut::all(module, &mut Set(dtype));
}

/// Replaces the arrays of parameters that are learnt by what `f` makes of them.
pub(crate) fn map_trainable(
    module: &mut (impl Module + ?Sized),
    mut f: impl FnMut(&str, &Array) -> Option<Array>,
) {
    struct Map<'a>(&'a mut dyn FnMut(&str, &Array) -> Option<Array>);
    impl VisitorMut for Map<'_> {
        fn parameter(&mut self, path: &str, parameter: &mut Param) {
            if !parameter.is_frozen()
                && let Some(new) = (self.0)(path, parameter.array())
            {
                parameter.set(new);
            }
        }
    }
    VisitMut::all(module, &mut Map(&mut f));
}

/// Replaces all arrays that [`map_trainable`] leaves as they are: frozen parameters and buffers.
pub(crate) fn map_others(module: &mut (impl Module + ?Sized), mut f: impl FnMut(&Array) -> Array) {
    struct Map<'a>(&'a mut dyn FnMut(&Array) -> Array);
    impl VisitorMut for Map<'_> {
        fn parameter(&mut self, _: &str, parameter: &mut Param) {
            if parameter.is_frozen() {
                let new = (self.0)(parameter.array());
                parameter.set(new);
            }
        }

        fn buffer(&mut self, _: &str, array: &mut Array) {
            *array = (self.0)(array);
        }
    }
    VisitMut::all(module, &mut Map(&mut f));
}

/// The buffers, in order.
pub(crate) fn buffers(module: &(impl Module + ?Sized)) -> Vec<Array> {
    struct Buffers(Vec<Array>);
    impl Visitor for Buffers {
        fn buffer(&mut self, _: &str, array: &Array) {
            self.0.push(array.clone());
        }
    }
    let mut found = Buffers(Vec::new());
    Visit::all(module, &mut found);
    found.0
}

/// Replaces the buffers, in order.
pub(crate) fn set_buffers(module: &mut (impl Module + ?Sized), buffers: Vec<Array>) {
    struct Set(std::vec::IntoIter<Array>);
    impl VisitorMut for Set {
        fn buffer(&mut self, _: &str, array: &mut Array) {
            if let Some(new) = self.0.next() {
                *array = new;
            }
        }
    }
    VisitMut::all(module, &mut Set(buffers.into_iter()));
}

/// Leaves and layers of any form are trees too, so that they can be arguments of transforms on their own.
macro_rules! trees {
    ($($ty:ty),*) => {
        $(impl pellucid::transform::Tree for $ty {
            fn leaves(&self, to: &mut Vec<Array>) {
                leaves(self, to);
            }

            fn rebuild(&self, leaves: &mut dyn Iterator<Item = Array>) -> Self {
                rebuild(self, leaves)
            }

            fn constants(&self, to: &mut dyn Hasher) {
                constants(self, to);
            }
        })*
    };
}
trees!(Param, super::Buffer, crate::layers::AnyLinear, crate::layers::AnyEmbedding);
