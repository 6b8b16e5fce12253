//! An append-only ZIP writer. A member reaches the file in one piece, header with sizes and checksum first, so that a
//! process killed at any moment leaves only complete members and at most one cut one. The `zip` crate goes back to
//! complete headers instead, and cannot say how large a member becomes before it is written. Reading is left to `zip`.

use std::fs::File;
use std::io::{self, Seek, SeekFrom, Write};

use flate2::Compression;
use flate2::write::DeflateEncoder;

const LOCAL: u32 = 0x0403_4b50;
const CENTRAL: u32 = 0x0201_4b50;
const END: u32 = 0x0605_4b50;
const END64: u32 = 0x0606_4b50;
const END64_LOCATOR: u32 = 0x0706_4b50;
/// Sizes and offsets from here on need the 64-bit fields.
const LIMIT: u64 = u32::MAX as u64;
/// 1980-01-01: the content, not the moment, makes the file.
const DATE: u16 = (1 << 5) | 1;
const DEFLATE: u16 = 8;
const STORED: u16 = 0;

/// Data ready to be appended.
pub(crate) struct Member<'a> {
    name: &'a str,
    method: u16,
    crc: u32,
    size: u64,
    /// Written one after the other: a header and the elements of a tensor, for instance.
    parts: Parts<'a>,
}

enum Parts<'a> {
    Packed(Vec<u8>),
    Plain(&'a [&'a [u8]]),
}

impl<'a> Member<'a> {
    /// Compresses `parts` if that pays.
    pub(crate) fn new(name: &'a str, parts: &'a [&'a [u8]], level: u32) -> io::Result<Self> {
        let size = parts.iter().map(|part| part.len() as u64).sum::<u64>();
        let mut crc = crc32fast::Hasher::new();
        parts.iter().for_each(|part| crc.update(part));
        let mut member = Self { name, method: STORED, crc: crc.finalize(), size, parts: Parts::Plain(parts) };
        if size > 0 && pays(parts, level)? {
            let mut encoder = DeflateEncoder::new(Vec::new(), Compression::new(level));
            for part in parts {
                encoder.write_all(part)?;
            }
            let packed = encoder.finish()?;
            if (packed.len() as u64) < size {
                (member.method, member.parts) = (DEFLATE, Parts::Packed(packed));
            }
        }
        Ok(member)
    }

    fn packed_size(&self) -> u64 {
        match &self.parts {
            Parts::Packed(data) => data.len() as u64,
            Parts::Plain(_) => self.size,
        }
    }

    /// Bytes the member adds to the file, its entry in the table of contents included.
    pub(crate) fn total_size(&self) -> u64 {
        self.packed_size() + 30 + 46 + 48 + 2 * self.name.len() as u64
    }
}

/// Numbers that look random do not shrink; a sample tells without going through all of them.
fn pays(parts: &[&[u8]], level: u32) -> io::Result<bool> {
    const SAMPLE: usize = 64 * 1024;
    let Some(largest) = parts.iter().max_by_key(|part| part.len()).filter(|part| part.len() > 4 * SAMPLE)
    else {
        return Ok(true);
    };
    let middle = largest.len() / 2;
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::new(level));
    encoder.write_all(&largest[middle..middle + SAMPLE])?;
    Ok(encoder.finish()?.len() < SAMPLE * 9 / 10)
}

struct Entry {
    name: String,
    method: u16,
    crc: u32,
    packed: u64,
    size: u64,
    offset: u64,
}

/// A state of an [`Archive`].
pub(crate) struct Checkpoint {
    entries: usize,
    position: u64,
    directory: u64,
}

/// A ZIP file that grows.
pub(crate) struct Archive {
    file: File,
    entries: Vec<Entry>,
    /// End of the last complete member.
    position: u64,
    directory: u64,
}

impl Archive {
    pub(crate) fn new(file: File) -> Self {
        Self { file, entries: Vec::new(), position: 0, directory: 0 }
    }

    /// Bytes written so far.
    pub(crate) fn position(&self) -> u64 {
        self.position
    }

    /// Size of the file if it were ended now.
    pub(crate) fn size(&self) -> u64 {
        self.position + self.directory + 98
    }

    /// A place to come back to.
    pub(crate) fn checkpoint(&self) -> Checkpoint {
        Checkpoint { entries: self.entries.len(), position: self.position, directory: self.directory }
    }

    /// Removes everything after `checkpoint`.
    pub(crate) fn rewind(&mut self, checkpoint: Checkpoint) -> io::Result<()> {
        self.entries.truncate(checkpoint.entries);
        (self.position, self.directory) = (checkpoint.position, checkpoint.directory);
        self.file.set_len(self.position)?;
        self.file.seek(SeekFrom::Start(self.position)).map(drop)
    }

