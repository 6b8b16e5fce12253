//! When most memory was held, and what held it.

use std::cmp::Reverse;
use std::collections::HashMap;

use serde::Serialize;

use super::index::Index;
use crate::{Result, Trace};

/// How many buffers are listed.
const LISTED: usize = 20;

/// A buffer that was held when most memory was.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Held {
    /// Its number.
    pub buffer: u64,
    /// Its size.
    pub bytes: u64,
    /// Since when.
    pub since_ns: i64,
    /// The array it was made for.
    pub array: Option<u64>,
    /// The operation that made the array.
    pub name: Option<String>,
    /// The user's name for the array.
    pub label: Option<String>,
    /// The user's source line.
    pub call_site: Option<String>,
}

/// Use of memory.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct MemoryUse {
    /// Most bytes held by arrays at one time, within the window.
    pub peak: u64,
    /// When that was.
    pub peak_ns: i64,
    /// On which device.
    pub device: String,
    /// What held it, largest first.
    pub held: Vec<Held>,
    /// How many buffers held it.
    pub held_count: u64,
    /// Bytes of it that were held from before the window, or by buffers the file does not know.
    pub held_before: u64,
    /// Most bytes kept for reuse.
    pub cache_peak: u64,
    /// Buffers from the system.
    pub allocations: u64,
    /// Their bytes.
    pub allocated_bytes: u64,
    /// Buffers from the cache.
    pub reuses: u64,
    /// Their bytes.
    pub reused_bytes: u64,
    /// Buffers given up by their last array.
    pub frees: u64,
}

/// Use of memory over the window.
///
/// # Errors
/// As the tables.
pub fn memory(trace: &Trace) -> Result<MemoryUse> {
    memory_with(trace, &Index::new(trace)?)
}

pub(super) fn memory_with(trace: &Trace, index: &Index) -> Result<MemoryUse> {
    let table = trace.memory()?;
    let mut used = MemoryUse { peak: trace.manifest().memory.active_at_start, ..MemoryUse::default() };
    let mut at = None;
    for (row, event) in table.iter().enumerate() {
        let (count, bytes) = match event.event {
            "allocate" => (&mut used.allocations, Some(&mut used.allocated_bytes)),
            "reuse" => (&mut used.reuses, Some(&mut used.reused_bytes)),
            "free" => (&mut used.frees, None),
            _ => continue,
        };
        *count += 1;
        if let Some(bytes) = bytes {
            *bytes = bytes.saturating_add(event.bytes);
        }
        used.cache_peak = used.cache_peak.max(event.cache);
        if event.active > used.peak || at.is_none() && event.active >= used.peak {
            (used.peak, used.peak_ns) = (event.active, event.time_ns);
            at = Some((row, event.device));
        }
    }
    let Some((last, device)) = at else { return Ok(used) };
    used.device = device.to_owned();
    // Size and row of each buffer.
    let mut held: HashMap<u64, (u64, usize)> = HashMap::new();
    for (row, event) in table.iter().enumerate().take(last + 1).filter(|(_, event)| event.device == device) {
        match event.event {
            "allocate" | "reuse" => {
                held.insert(event.buffer, (event.bytes, row));
            }
            "free" => {
                held.remove(&event.buffer);
            }
            _ => {}
        }
    }
    let known = held.values().fold(0_u64, |sum, (bytes, _)| sum.saturating_add(*bytes));
    used.held_count = held.len() as u64;
    used.held_before = used.peak.saturating_sub(known);
    let mut rows: Vec<(Reverse<u64>, usize)> =
        held.into_values().map(|(bytes, row)| (Reverse(bytes), row)).collect();
    rows.sort_unstable();
    let ops = trace.ops()?;
    for event in rows.into_iter().take(LISTED).filter_map(|(_, row)| table.get(row)) {
        let op = event.op.and_then(|array| index.arrays.get(array)).and_then(|row| ops.get(row));
        used.held.push(Held {
            buffer: event.buffer,
            bytes: event.bytes,
            since_ns: event.time_ns,
            array: event.op,
            name: op.map(|op| op.name.to_owned()),
            label: op.and_then(|op| op.label).map(str::to_owned),
            call_site: op.map(|op| op.call_site.to_owned()),
        });
    }
    Ok(used)
}
