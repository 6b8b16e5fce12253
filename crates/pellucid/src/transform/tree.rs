//! Trees of arrays: what transforms take and return. Arrays, tuples, lists, maps and the user's own structs keep their
//! type on every way.

use std::collections::{BTreeMap, HashMap};
use std::hash::{BuildHasher, Hash, Hasher};

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
    fn leaves(&self, to: &mut Vec<Array>);

    /// The same tree with other arrays, taken in order. What is missing stays as it is.
    fn rebuild(&self, leaves: &mut dyn Iterator<Item = Array>) -> Self;

    /// Adds what is no array and yet decides what a function does with the tree, such as the length of a list: a
    /// compiled function is recorded anew when it changes. What is not told here counts as constant.
    fn constants(&self, to: &mut dyn Hasher) {
        let _ = to;
    }

    /// The arrays, in order.
    fn to_leaves(&self) -> Vec<Array> {
        let mut leaves = Vec::new();
        self.leaves(&mut leaves);
        leaves
    }

    /// The same tree with other arrays.
    fn with_leaves(&self, leaves: impl IntoIterator<Item = Array>) -> Self {
        self.rebuild(&mut leaves.into_iter())
    }

    /// The same tree with every array replaced.
    fn map(&self, f: impl FnMut(&Array) -> Array) -> Self {
        self.with_leaves(self.to_leaves().iter().map(f).collect::<Vec<_>>())
    }
}

impl Tree for Array {
    fn leaves(&self, to: &mut Vec<Array>) {
        to.push(self.clone());
    }

    fn rebuild(&self, leaves: &mut dyn Iterator<Item = Array>) -> Array {
        leaves.next().unwrap_or_else(|| self.clone())
    }
}

impl Tree for () {
    fn leaves(&self, _: &mut Vec<Array>) {}

    fn rebuild(&self, _: &mut dyn Iterator<Item = Array>) {}
}

macro_rules! tuples {
    ($(($($name:ident $place:tt),*);)*) => {
        $(impl<$($name: Tree),*> Tree for ($($name,)*) {
            fn leaves(&self, to: &mut Vec<Array>) {
                $(self.$place.leaves(to);)*
            }

            fn rebuild(&self, leaves: &mut dyn Iterator<Item = Array>) -> Self {
                ($(self.$place.rebuild(leaves),)*)
            }

            fn constants(&self, to: &mut dyn Hasher) {
                $(self.$place.constants(to);)*
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
    fn leaves(&self, to: &mut Vec<Array>) {
        self.iter().for_each(|item| item.leaves(to));
    }

    fn rebuild(&self, leaves: &mut dyn Iterator<Item = Array>) -> Self {
        self.iter().map(|item| item.rebuild(leaves)).collect()
    }

    fn constants(&self, to: &mut dyn Hasher) {
        to.write_usize(self.len());
        self.iter().for_each(|item| item.constants(to));
    }
}

impl<T: Tree, const N: usize> Tree for [T; N] {
    fn leaves(&self, to: &mut Vec<Array>) {
        self.iter().for_each(|item| item.leaves(to));
    }

    fn rebuild(&self, leaves: &mut dyn Iterator<Item = Array>) -> Self {
        std::array::from_fn(|i| self[i].rebuild(leaves))
    }

    fn constants(&self, to: &mut dyn Hasher) {
        self.iter().for_each(|item| item.constants(to));
    }
}

impl<T: Tree> Tree for Option<T> {
    fn leaves(&self, to: &mut Vec<Array>) {
        self.iter().for_each(|item| item.leaves(to));
    }

    fn rebuild(&self, leaves: &mut dyn Iterator<Item = Array>) -> Self {
        self.as_ref().map(|item| item.rebuild(leaves))
    }

    fn constants(&self, to: &mut dyn Hasher) {
        to.write_u8(self.is_some().into());
        self.iter().for_each(|item| item.constants(to));
    }
}

impl<T: Tree> Tree for Box<T> {
    fn leaves(&self, to: &mut Vec<Array>) {
        (**self).leaves(to);
    }

    fn rebuild(&self, leaves: &mut dyn Iterator<Item = Array>) -> Self {
        Box::new((**self).rebuild(leaves))
    }

    fn constants(&self, to: &mut dyn Hasher) {
        (**self).constants(to);
    }
}

impl<K: Ord + Clone, T: Tree> Tree for BTreeMap<K, T> {
    fn leaves(&self, to: &mut Vec<Array>) {
        self.values().for_each(|item| item.leaves(to));
    }

    fn rebuild(&self, leaves: &mut dyn Iterator<Item = Array>) -> Self {
        self.iter().map(|(key, item)| (key.clone(), item.rebuild(leaves))).collect()
    }

    fn constants(&self, to: &mut dyn Hasher) {
        to.write_usize(self.len());
        self.values().for_each(|item| item.constants(to));
    }
}

/// In the order of the keys, which is the same for every map with the same keys.
impl<K: Ord + Hash + Clone, T: Tree, S: BuildHasher + Clone> Tree for HashMap<K, T, S> {
    fn leaves(&self, to: &mut Vec<Array>) {
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

    fn constants(&self, to: &mut dyn Hasher) {
        let mut items: Vec<_> = self.iter().collect();
        items.sort_by_key(|&(key, _)| key);
        to.write_usize(items.len());
        items.into_iter().for_each(|(_, item)| item.constants(to));
    }
}
