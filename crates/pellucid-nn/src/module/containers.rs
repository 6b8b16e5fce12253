//! What may be a field of a module beside parameters and modules: lists and maps of modules, and plain settings.

use std::collections::BTreeMap;

use pellucid::Array;

use super::{Module, Visit, VisitMut};

/// Parts named by their positions.
fn visit_list<M: Module>(list: &[M], at: &mut Visit<'_>) {
    at.constant(&list.len().to_le_bytes());
    for (place, part) in list.iter().enumerate() {
        at.field(&place.to_string(), part);
    }
}

fn change_list<M: Module>(list: &mut [M], at: &mut VisitMut<'_>) {
    for (place, part) in list.iter_mut().enumerate() {
        at.field(&place.to_string(), part);
    }
}

impl<M: Module> Module for Vec<M> {
    fn visit(&self, at: &mut Visit<'_>) {
        visit_list(self, at);
    }

    fn visit_mut(&mut self, at: &mut VisitMut<'_>) {
        change_list(self, at);
    }
}

impl<M: Module, const N: usize> Module for [M; N] {
    fn visit(&self, at: &mut Visit<'_>) {
        visit_list(self, at);
    }

    fn visit_mut(&mut self, at: &mut VisitMut<'_>) {
        change_list(self, at);
    }
}

impl<M: Module> Module for Option<M> {
    fn visit(&self, at: &mut Visit<'_>) {
        at.constant(&[self.is_some().into()]);
        if let Some(part) = self {
            part.visit(at);
        }
    }

    fn visit_mut(&mut self, at: &mut VisitMut<'_>) {
        if let Some(part) = self {
            part.visit_mut(at);
        }
    }
}

impl<M: Module + ?Sized> Module for Box<M> {
    fn visit(&self, at: &mut Visit<'_>) {
        (**self).visit(at);
    }

    fn visit_mut(&mut self, at: &mut VisitMut<'_>) {
        (**self).visit_mut(at);
    }
}

/// Parts named by their keys.
impl<M: Module> Module for BTreeMap<String, M> {
    fn visit(&self, at: &mut Visit<'_>) {
        at.constant(&self.len().to_le_bytes());
        for (name, part) in self {
            at.constant(name.as_bytes());
            at.field(name, part);
        }
    }

    fn visit_mut(&mut self, at: &mut VisitMut<'_>) {
        for (name, part) in self {
            at.field(name, part);
        }
    }
}

macro_rules! tuples {
    ($(($($name:ident $place:tt),*);)*) => {
        $(impl<$($name: Module),*> Module for ($($name,)*) {
            fn visit(&self, at: &mut Visit<'_>) {
                $(at.field(stringify!($place), &self.$place);)*
            }

            fn visit_mut(&mut self, at: &mut VisitMut<'_>) {
                $(at.field(stringify!($place), &mut self.$place);)*
            }
        })*
    };
}
tuples! {
    (A 0, B 1);
    (A 0, B 1, C 2);
    (A 0, B 1, C 2, D 3);
}

macro_rules! numbers {
    ($($ty:ty),*) => {
        $(impl Module for $ty {
            fn visit(&self, at: &mut Visit<'_>) {
                at.constant(&self.to_le_bytes());
            }

            fn visit_mut(&mut self, _: &mut VisitMut<'_>) {}
        })*
    };
}
numbers!(i8, i16, i32, i64, isize, u8, u16, u32, u64, usize, f32, f64);

impl Module for bool {
    fn visit(&self, at: &mut Visit<'_>) {
        at.constant(&[(*self).into()]);
    }

    fn visit_mut(&mut self, _: &mut VisitMut<'_>) {}
}

impl Module for String {
    fn visit(&self, at: &mut Visit<'_>) {
        at.constant(&self.len().to_le_bytes());
        at.constant(self.as_bytes());
    }

    fn visit_mut(&mut self, _: &mut VisitMut<'_>) {}
}

/// A function, such as an activation, that a model is made with.
impl Module for fn(&Array) -> Array {
    fn visit(&self, at: &mut Visit<'_>) {
        at.constant(&(*self as usize).to_le_bytes());
    }

    fn visit_mut(&mut self, _: &mut VisitMut<'_>) {}
}
