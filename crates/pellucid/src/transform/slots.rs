//! A table by the numbers of nodes. They come from one counter, so that what one trace made lies close together.

use std::collections::HashMap;

use super::trace::{Item, Items};
use crate::array::Array;

pub(super) struct Slots<T> {
    table: Table<T>,
    /// Stands for every number outside of the table, which belongs to nothing that was recorded.
    outside: Option<T>,
}

enum Table<T> {
    /// One place for each number from the lowest on.
    Dense { lowest: u64, places: Vec<Option<T>> },
    /// Numbers far apart, because other threads made many nodes meanwhile.
    Sparse(HashMap<u64, Option<T>>),
}

/// A dense table may be this many times as large as what it is for.
const MOST_HOLES: u64 = 64;

impl<T> Slots<T> {
    /// A table for everything that was recorded, and some arrays more.
    pub fn over(items: &Items, more: &[Array]) -> Slots<T> {
        let recorded = items.iter().flat_map(|item| match &**item {
            Item::Call(call) => call.outputs.as_slice(),
            Item::Custom(call) => call.outputs.as_slice(),
        });
        let (mut lowest, mut highest, mut count) = (u64::MAX, 0, 0u64);
        for array in recorded.chain(more) {
            (lowest, highest, count) = (lowest.min(array.id()), highest.max(array.id()), count + 1);
        }
        let range = highest.saturating_sub(lowest).saturating_add(1);
        let table = if count == 0 || range > count.saturating_mul(MOST_HOLES) {
            Table::Sparse(HashMap::new())
        } else {
            let mut places = Vec::new();
            places.resize_with(range as usize, || None);
            Table::Dense { lowest, places }
        };
        Slots { table, outside: None }
    }

    /// The place for a number.
    pub fn slot(&mut self, id: u64) -> &mut Option<T> {
        match &mut self.table {
            Table::Sparse(map) => map.entry(id).or_default(),
            Table::Dense { lowest, places } => {
                let at = id.checked_sub(*lowest).and_then(|at| usize::try_from(at).ok());
                match at.and_then(|at| places.get_mut(at)) {
                    Some(place) => place,
                    None => {
                        self.outside = None;
                        &mut self.outside
                    }
                }
            }
        }
    }

    pub fn get(&self, id: u64) -> Option<&T> {
        match &self.table {
            Table::Sparse(map) => map.get(&id).and_then(Option::as_ref),
            Table::Dense { lowest, places } => {
                let at = usize::try_from(id.checked_sub(*lowest)?).ok()?;
                places.get(at).and_then(Option::as_ref)
            }
        }
    }

    pub fn has(&self, id: u64) -> bool {
        self.get(id).is_some()
    }
}
