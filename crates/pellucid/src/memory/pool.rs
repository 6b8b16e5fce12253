//! Reuse of freed memory: large blocks by size with least-recently-used eviction, small ones as slots of slabs.
//!
//! The pool holds memory and does the bookkeeping of sizes; limits and waiting are [`super::central`]'s.

use std::collections::BTreeMap;

use crate::call_site::CallSite;

/// A piece of memory the pool can keep: it only has to know its size.
pub(crate) trait Block {
    fn bytes(&self) -> usize;
}

/// Who holds a buffer: what a report shows of it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Owner {
    pub bytes: u64,
    pub stream: u32,
    pub site: CallSite,
}

/// Bytes of one slab of small slots.
pub(crate) const SLAB: usize = 64 << 10;
/// Largest request that becomes a slot.
const LARGEST_SLOT: usize = 4096;
const PAGE: usize = 4096;
/// From here on a reused block may be at most two pages larger than asked for.
const LARGE: usize = 1 << 20;
/// Slot sizes: powers of two and halfway between, so at most a third of a slot is unused.
const CLASSES: [usize; 17] =
    [16, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024, 1536, 2048, 2560, 3072, 4096];

/// Where a buffer's memory came from, and goes back to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// A block of its own.
    Block,
    /// A slot of a slab.
    Slot { slab: u32, slot: u32 },
}

/// The size a request is served with: a slot's, or whole pages.
pub(crate) fn rounded(bytes: usize) -> usize {
    match CLASSES.iter().find(|&&c| bytes <= c) {
        Some(&class) => class,
        None => bytes.next_multiple_of(PAGE),
    }
}

/// True if a request of this many bytes is served from a slab.
pub(crate) fn is_small(bytes: usize) -> bool {
    bytes <= LARGEST_SLOT
}

/// Freed blocks, by size and by age.
struct Cache<M> {
    by_size: BTreeMap<(usize, u64), M>,
    by_age: BTreeMap<u64, usize>,
    bytes: u64,
    clock: u64,
}

impl<M: Block> Cache<M> {
    fn new() -> Cache<M> {
        Cache { by_size: BTreeMap::new(), by_age: BTreeMap::new(), bytes: 0, clock: 0 }
    }

    /// The smallest block that fits well: at most twice the size, for large requests at most two pages more.
    fn take(&mut self, bytes: usize) -> Option<M> {
        let most = if bytes >= LARGE { bytes + 2 * PAGE } else { bytes * 2 };
        let (&key, _) = self.by_size.range((bytes, 0)..=(most, u64::MAX)).next()?;
        self.remove(key)
    }

    fn put(&mut self, memory: M) {
        self.clock += 1;
        self.bytes += memory.bytes() as u64;
        self.by_age.insert(self.clock, memory.bytes());
        self.by_size.insert((memory.bytes(), self.clock), memory);
    }

    fn take_oldest(&mut self) -> Option<M> {
        let (&age, &bytes) = self.by_age.first_key_value()?;
        self.remove((bytes, age))
    }

    fn remove(&mut self, key: (usize, u64)) -> Option<M> {
        let memory = self.by_size.remove(&key)?;
        self.by_age.remove(&key.1);
        self.bytes -= memory.bytes() as u64;
        Some(memory)
    }
}

struct Slab<M> {
    memory: M,
    class: usize,
    free: Vec<u16>,
    owners: Vec<Option<Owner>>,
    live: u16,
    /// Position in the list of its class's slabs with free slots.
    listed: Option<u32>,
}

/// One device's memory that is not in use, and the slabs that partly are.
pub(crate) struct Pool<M> {
    cache: Cache<M>,
    slabs: Vec<Option<Slab<M>>>,
    vacant: Vec<u32>,
    /// For each class, the slabs with free slots.
    open: [Vec<u32>; CLASSES.len()],
    /// Blocks the system gave and has not got back.
    system_buffers: u64,
    /// Bytes the system gave and has not got back.
    system_bytes: u64,
}

impl<M: Block> Pool<M> {
    pub fn new() -> Pool<M> {
        Pool {
            cache: Cache::new(),
            slabs: Vec::new(),
            vacant: Vec::new(),
            open: [const { Vec::new() }; CLASSES.len()],
            system_buffers: 0,
            system_bytes: 0,
        }
    }

    pub fn cached_bytes(&self) -> u64 {
        self.cache.bytes
    }