    /// Appends a member; on failure the file ends after the member before it.
    pub(crate) fn append(&mut self, member: &Member) -> io::Result<()> {
        let wide = member.size >= LIMIT || member.packed_size() >= LIMIT;
        let mut head = Vec::with_capacity(64 + member.name.len());
        put32(&mut head, LOCAL);
        for field in [if wide { 45 } else { 20 }, 0, member.method, 0, DATE] {
            put16(&mut head, field);
        }
        put32(&mut head, member.crc);
        put32(&mut head, if wide { u32::MAX } else { member.packed_size() as u32 });
        put32(&mut head, if wide { u32::MAX } else { member.size as u32 });
        put16(&mut head, member.name.len() as u16);
        put16(&mut head, if wide { 20 } else { 0 });
        head.extend_from_slice(member.name.as_bytes());
        if wide {
            put16(&mut head, 1);
            put16(&mut head, 16);
            put64(&mut head, member.size);
            put64(&mut head, member.packed_size());
        }
        let written = self.write_member(&head, member);
        if let Err(error) = written {
            // What was written of it would confuse; if even this fails, recovery recognises the cut member.
            let _ = self.file.set_len(self.position);
            let _ = self.file.seek(SeekFrom::Start(self.position));
            return Err(error);
        }
        self.entries.push(Entry {
            name: member.name.to_owned(),
            method: member.method,
            crc: member.crc,
            packed: member.packed_size(),
            size: member.size,
            offset: self.position,
        });
        self.position += head.len() as u64 + member.packed_size();
        self.directory += 46 + 28 + member.name.len() as u64;
        Ok(())
    }

    fn write_member(&mut self, head: &[u8], member: &Member) -> io::Result<()> {
        match &member.parts {
            Parts::Packed(data) if data.len() < 4 << 20 => self.file.write_all(&[head, data].concat()),
            Parts::Packed(data) => {
                self.file.write_all(head)?;
                self.file.write_all(data)
            }
            Parts::Plain(parts) => {
                self.file.write_all(head)?;
                parts.iter().try_for_each(|part| self.file.write_all(part))
            }
        }
    }

    /// Writes the table of contents; returns the size of the file.
    pub(crate) fn end(&mut self, sync: bool) -> io::Result<u64> {
        let mut out = Vec::new();
        for entry in &self.entries {
            central_entry(&mut out, entry);
        }
        let (count, size, start) = (self.entries.len() as u64, out.len() as u64, self.position);
        if count >= 0xffff || start + size >= LIMIT {
            put32(&mut out, END64);
            put64(&mut out, 44);
            put16(&mut out, 45);
            put16(&mut out, 45);
            put32(&mut out, 0);
            put32(&mut out, 0);
            [count, count, size, start].iter().for_each(|field| put64(&mut out, *field));
            put32(&mut out, END64_LOCATOR);
            put32(&mut out, 0);
            put64(&mut out, start + size);
            put32(&mut out, 1);
        }
        put32(&mut out, END);
        put32(&mut out, 0);
        put16(&mut out, count.min(0xffff) as u16);
        put16(&mut out, count.min(0xffff) as u16);
        put32(&mut out, size.min(LIMIT) as u32);
        put32(&mut out, start.min(LIMIT) as u32);
        put16(&mut out, 0);
        self.file.write_all(&out)?;
        if sync {
            self.file.sync_all()?;
        }
        Ok(self.position + out.len() as u64)
    }
}

fn central_entry(out: &mut Vec<u8>, entry: &Entry) {
    let wide: Vec<u64> =
        [entry.size, entry.packed, entry.offset].into_iter().filter(|field| *field >= LIMIT).collect();
    put32(out, CENTRAL);
    // Made by a Unix system, so that the permissions below are understood.
    for field in [(3 << 8) | 45, if wide.is_empty() { 20 } else { 45 }, 0, entry.method, 0, DATE] {
        put16(out, field);
    }
    put32(out, entry.crc);
    put32(out, entry.packed.min(LIMIT) as u32);
    put32(out, entry.size.min(LIMIT) as u32);
    put16(out, entry.name.len() as u16);
    put16(out, if wide.is_empty() { 0 } else { 4 + 8 * wide.len() as u16 });
    [0, 0, 0].iter().for_each(|field| put16(out, *field));
    put32(out, 0o100_644 << 16);
    put32(out, entry.offset.min(LIMIT) as u32);
    out.extend_from_slice(entry.name.as_bytes());
    if !wide.is_empty() {
        put16(out, 1);
        put16(out, 8 * wide.len() as u16);
        wide.iter().for_each(|field| put64(out, *field));
    }
}

fn put16(out: &mut Vec<u8>, value: u16) {
    out.extend_from_slice(&value.to_le_bytes());
}

fn put32(out: &mut Vec<u8>, value: u32) {
    out.extend_from_slice(&value.to_le_bytes());
}

fn put64(out: &mut Vec<u8>, value: u64) {
    out.extend_from_slice(&value.to_le_bytes());
}
