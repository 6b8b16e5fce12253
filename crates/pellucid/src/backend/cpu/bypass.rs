//! Writing large results past the caches, and fetching what the processor cannot foresee.
//!
//! An ordinary store first reads the line it writes to, although all of it will be replaced. For results that no cache
//! can hold that is a quarter of the traffic of an addition and a third of that of a copy. Smaller results stay in the
//! cache, where whoever needs them next finds them.

/// Results from this size on are written past the caches: larger than what a core can use of most last-level caches.
pub(crate) const LARGE: usize = 32 << 20;

/// True if a result of this many bytes is better written with [`copy`].
#[inline]
pub(crate) fn pays(bytes: usize) -> bool {
    cfg!(target_arch = "x86_64") && bytes >= LARGE
}

/// Copies bytes that are in a cache to memory that need not be. [`fence`] has to follow before other threads may read
/// them.
///
/// # Safety
/// As for `std::ptr::copy_nonoverlapping`.
#[cfg(target_arch = "x86_64")]
#[inline]
pub(crate) unsafe fn copy(src: *const u8, dst: *mut u8, bytes: usize) {
    use std::arch::x86_64::{__m128i, _mm_loadu_si128, _mm_stream_si128};
    const LINE: usize = 64;
    let head = dst.align_offset(LINE).min(bytes);
    let lines = (bytes - head) / LINE;
    // SAFETY: the caller's promise; `head` bytes on, the target is aligned to lines.
    unsafe {
        std::ptr::copy_nonoverlapping(src, dst, head);
        let (from, to) = (src.add(head).cast::<__m128i>(), dst.add(head).cast::<__m128i>());
        for i in (0..4 * lines).step_by(4) {
            let line: [__m128i; 4] = std::array::from_fn(|k| _mm_loadu_si128(from.add(i + k)));
            for (k, &part) in line.iter().enumerate() {
                _mm_stream_si128(to.add(i + k), part);
            }
        }
        let done = head + lines * LINE;
        std::ptr::copy_nonoverlapping(src.add(done), dst.add(done), bytes - done);
    }
}

/// Copies bytes.
///
/// # Safety
/// As for `std::ptr::copy_nonoverlapping`.
#[cfg(not(target_arch = "x86_64"))]
#[inline]
pub(crate) unsafe fn copy(src: *const u8, dst: *mut u8, bytes: usize) {
    // SAFETY: the caller's promise.
    unsafe { std::ptr::copy_nonoverlapping(src, dst, bytes) }
}

/// Asks for the first lines of some bytes that will be read soon. Any address will do.
#[inline]
pub(crate) fn prefetch(start: *const u8, bytes: usize) {
    #[cfg(target_arch = "x86_64")]
    for line in (0..bytes.min(256)).step_by(64) {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: a hint, which never faults.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(start.wrapping_add(line).cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (start, bytes);
}

/// Makes what this thread wrote with [`copy`] visible to whoever synchronises with it.
#[inline]
pub(crate) fn fence() {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a part of every x86-64 processor.
    unsafe {
        std::arch::x86_64::_mm_sfence();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_start_and_length_copies_all_bytes_and_no_others() {
        let src: Vec<u8> = (0..400u32).map(|i| (i * 7 + 1) as u8).collect();
        for start in 0..70 {
            for len in [0, 1, 15, 16, 63, 64, 65, 127, 128, 200, 300] {
                let mut dst = vec![0u8; 400];
                // SAFETY: at most 370 of 400 bytes.
                unsafe { copy(src.as_ptr().add(3), dst.as_mut_ptr().add(start), len) };
                fence();
                assert_eq!(dst[start..start + len], src[3..3 + len], "{start} {len}");
                assert!(dst[..start].iter().chain(&dst[start + len..]).all(|&b| b == 0), "{start} {len}");
            }
        }
    }
}
