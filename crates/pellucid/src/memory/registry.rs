//! The list of live buffers, and at the same time their reference counts: one entry of 72 bytes is all that a buffer
//! costs beside its memory.
//!
//! Entries lie in chunks that are never given back, so a buffer is a plain reference to its entry, and a report can
//! walk over all of them.

use std::cell::UnsafeCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering, fence};

use super::block::Block;
use super::pool::Piece;
use crate::call_site::CallSite;

/// Entries are made this many at a time.
const CHUNK: usize = 512;

/// A live buffer: its memory, and who asked for it.
#[derive(Debug)]
pub(super) struct Record {
    pub id: u64,
    pub block: Arc<Block>,
    pub bytes: usize,
    /// The array it was made for; 0 if not known.
    pub op: u64,
    pub site: CallSite,
    pub stream: u32,
    /// The slab, [`super::pool::NO_SLAB`] or [`super::pool::FOREIGN`].
    pub slab: u32,
    /// Where it begins in the block, in [`super::slabs::UNIT`]s.
    pub offset: u16,
    /// The position of its pool.
    pub pool: u16,
}

impl Record {
    /// The memory, to give back.
    pub fn into_piece(self) -> Piece {
        Piece { block: self.block, bytes: self.bytes, slab: self.slab, offset: self.offset }
    }
}

/// A place for a live buffer.
///
/// The record is written only by the registry, under the allocator's lock and while no buffer refers to the entry. It is
/// read by buffers that refer to it, and under the lock.
#[derive(Debug)]
pub(super) struct Entry {
    holders: AtomicU32,
    record: UnsafeCell<Option<Record>>,
}

// SAFETY: see the type's rule: nobody writes the record while anyone may read it. Its content is `Send + Sync`.
unsafe impl Sync for Entry {}

impl Entry {
    /// An entry of its own for memory that somebody else owns. It is in no list, so that neither figures nor limits
    /// count what is not ours.
    pub fn foreign(record: Record) -> &'static Entry {
        let record = UnsafeCell::new(Some(record));
        Box::leak(Box::new(Entry { holders: AtomicU32::new(1), record }))
    }

    /// Gives an entry of [`Entry::foreign`] back, and its memory to its owner.
    ///
    /// # Safety
    /// The entry was made there, and its last buffer let go of it.
    pub unsafe fn forget(&'static self) {
        // SAFETY: boxed there; nobody refers to it any more.
        drop(unsafe { Box::from_raw(std::ptr::from_ref(self).cast_mut()) });
    }

    /// # Safety
    /// The caller is a buffer that refers to this entry, or holds the allocator's lock.
    pub unsafe fn record(&self) -> Option<&Record> {
        // SAFETY: the caller's promise excludes a writer, by the type's rule.
        unsafe { (*self.record.get()).as_ref() }
    }

    pub fn holders(&self) -> usize {
        self.holders.load(Ordering::Acquire) as usize
    }

    /// Counts one more buffer that refers to it.
    pub fn hold(&self) {
        // As in `Arc`: whoever clones has a reference already, so nothing needs to be ordered.
        if self.holders.fetch_add(1, Ordering::Relaxed) > i32::MAX as u32 {
            // Two billion leaked handles; going on would free memory in use.
            std::process::abort();
        }
    }

    /// Counts one less; true if that was the last.
    pub fn let_go(&self) -> bool {
        if self.holders.fetch_sub(1, Ordering::Release) != 1 {
            return false;
        }
        // Everything other holders did happens before the memory is given back.
        fence(Ordering::Acquire);
        true
    }
}

/// All entries, in use and free.
pub(super) struct Registry {
    chunks: Vec<&'static [Entry]>,
    free: Vec<&'static Entry>,
    live: u64,
}

impl Registry {
    pub fn new() -> Registry {
        Registry { chunks: Vec::new(), free: Vec::new(), live: 0 }
    }

    /// How many buffers are live.
    pub fn live(&self) -> u64 {
        self.live
    }

    /// An entry for a new buffer, which is its only holder.
    pub fn add(&mut self, record: Record) -> &'static Entry {
        let entry = self.free.pop().unwrap_or_else(|| self.grow());
        // SAFETY: a free entry: no buffer refers to it, and `&mut self` means that the lock is held.
        unsafe { *entry.record.get() = Some(record) };
        // The reference reaches other threads only through something that orders this store before.
        entry.holders.store(1, Ordering::Relaxed);
        self.live += 1;
        entry
    }

    /// Frees the entry of a buffer whose last holder is gone.
    ///
    /// # Safety
    /// The entry is of this registry, its last buffer let go of it, and that is told only once.
    pub unsafe fn remove(&mut self, entry: &'static Entry) -> Option<Record> {
        // SAFETY: no buffer refers to it any more, and `&mut self` means that the lock is held.
        let record = unsafe { (*entry.record.get()).take() }?;
        self.free.push(entry);
        self.live -= 1;
        Some(record)
    }

    /// All live buffers.
    pub fn records(&self) -> impl Iterator<Item = &Record> {
        // SAFETY: `&self` means that the lock is held.
        self.chunks.iter().flat_map(|chunk| chunk.iter()).filter_map(|entry| unsafe { entry.record() })
    }

    fn grow(&mut self) -> &'static Entry {
        let make = || Entry { holders: AtomicU32::new(0), record: UnsafeCell::new(None) };
        let chunk: &'static [Entry] = Box::leak((0..CHUNK).map(|_| make()).collect());
        self.chunks.push(chunk);
        // In reverse, so that entries are handed out in ascending order.
        self.free.extend(chunk[1..].iter().rev());
        &chunk[0]
    }
}

const _: () = assert!(size_of::<Entry>() < 80);
