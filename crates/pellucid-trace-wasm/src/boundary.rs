//! The functions that the page calls, and the one it offers. Numbers and bytes are all that crosses: a call leaves its
//! answer in memory, and [`answer`] and [`answer_length`] say where.

use std::cell::RefCell;
use std::io::{self, Read, Seek, SeekFrom};

use crate::Desk;

#[link(wasm_import_module = "page")]
unsafe extern "C" {
    /// Copies bytes of the file in a slot to `target`; returns how many there were. Offsets are numbers of JavaScript.
    fn read(slot: u32, offset: f64, target: *mut u8, length: u32) -> u32;
}

#[derive(Default)]
struct State {
    desk: Desk,
    answer: String,
}

thread_local! {
    static STATE: RefCell<State> = RefCell::default();
}

/// A file that the page reads for us, piece by piece.
struct PageFile {
    slot: u32,
    at: u64,
    size: u64,
}

impl Read for PageFile {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = (self.size.saturating_sub(self.at)).min(buffer.len() as u64).min(64 << 20) as u32;
        if length == 0 {
            return Ok(0);
        }
        // SAFETY: the buffer has room for `length` bytes, and the page writes no more than that.
        let got = unsafe { read(self.slot, self.at as f64, buffer.as_mut_ptr(), length) }.min(length);
        self.at += u64::from(got);
        Ok(got as usize)
    }
}

impl Seek for PageFile {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let next = match to {
            SeekFrom::Start(at) => Some(at),
            SeekFrom::End(by) => self.size.checked_add_signed(by),
            SeekFrom::Current(by) => self.at.checked_add_signed(by),
        };
        self.at = next.ok_or(io::ErrorKind::InvalidInput)?;
        Ok(self.at)
    }
}

/// Keeps the answer; 1 for a good one, 0 for a refusal.
fn keep(work: impl FnOnce(&mut Desk) -> Result<String, String>) -> u32 {
    STATE.with_borrow_mut(|state| {
        let result = work(&mut state.desk);
        let good = result.is_ok();
        state.answer = result.unwrap_or_else(|refusal| refusal);
        u32::from(good)
    })
}

/// Opens the file of a slot, of `size` bytes.
#[unsafe(no_mangle)]
extern "C" fn open(slot: u32, size: f64) -> u32 {
    keep(|desk| {
        desk.open(slot as usize, PageFile { slot, at: 0, size: size as u64 })?;
        Ok(String::new())
    })
}

/// The analysis of the trace in a slot.
#[unsafe(no_mangle)]
extern "C" fn analyse(slot: u32) -> u32 {
    keep(|desk| desk.analyse(slot as usize))
}

/// What a picture of the trace in a slot marks.
#[unsafe(no_mangle)]
extern "C" fn marks(slot: u32) -> u32 {
    keep(|desk| desk.marks(slot as usize))
}

/// The comparison of the two traces.
#[unsafe(no_mangle)]
extern "C" fn diff() -> u32 {
    keep(|desk| desk.diff())
}

/// Where the last answer begins.
#[unsafe(no_mangle)]
extern "C" fn answer() -> *const u8 {
    STATE.with_borrow(|state| state.answer.as_ptr())
}

/// How many bytes it has.
#[unsafe(no_mangle)]
extern "C" fn answer_length() -> u32 {
    STATE.with_borrow(|state| state.answer.len() as u32)
}
