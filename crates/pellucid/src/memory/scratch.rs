//! Memory that work needs only while it runs: from the pool, so that it is counted, bounded and fallible as that of
//! arrays is.
//!
//! It is asked for by the thread that runs a kernel, never by one that helps it: who waits for memory must be known to
//! the scheduler. What each helper needs is therefore made before they start, see [`PerThread`].

use std::cell::Cell;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};

use parking_lot::Mutex;
use smallvec::SmallVec;

use super::buffer::Buffer;
use super::request::{Demand, Request};
use crate::call_site::CallSite;
use crate::device::Device;
use crate::error::Result;

thread_local! {
    /// The array that this thread computes.
    static WORK: Cell<Option<Work>> = const { Cell::new(None) };
}

/// Whom scratch memory is for.
#[derive(Clone, Copy)]
struct Work {
    stream: u32,
    site: CallSite,
    op: u64,
}

/// While it lives, this thread's scratch memory counts for an array.
pub(crate) struct WorkScope {
    before: Option<Work>,
}

impl WorkScope {
    pub fn enter(stream: u32, site: CallSite, op: u64) -> WorkScope {
        WorkScope { before: WORK.replace(Some(Work { stream, site, op })) }
    }
}

impl Drop for WorkScope {
    fn drop(&mut self) {
        WORK.set(self.before);
    }
}

/// A list of plain values in memory that is counted as long as it lives.
///
/// ```
/// use pellucid::memory::{Scratch, get_active_memory};
/// # fn main() -> pellucid::Result<()> {
/// let mut list = Scratch::new("example");
/// for i in 0..1000u64 {
///     list.push(i)?; // an error where a Vec would abort the process
/// }
/// assert_eq!(list.iter().sum::<u64>(), 499_500);
/// assert!(get_active_memory() >= 8000);
/// # Ok(())
/// # }
/// ```
pub struct Scratch<T: Copy> {
    function: &'static str,
    buffer: Buffer,
    len: usize,
    elements: PhantomData<T>,
}

// SAFETY: plain values in memory that only this handle reaches.
unsafe impl<T: Copy + Send> Send for Scratch<T> {}
// SAFETY: as above.
unsafe impl<T: Copy + Sync> Sync for Scratch<T> {}

impl<T: Copy> Scratch<T> {
    /// An empty list; errors name the function.
    pub fn new(function: &'static str) -> Scratch<T> {
        Scratch { function, buffer: Buffer::empty(), len: 0, elements: PhantomData }
    }

    /// An empty list with room for `count` values.
    ///
    /// # Errors
    /// [`Error::Memory`](crate::Error::Memory) if there is no room for them.
    pub fn with_room(function: &'static str, count: usize) -> Result<Scratch<T>> {
        // Every buffer begins at a multiple of 16, and those of a cache line and more at one of 64.
        const { assert!(align_of::<T>() <= 16 || align_of::<T>() <= 64 && size_of::<T>().is_multiple_of(64)) };
        let bytes = count.saturating_mul(size_of::<T>());
        let work = WORK.get();
        let (stream, site) = work.map_or((0, CallSite::here()), |work| (work.stream, work.site));
        let request = Request { function, bytes, stream, site };
        let op = work.map_or(0, |work| work.op);
        let buffer = Buffer::allocate(Demand { request, device: Device::cpu(), op })?;
        Ok(Scratch { function, buffer, len: 0, elements: PhantomData })
    }

    /// `count` times the same value.
    ///
    /// # Errors
    /// [`Error::Memory`](crate::Error::Memory) if there is no room for them.
    pub fn filled(function: &'static str, count: usize, value: T) -> Result<Scratch<T>> {
        let mut scratch: Scratch<T> = Scratch::with_room(function, count)?;
        let start = scratch.as_mut_ptr();
        for i in 0..count {
            // SAFETY: there is room for `count` values.
            unsafe { start.add(i).write(value) };
        }
        scratch.len = count;
        Ok(scratch)
    }

    /// Adds a value at the end.
    ///
    /// # Errors
    /// [`Error::Memory`](crate::Error::Memory) if there is no room for it.
    #[inline]
    pub fn push(&mut self, value: T) -> Result<()> {
        if self.len == self.capacity() {
            self.grow(1)?;
        }
        // SAFETY: there is room behind the last value.
        unsafe { self.as_mut_ptr().add(self.len).write(value) };
        self.len += 1;
        Ok(())
    }

    /// Adds values at the end.
    ///
    /// # Errors
    /// [`Error::Memory`](crate::Error::Memory) if there is no room for them.
    pub fn extend_from_slice(&mut self, values: &[T]) -> Result<()> {
        if self.capacity() - self.len < values.len() {
            self.grow(values.len())?;
        }
        // SAFETY: there is room behind the last value, in memory that is this list's alone.
        unsafe {
            std::ptr::copy_nonoverlapping(values.as_ptr(), self.as_mut_ptr().add(self.len), values.len())
        };
        self.len += values.len();
        Ok(())
    }