    pub fn cached_blocks(&self) -> usize {
        self.cache.by_size.len()
    }

    pub fn system_buffers(&self) -> u64 {
        self.system_buffers
    }

    pub fn system_bytes(&self) -> u64 {
        self.system_bytes
    }

    /// A cached block for a rounded size above the slots'.
    pub fn take_block(&mut self, bytes: usize) -> Option<M> {
        self.cache.take(bytes)
    }

    /// A free slot of a slab that is in use; the caller brings a new slab with [`Pool::add_slab`] if there is none.
    /// Returns the slot's slab memory and its offset in there.
    pub fn take_slot(&mut self, owner: Owner) -> Option<(&M, usize, Origin)> {
        let class = class_of(owner.bytes as usize);
        let &id = self.open[class].last()?;
        let slab = self.slabs[id as usize].as_mut()?;
        let slot = slab.free.pop()?;
        slab.live += 1;
        slab.owners[slot as usize] = Some(owner);
        if slab.free.is_empty() {
            self.unlist(id);
        }
        let slab = self.slabs[id as usize].as_ref()?;
        Some((&slab.memory, slot as usize * CLASSES[class], Origin::Slot { slab: id, slot: slot.into() }))
    }

    /// The holders of all slots in use.
    pub fn slot_owners(&self) -> impl Iterator<Item = &Owner> {
        self.slabs.iter().flatten().flat_map(|slab| slab.owners.iter().flatten())
    }

    /// Makes a block of [`SLAB`] bytes the slab that the next slots of this size come from.
    pub fn add_slab(&mut self, bytes: usize, memory: M) {
        let class = class_of(bytes);
        let count = memory.bytes() / CLASSES[class];
        // In reverse, so that slots are handed out in ascending order.
        let free = (0..count as u16).rev().collect();
        let slab = Slab { memory, class, free, owners: vec![None; count], live: 0, listed: None };
        let id = match self.vacant.pop() {
            Some(id) => {
                self.slabs[id as usize] = Some(slab);
                id
            }
            None => {
                self.slabs.push(Some(slab));
                (self.slabs.len() - 1) as u32
            }
        };
        self.list(id);
    }

    /// Takes a slot back; a slab without live slots joins the cache.
    pub fn put_slot(&mut self, id: u32, slot: u32) -> Option<Owner> {
        let slab = self.slabs[id as usize].as_mut()?;
        slab.free.push(slot as u16);
        let owner = slab.owners[slot as usize].take();
        slab.live -= 1;
        let (empty, listed) = (slab.live == 0, slab.listed.is_some());
        if empty {
            if listed {
                self.unlist(id);
            }
            if let Some(slab) = self.slabs[id as usize].take() {
                self.vacant.push(id);
                self.cache.put(slab.memory);
            }
        } else if !listed {
            self.list(id);
        }
        owner
    }

    /// Takes a block back into the cache.
    pub fn put_block(&mut self, memory: M) {
        self.cache.put(memory);
    }

    /// Counts a block that the system just gave.
    pub fn count_new(&mut self, bytes: usize) {
        self.system_buffers += 1;
        self.system_bytes += bytes as u64;
    }

    /// Counts a block that goes back to the system.
    pub fn count_gone(&mut self, bytes: usize) {
        self.system_buffers -= 1;
        self.system_bytes -= bytes as u64;
    }

    /// The least recently freed block, to give back to the system.
    pub fn evict(&mut self) -> Option<M> {
        let memory = self.cache.take_oldest()?;
        self.count_gone(memory.bytes());
        Some(memory)
    }

    fn list(&mut self, id: u32) {
        if let Some(slab) = self.slabs[id as usize].as_mut() {
            slab.listed = Some(self.open[slab.class].len() as u32);
            self.open[slab.class].push(id);
        }
    }

    fn unlist(&mut self, id: u32) {
        let Some(slab) = self.slabs[id as usize].as_mut() else { return };
        let Some(position) = slab.listed.take() else { return };
        let open = &mut self.open[slab.class];
        open.swap_remove(position as usize);
        if let Some(&moved) = open.get(position as usize)
            && let Some(moved) = self.slabs[moved as usize].as_mut()
        {
            moved.listed = Some(position);
        }
    }
}

fn class_of(bytes: usize) -> usize {
    CLASSES.partition_point(|&c| c < bytes)
}
