//! Trees of arrays: what transforms take and return. Arrays, tuples, lists, maps and the user's own structs keep their
//! type on every way.

use std::collections::{BTreeMap, HashMap};
use std::hash::{BuildHasher, Hash};

use crate::array::Array;

/// Something that holds arrays in a fixed order.
///
/// `#[derive(Tree)]` implements it for structs; fields marked `#[tree(skip)]` are copied as they are.
///
/// ```
/// use pellucid::{Array, transform::Tree};
/// let pair = (Array::from([1.0f32]), vec![Array::from([2.0f32]), Array::from([3.0f32])]);
/// assert_eq!(pair.to_leaves().len(), 3);
/// ```
pub trait Tree: Sized {
    /// Appends the arrays, in order.
    fn leaves<'a>(&'a self, to: &mut Vec<&'a Array>);

    /// The same tree with other arrays, taken in order. What is missing stays as it is.
    fn rebuild(&self, leaves: &mut dyn Iterator<Item = Array>) -> Self;

    /// The arrays, in order.
    fn to_leaves(&self) -> Vec<Array> {
        let mut leaves = Vec::new();
        self.leaves(&mut leaves);
        leaves.into_iter().cloned().collect()
    }

    /// The same tree with other arrays.
    fn with_leaves(&self, leaves: impl IntoIterator<Item = Array>) -> Self {
        self.rebuild(&mut leaves.into_iter())
    }

    /// The same tree with every array replaced.
    fn map(&self, f: impl FnMut(&Array) -> Array) -> Self {
        let mut leaves = Vec::new();
        self.leaves(&mut leaves);
        self.with_leaves(leaves.into_iter().map(f).collect::<Vec<_>>())
    }
}

impl Tree for Array {
    fn leaves<'a>(&'a self, to: &mut Vec<&'a Array>) {
        to.push(self);
    }

    fn rebuild(&self, leaves: &mut dyn Iterator<Item = Array>) -> Array {
        leaves.next().unwrap_or_else(|| self.clone())
    }
}

impl Tree for () {
    fn leaves<'a>(&'a self, _: &mut Vec<&'a Array>) {}

    fn rebuild(&self, _: &mut dyn Iterator<Item = Array>) {}
}

macro_rules! tuples {
    ($(($($name:ident $place:tt),*);)*) => {
        $(impl<$($name: Tree),*> Tree for ($($name,)*) {
            fn leaves<'a>(&'a self, to: &mut Vec<&'a Array>) {
                $(self.$place.leaves(to);)*
            }

            fn rebuild(&self, leaves: &mut dyn Iterator<Item = Array>) -> Self {
                ($(self.$place.rebuild(leaves),)*)
            }
        })*
    };
}
tuples! {
    (A 0);
    (A 0, B 1);
    (A 0, B 1, C 2);
    (A 0, B 1, C 2, D 3);
    (A 0, B 1, C 2, D 3, E 4);
    (A 0, B 1, C 2, D 3, E 4, F 5);
    (A 0, B 1, C 2, D 3, E 4, F 5, G 6);
    (A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7);
}

impl<T: Tree> Tree for Vec<T> {
    fn leaves<'a>(&'a self, to: &mut Vec<&'a Array>) {
        self.iter().for_each(|item| item.leaves(to));
    }

    fn rebuild(&self, leaves: &mut dyn Iterator<Item = Array>) -> Self {
        self.iter().map(|item| item.rebuild(leaves)).collect()
    }
}

impl<T: Tree, const N: usize> Tree for [T; N] {
    fn leaves<'a>(&'a self, to: &mut Vec<&'a Array>) {
        self.iter().for_each(|item| item.leaves(to));
    }

    fn rebuild(&self, leaves: &mut dyn Iterator<Item = Array>) -> Self {
        std::array::from_fn(|i| self[i].rebuild(leaves))
    }
}

impl<T: Tree> Tree for Option<T> {
    fn leaves<'a>(&'a self, to: &mut Vec<&'a Array>) {
        self.iter().for_each(|item| item.leaves(to));
    }

    fn rebuild(&self, leaves: &mut dyn Iterator<Item = Array>) -> Self {
        self.as_ref().map(|item| item.rebuild(leaves))
    }
}

impl<T: Tree> Tree for Box<T> {
    fn leaves<'a>(&'a self, to: &mut Vec<&'a Array>) {
        (**self).leaves(to);
    }

    fn rebuild(&self, leaves: &mut dyn Iterator<Item = Array>) -> Self {
        Box::new((**self).rebuild(leaves))
    }
}

impl<K: Ord + Clone, T: Tree> Tree for BTreeMap<K, T> {
    fn leaves<'a>(&'a self, to: &mut Vec<&'a Array>) {
        self.values().for_each(|item| item.leaves(to));
    }

    fn rebuild(&self, leaves: &mut dyn Iterator<Item = Array>) -> Self {
        self.iter().map(|(key, item)| (key.clone(), item.rebuild(leaves))).collect()
    }
}

/// In the order of the keys, which is the same for every map with the same keys.
impl<K: Ord + Hash + Clone, T: Tree, S: BuildHasher + Clone> Tree for HashMap<K, T, S> {
    fn leaves<'a>(&'a self, to: &mut Vec<&'a Array>) {
        let mut items: Vec<_> = self.iter().collect();
        items.sort_by_key(|&(key, _)| key);
        items.into_iter().for_each(|(_, item)| item.leaves(to));
    }

    fn rebuild(&self, leaves: &mut dyn Iterator<Item = Array>) -> Self {
        let mut items: Vec<_> = self.iter().collect();
        items.sort_by_key(|&(key, _)| key);
        let mut map = HashMap::with_capacity_and_hasher(self.len(), self.hasher().clone());
        map.extend(items.into_iter().map(|(key, item)| (key.clone(), item.rebuild(leaves))));
        map
    }
}