    fn capacity(&self) -> usize {
        self.buffer.bytes().checked_div(size_of::<T>()).unwrap_or(usize::MAX)
    }

    #[cold]
    fn grow(&mut self, more: usize) -> Result<()> {
        let wanted = self.len.saturating_add(more).max(self.len.saturating_mul(2)).max(64);
        let mut larger = Scratch::with_room(self.function, wanted)?;
        // SAFETY: the new memory has room for all values, and they do not overlap.
        unsafe { std::ptr::copy_nonoverlapping(self.as_ptr(), larger.as_mut_ptr(), self.len) };
        larger.len = self.len;
        *self = larger;
        Ok(())
    }

    /// Where the values begin; also beyond the last one, as far as there is room.
    pub(crate) fn as_mut_ptr(&mut self) -> *mut T {
        self.buffer.ptr().cast()
    }

    /// Says how many values there are.
    ///
    /// # Safety
    /// There must be room for them, and they must have been written.
    pub(crate) unsafe fn set_len(&mut self, len: usize) {
        self.len = len;
    }
}

impl<T: Copy> Deref for Scratch<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        // SAFETY: so many values were written; the memory is aligned for them.
        unsafe { std::slice::from_raw_parts(self.buffer.ptr().cast(), self.len) }
    }
}

impl<T: Copy> DerefMut for Scratch<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: as above, and nobody else has the memory.
        unsafe { std::slice::from_raw_parts_mut(self.buffer.ptr().cast(), self.len) }
    }
}

impl<T: Copy + std::fmt::Debug> std::fmt::Debug for Scratch<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

/// As much scratch memory for each of the threads that work on a kernel; a thread borrows a part while it works.
pub(crate) struct PerThread<T: Copy> {
    memory: Mutex<(Scratch<T>, SmallVec<[usize; 16]>)>,
    each: usize,
}

impl<T: Copy + Send> PerThread<T> {
    /// `each` times `value` for each of so many threads.
    pub fn filled(function: &'static str, threads: usize, each: usize, value: T) -> Result<PerThread<T>> {
        let memory = Scratch::filled(function, threads.saturating_mul(each), value)?;
        Ok(PerThread { memory: Mutex::new((memory, (0..threads).collect())), each })
    }

    /// As many values of any bits: memory that is not cleared, for what is written before it is read.
    pub fn plain(function: &'static str, threads: usize, each: usize) -> Result<PerThread<T>>
    where
        T: bytemuck::Pod,
    {
        let memory = Scratch::with_room(function, threads.saturating_mul(each))?;
        Ok(PerThread { memory: Mutex::new((memory, (0..threads).collect())), each })
    }

    /// Calls `f` with a part that nobody else has meanwhile.
    pub fn with<R>(&self, f: impl FnOnce(&mut [T]) -> R) -> R {
        if self.each == 0 {
            return f(&mut []);
        }
        struct Back<'a, T: Copy>(&'a PerThread<T>, usize);
        impl<T: Copy> Drop for Back<'_, T> {
            fn drop(&mut self) {
                self.0.memory.lock().1.push(self.1);
            }
        }
        let mut memory = self.memory.lock();
        // There are as many parts as threads, and a thread has one at a time.
        let part = memory.1.pop().unwrap_or_else(|| unreachable!("more threads than parts"));
        let start = memory.0.as_mut_ptr().wrapping_add(part * self.each);
        drop(memory);
        let _back = Back(self, part);
        // SAFETY: part `part` of the memory, which is whole as long as `self` and borrowed by this call alone.
        f(unsafe { std::slice::from_raw_parts_mut(start, self.each) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_grow_and_hold_what_was_put_into_them() -> Result<()> {
        let mut list = Scratch::new("test");
        for i in 0..10_000u32 {
            list.push(i)?;
        }
        list.extend_from_slice(&[7; 100_000])?;
        assert!(list[..10_000].iter().copied().eq(0..10_000));
        assert_eq!((list.len(), list[10_000..].iter().all(|&v| v == 7)), (110_000, true));
        assert!(Scratch::filled("test", 1000, [1u8; 64])?.iter().all(|line| line == &[1; 64]));
        Ok(())
    }

    #[test]
    fn what_no_memory_holds_is_an_error() {
        assert!(Scratch::<u64>::with_room("test", usize::MAX).is_err());
        assert!(Scratch::<u64>::with_room("test", 1 << 50).is_err());
    }

    #[test]
    fn threads_never_share_a_part() -> Result<()> {
        let parts = PerThread::filled("test", 4, 1000, 0u64)?;
        std::thread::scope(|scope| {
            for thread in 1..=4u64 {
                let parts = &parts;
                scope.spawn(move || {
                    for _ in 0..200 {
                        parts.with(|part| {
                            part.fill(thread);
                            assert!(part.iter().all(|&v| v == thread));
                        });
                    }
                });
            }
        });
        Ok(())
    }
}
