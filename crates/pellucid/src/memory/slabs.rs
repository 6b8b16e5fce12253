//! Small buffers share slabs: blocks cut into slots of one size.
//!
//! Slots of a new slab are handed out in ascending order; nothing is written down for a slot until it is freed.

use std::sync::Arc;

use super::block::Block;

/// Bytes of one slab.
pub(super) const SLAB: usize = 64 << 10;
/// Slot positions are counted in these units.
pub(super) const UNIT: usize = 16;
const NONE: u32 = u32::MAX;

struct Slab {
    block: Arc<Block>,
    class: u8,
    live: u16,
    /// Slots never handed out begin here.
    fresh: u16,
    /// Slots handed out and taken back.
    free: Vec<u16>,
    /// Position in the list of its size's slabs with live and free slots.
    listed: u32,
    /// The cache's node while it is empty and kept.
    node: u32,
}

/// A slot handed out.
pub(super) struct Slot {
    pub block: Arc<Block>,
    pub slab: u32,
    /// Where it begins, in [`UNIT`]s.
    pub offset: u16,
    pub bytes: usize,
    /// The cache's node of the slab, if it was empty and kept until now.
    pub was_kept: Option<u32>,
}

/// What became of a slab when one of its slots was taken back.
pub(super) enum Emptied {
    /// Others are still live.
    No,
    /// It is empty and stays a slab of its size: the only one.
    Kept,
    /// It is empty and no slab any more.
    Dissolved(Arc<Block>),
}

/// The slabs of one device.
pub(super) struct Slabs {
    sizes: &'static [usize],
    /// The class of each size, counted in [`UNIT`]s.
    class_of: Vec<u8>,
    slabs: Vec<Option<Slab>>,
    vacant: Vec<u32>,
    /// For each class, the slabs with live and free slots.
    open: Vec<Vec<u32>>,
    /// For each class, an empty slab that is kept.
    empty: Vec<Option<u32>>,
}

impl Slabs {
    pub fn new(sizes: &'static [usize]) -> Slabs {
        let units = sizes.last().map_or(0, |largest| largest / UNIT);
        let class_of = (0..=units).map(|u| sizes.partition_point(|&s| s < u * UNIT) as u8).collect();
        Slabs {
            sizes,
            class_of,
            slabs: Vec::new(),
            vacant: Vec::new(),
            open: vec![Vec::new(); sizes.len()],
            empty: vec![None; sizes.len()],
        }
    }

    /// The class of a request, if it is small enough for a slot.
    pub fn class(&self, bytes: usize) -> Option<usize> {
        self.class_of.get(bytes.div_ceil(UNIT)).map(|&class| class.into())
    }

    /// A free slot. If there is none, the caller brings a slab with [`Slabs::add`].
    pub fn take(&mut self, class: usize) -> Option<Slot> {
        let id = match self.open[class].last() {
            Some(&id) => id,
            None => self.empty[class].take()?,
        };
        let bytes = self.sizes[class];
        let slab = self.slabs[id as usize].as_mut()?;
        let slot = slab.free.pop().unwrap_or_else(|| {
            slab.fresh += 1;
            slab.fresh - 1
        });
        slab.live += 1;
        let was_kept = (slab.node != NONE).then(|| std::mem::replace(&mut slab.node, NONE));
        let full = slab.free.is_empty() && (usize::from(slab.fresh) + 1) * bytes > slab.block.bytes;
        let listed = slab.listed != NONE;
        let offset = (usize::from(slot) * bytes / UNIT) as u16;
        let slot = Slot { block: slab.block.clone(), slab: id, offset, bytes, was_kept };
        match (full, listed) {
            (true, true) => self.unlist(id),
            (false, false) => self.list(id),
            _ => {}
        }
        Some(slot)
    }

    /// Makes a block of [`SLAB`] bytes the slab that the next slots of this class come from.
    pub fn add(&mut self, class: usize, block: Arc<Block>) {
        let slab =
            Slab { block, class: class as u8, live: 0, fresh: 0, free: Vec::new(), listed: NONE, node: NONE };
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

    /// Takes a slot back. `keep` says whether an empty slab may be kept.
    pub fn put(&mut self, id: u32, offset: u16, keep: bool) -> Emptied {
        let Some(slab) = self.slabs.get_mut(id as usize).and_then(Option::as_mut) else { return Emptied::No };
        let class = usize::from(slab.class);
        slab.live -= 1;
        if slab.live > 0 {
            slab.free.push((usize::from(offset) * UNIT / self.sizes[class]) as u16);
            if slab.listed == NONE {
                self.list(id);
            }
            return Emptied::No;
        }
        // All slots are free again: as good as new.
        slab.fresh = 0;
        slab.free.clear();
        if slab.listed != NONE {
            self.unlist(id);
        }
        if keep && self.empty[class].is_none() {
            self.empty[class] = Some(id);
            return Emptied::Kept;
        }
        self.dissolve(id).map_or(Emptied::No, Emptied::Dissolved)
    }

    /// Remembers the cache's node of a slab that is kept.
    pub fn set_node(&mut self, id: u32, node: u32) {
        if let Some(slab) = self.slabs.get_mut(id as usize).and_then(Option::as_mut) {
            slab.node = node;
        }
    }

    /// Gives up a kept slab.
    pub fn evict(&mut self, id: u32) -> Option<Arc<Block>> {
        let class = self.slabs.get(id as usize)?.as_ref()?.class;
        self.empty[usize::from(class)] = None;
        self.dissolve(id)
    }

    fn dissolve(&mut self, id: u32) -> Option<Arc<Block>> {
        let slab = self.slabs[id as usize].take()?;
        self.vacant.push(id);
        Some(slab.block)
    }

    fn list(&mut self, id: u32) {
        if let Some(slab) = self.slabs[id as usize].as_mut() {
            let open = &mut self.open[usize::from(slab.class)];
            slab.listed = open.len() as u32;
            open.push(id);
        }
    }

    fn unlist(&mut self, id: u32) {
        let Some(slab) = self.slabs[id as usize].as_mut() else { return };
        let position = std::mem::replace(&mut slab.listed, NONE);
        let open = &mut self.open[usize::from(slab.class)];
        open.swap_remove(position as usize);
        if let Some(&moved) = open.get(position as usize)
            && let Some(moved) = self.slabs[moved as usize].as_mut()
        {
            moved.listed = position;
        }
    }
}
