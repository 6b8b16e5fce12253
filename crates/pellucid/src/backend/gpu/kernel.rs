//! What tells kernels apart. Each is a value of a type of its own, from which alone its text is written; what was
//! compiled is found again by type and value, so that nothing a text depends on can be forgotten in a key.

use std::any::{Any, TypeId};
use std::collections::HashMap;
use std::fmt::Debug;
use std::hash::{BuildHasherDefault, Hash, Hasher};

use parking_lot::RwLock;

use super::wgsl::Text;

/// A kernel: all that its text depends on, and nothing else, so that equal values have equal texts.
pub(crate) trait Kernel: Clone + Debug + Eq + Hash + Send + Sync + 'static {
    /// The name shown for it.
    fn label(&self) -> String;

    fn text(&self) -> Text;
}

/// A key of whichever type.
trait Key: Any + Send + Sync {
    fn digest(&self) -> u64;

    fn equals(&self, other: &dyn Key) -> bool;
}

impl<T: Eq + Hash + Send + Sync + 'static> Key for T {
    fn digest(&self) -> u64 {
        let mut mixer = Mixer::default();
        TypeId::of::<T>().hash(&mut mixer);
        self.hash(&mut mixer);
        mixer.finish()
    }

    fn equals(&self, other: &dyn Key) -> bool {
        let other: &dyn Any = other;
        other.downcast_ref::<T>() == Some(self)
    }
}

impl Hash for dyn Key {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.digest());
    }
}

impl PartialEq for dyn Key {
    fn eq(&self, other: &dyn Key) -> bool {
        self.equals(other)
    }
}

impl Eq for dyn Key {}

/// Hashes the few small numbers that most keys are. Every launch does, so it costs next to nothing; keys that collide,
/// which nobody has a reason to pick, are told apart by comparing them.
#[derive(Default)]
struct Mixer(u64);

impl Hasher for Mixer {
    fn finish(&self) -> u64 {
        const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;
        let product = u128::from(self.0 ^ SPREAD) * u128::from(SPREAD);
        (product >> 64) as u64 ^ product as u64
    }

    fn write(&mut self, bytes: &[u8]) {
        for chunk in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            self.write_u64(u64::from_le_bytes(word));
        }
    }

    fn write_u8(&mut self, n: u8) {
        self.write_u64(n.into());
    }

    fn write_u16(&mut self, n: u16) {
        self.write_u64(n.into());
    }

    fn write_u32(&mut self, n: u32) {
        self.write_u64(n.into());
    }

    fn write_u64(&mut self, n: u64) {
        self.0 = self.0.rotate_left(9) ^ n;
    }

    fn write_usize(&mut self, n: usize) {
        self.write_u64(n as u64);
    }

    fn write_isize(&mut self, n: isize) {
        self.write_u64(n as u64);
    }
}

/// What was made for each key, of whichever type.
pub(super) struct Cache<V> {
    known: RwLock<HashMap<Box<dyn Key>, V, BuildHasherDefault<Mixer>>>,
}

impl<V: Clone> Cache<V> {
    pub fn new() -> Cache<V> {
        Cache { known: RwLock::new(HashMap::default()) }
    }

    /// What is kept for a key.
    ///
    /// # Cost
    /// One hash of the key and one comparison; nothing is allocated, and no key cloned.
    pub fn get<K: Eq + Hash + Send + Sync + 'static>(&self, key: &K) -> Option<V> {
        let key: &dyn Key = key;
        self.known.read().get(key).cloned()
    }

    /// Keeps a value, and returns the one that was kept first.
    pub fn keep<K: Eq + Hash + Send + Sync + 'static>(&self, key: K, value: V) -> V {
        self.known.write().entry(Box::new(key)).or_insert(value).clone()
    }

    pub fn values(&self) -> Vec<V> {
        self.known.read().values().cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Dtype;

    #[derive(Clone, Debug, PartialEq, Eq, Hash)]
    struct Rows {
        dtype: Dtype,
        rank: usize,
    }

    #[derive(Clone, Debug, PartialEq, Eq, Hash)]
    struct Columns {
        dtype: Dtype,
        rank: usize,
    }

    #[test]
    fn equal_kernels_share_an_entry() {
        let cache = Cache::new();
        let key = || Rows { dtype: Dtype::Float32, rank: 2 };
        assert_eq!(cache.get(&key()), None);
        assert_eq!(cache.keep(key(), 1), 1);
        assert_eq!(cache.keep(key(), 2), 1, "what came first stays");
        assert_eq!(cache.get(&key()), Some(1));
        assert_eq!(cache.values(), [1]);
    }

    #[test]
    fn kernels_that_differ_in_one_field_do_not_share_an_entry() {
        let cache = Cache::new();
        cache.keep(Rows { dtype: Dtype::Float32, rank: 2 }, 1);
        assert_eq!(cache.get(&Rows { dtype: Dtype::Int32, rank: 2 }), None);
        assert_eq!(cache.get(&Rows { dtype: Dtype::Float32, rank: 3 }), None);
    }

    #[test]
    fn kernels_of_different_types_with_equal_fields_do_not_share_an_entry() {
        let cache = Cache::new();
        cache.keep(Rows { dtype: Dtype::Float32, rank: 2 }, 1);
        let other = || Columns { dtype: Dtype::Float32, rank: 2 };
        assert_eq!(cache.get(&other()), None);
        cache.keep(other(), 2);
        assert_eq!(cache.get(&Rows { dtype: Dtype::Float32, rank: 2 }), Some(1));
        assert_eq!(cache.get(&other()), Some(2));
    }

    /// The digest alone must not decide: keys with equal digests are still compared.
    #[test]
    fn keys_whose_hashes_collide_do_not_share_an_entry() {
        #[derive(PartialEq, Eq)]
        struct Same(u32);
        impl Hash for Same {
            fn hash<H: Hasher>(&self, _: &mut H) {}
        }
        let cache = Cache::new();
        cache.keep(Same(1), 1);
        cache.keep(Same(2), 2);
        assert_eq!([cache.get(&Same(1)), cache.get(&Same(2)), cache.get(&Same(3))], [Some(1), Some(2), None]);
    }
}
