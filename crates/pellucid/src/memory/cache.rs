//! Freed memory kept for reuse: found by size, given up by age.
//!
//! All nodes form one list by age. Whole blocks are also listed by size; within one size they lie in the order in which
//! they came, so the youngest is at the back and the oldest at the front.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use super::block::Block;

const NONE: u32 = u32::MAX;
/// Sizes without a block that are remembered, so that a loop does not make and remove them all the time.
const EMPTY_SIZES: usize = 32;

/// What is kept.
#[derive(Debug)]
pub(super) enum Kept {
    /// A block that anyone may have.
    Block(Arc<Block>),
    /// An empty slab that keeps its slots, by its number.
    Slab(u32),
}

struct Node {
    kept: Option<Kept>,
    bytes: usize,
    stamp: u64,
    older: u32,
    newer: u32,
}

/// The cache of one device.
pub(super) struct Cache {
    nodes: Vec<Node>,
    vacant: Vec<u32>,
    oldest: u32,
    newest: u32,
    by_size: BTreeMap<usize, VecDeque<u32>>,
    empty_sizes: usize,
    bytes: u64,
    count: u64,
}

impl Cache {
    pub fn new() -> Cache {
        Cache {
            nodes: Vec::new(),
            vacant: Vec::new(),
            oldest: NONE,
            newest: NONE,
            by_size: BTreeMap::new(),
            empty_sizes: 0,
            bytes: 0,
            count: 0,
        }
    }

    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// How many blocks and slabs there are.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// When the oldest came, if there is one.
    pub fn oldest_stamp(&self) -> Option<u64> {
        self.nodes.get(self.oldest as usize).map(|node| node.stamp)
    }

    /// The smallest block of `least` to `most` bytes; of equal ones the youngest, which processor caches know best.
    pub fn take(&mut self, least: usize, most: usize) -> Option<Arc<Block>> {
        let (_, list) = self.by_size.range_mut(least..=most).find(|(_, list)| !list.is_empty())?;
        let node = list.pop_back()?;
        if list.is_empty() {
            self.count_empty_size();
        }
        match self.unlink(node) {
            Some(Kept::Block(block)) => Some(block),
            _ => None,
        }
    }

    /// Keeps something that came at the time `stamp`; returns its node.
    pub fn put(&mut self, kept: Kept, bytes: usize, stamp: u64) -> u32 {
        let listed = matches!(kept, Kept::Block(_));
        let node = Node { kept: Some(kept), bytes, stamp, older: self.newest, newer: NONE };
        let id = match self.vacant.pop() {
            Some(id) => {
                self.nodes[id as usize] = node;
                id
            }
            None => {
                self.nodes.push(node);
                (self.nodes.len() - 1) as u32
            }
        };
        match self.nodes.get_mut(self.newest as usize) {
            Some(before) => before.newer = id,
            None => self.oldest = id,
        }
        self.newest = id;
        self.bytes += bytes as u64;
        self.count += 1;
        if listed {
            let list = self.by_size.entry(bytes).or_insert_with(|| {
                self.empty_sizes += 1;
                VecDeque::new()
            });
            if list.is_empty() {
                self.empty_sizes -= 1;
            }
            list.push_back(id);
        }
        id
    }

    /// Gives up the oldest.
    pub fn take_oldest(&mut self) -> Option<Kept> {
        let id = self.oldest;
        let node = self.nodes.get(id as usize)?;
        if matches!(node.kept, Some(Kept::Block(_)))
            && let Some(list) = self.by_size.get_mut(&node.bytes)
        {
            let first = list.pop_front();
            debug_assert_eq!(first, Some(id), "the oldest of all is the oldest of its size");
            if list.is_empty() {
                self.count_empty_size();
            }
        }
        self.unlink(id)
    }

    /// Takes a slab out, by the node that [`Cache::put`] returned.
    pub fn take_slab(&mut self, node: u32) {
        self.unlink(node);
    }

    fn count_empty_size(&mut self) {
        self.empty_sizes += 1;
        if self.empty_sizes > EMPTY_SIZES {
            self.by_size.retain(|_, list| !list.is_empty());
            self.empty_sizes = 0;
        }
    }

    fn unlink(&mut self, id: u32) -> Option<Kept> {
        let node = self.nodes.get_mut(id as usize)?;
        let kept = node.kept.take()?;
        let (older, newer, bytes) = (node.older, node.newer, node.bytes);
        match self.nodes.get_mut(older as usize) {
            Some(node) => node.newer = newer,
            None => self.oldest = newer,
        }
        match self.nodes.get_mut(newer as usize) {
            Some(node) => node.older = older,
            None => self.newest = older,
        }
        self.vacant.push(id);
        self.bytes -= bytes as u64;
        self.count -= 1;
        Some(kept)
    }
}
