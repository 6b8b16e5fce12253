//! Quicksort of 32-bit keys with AVX2: a vector of eight keys is compared with the pivot at once and stored at both ends
//! of the part that is being split; short parts are sorted by a network in registers.
//!
//! Equal keys cannot be told apart, so that nothing depends on the order in which they move, and the result is the same
//! for any number of cores.

use std::arch::x86_64::*;
use std::mem::MaybeUninit;

use super::super::layout::Shared;
use super::super::parallel;
use super::radix::PARALLEL;

/// Keys of a vector.
const LANES: usize = 8;
/// Vectors that are read from one side in a row: choosing the side for each would be guessed wrong half of the time.
const BATCH: usize = 8 * LANES;
/// Parts up to this length are sorted by the network.
const SHORT: usize = 128;
/// Parts below this length are split by way of a buffer.
const LONG: usize = 4 * BATCH;

/// Sorts the keys; false, and nothing done, if the machine cannot.
pub(super) fn sort(keys: &mut [u32], cores: usize) -> bool {
    if !is_x86_feature_detected!("avx2") || !is_x86_feature_detected!("popcnt") {
        return false;
    }
    let limit = depth_limit(keys.len());
    if cores == 1 || keys.len() < PARALLEL {
        // SAFETY: the features were just found.
        unsafe { quicksort(keys, limit) };
        return true;
    }
    // Parts are split, each level in parallel, until there are enough of them for all cores.
    let mut parts = vec![(0, keys.len())];
    let shared = Shared::new(keys);
    while parts.len() < 8 * cores {
        let mut halves = vec![[(0, 0); 2]; parts.len()];
        let places = Shared::new(&mut halves);
        parallel::pieces(parts.len(), 1, &|i, _| {
            let (start, len) = parts[i];
            // SAFETY: parts do not overlap, and each has a place of its own; the features were found above.
            unsafe {
                let middle = split(shared.slice(start, len)).unwrap_or(0..len);
                let right = (start + middle.end, len - middle.end);
                places.slice(i, 1)[0] = [(start, middle.start), right];
            }
        });
        let before = parts.len();
        parts = halves.into_iter().flatten().filter(|&(_, len)| len > 1).collect();
        if parts.len() <= before {
            break;
        }
    }
    // The longest first: what is left at the end keeps a core busy only for a short while.
    parts.sort_unstable_by_key(|&(_, len)| std::cmp::Reverse(len));
    parallel::pieces(parts.len(), 1, &|i, _| {
        let (start, len) = parts[i];
        // SAFETY: as above.
        unsafe { quicksort(shared.slice(start, len), limit) };
    });
    true
}

/// Splits that a sort of this many keys may need if each leaves at least a tenth or so.
fn depth_limit(n: usize) -> u32 {
    8 + 6 * n.max(2).ilog2()
}

#[target_feature(enable = "avx2,popcnt")]
fn quicksort(mut keys: &mut [u32], mut limit: u32) {
    loop {
        if keys.len() <= SHORT {
            network(keys);
            return;
        }
        if limit == 0 {
            keys.sort_unstable();
            return;
        }
        limit -= 1;
        let Some(middle) = split(keys) else { return };
        let (rest, right) = keys.split_at_mut(middle.end);
        let left = &mut rest[..middle.start];
        // The longer part goes on in this loop: the stack stays shallow.
        if left.len() < right.len() {
            quicksort(left, limit);
            keys = right;
        } else {
            quicksort(right, limit);
            keys = left;
        }
    }
}

/// Puts smaller keys before larger ones. Gives the range between them, whose keys are in place; `None` if all are.
#[target_feature(enable = "avx2,popcnt")]
fn split(keys: &mut [u32]) -> Option<std::ops::Range<usize>> {
    let pivot = pivot(keys);
    let smaller = partition(keys, pivot);
    if smaller > 0 {
        return Some(smaller..smaller);
    }
    // The pivot is the least key: all that equal it are in place.
    let next = pivot.checked_add(1)?;
    Some(0..partition(keys, next))
}

/// A key near the middle, from keys everywhere in the part, of which there are more than [`SHORT`].
#[target_feature(enable = "avx2")]
fn pivot(keys: &[u32]) -> u32 {
    let n = keys.len();
    // Not evenly spaced: inputs with a period would look constant.
    let at = |i: usize, of: usize| keys[(i * (n / of) + i * i % 7).min(n - 1)];
    if n < 32 * SHORT {
        let middle = |a: u32, b: u32, c: u32| a.min(b).max(a.max(b).min(c));
        let three = |i: usize| middle(at(i, 9), at(i + 1, 9), at(i + 2, 9));
        return middle(three(0), three(3), three(6));
    }
    let mut sample: [u32; SHORT] = std::array::from_fn(|i| at(i, SHORT));
    network(&mut sample);
    sample[SHORT / 2]
}

/// For each set of lanes, the order that puts those not in it first.
static ORDERS: [[u32; LANES]; 256] = orders();

const fn orders() -> [[u32; LANES]; 256] {
    let mut table = [[0; LANES]; 256];
    let mut mask = 0;
    while mask < 256 {
        let (mut lane, mut front, mut back) = (0, 0, LANES - 1);
        while lane < LANES {
            if mask >> lane & 1 == 0 {
                table[mask][front] = lane as u32;
                front += 1;
            } else {
                table[mask][back] = lane as u32;
                back = back.saturating_sub(1);
            }
            lane += 1;
        }
        mask += 1;
    }
    table
}

/// The two ends up to which keys are in place.
struct Ends {
    keys: *mut u32,
    left: usize,
    right: usize,
    pivot: __m256i,
}

impl Ends {
    /// Stores the keys below the pivot at the left end and the others at the right one.
    ///
    /// # Safety
    /// There must be room for a vector at each end, or for exactly one.
    #[inline]
    #[target_feature(enable = "avx2,popcnt")]
    unsafe fn store(&mut self, v: __m256i) {
        let large = _mm256_cmpeq_epi32(_mm256_max_epu32(v, self.pivot), v);
        let mask = _mm256_movemask_ps(_mm256_castsi256_ps(large)) as usize;
        let count = mask.count_ones() as usize;
        // SAFETY: 256 entries of the table; the caller's promise.
        unsafe {
            let order = _mm256_loadu_si256(ORDERS.as_ptr().add(mask).cast());
            let sorted = _mm256_permutevar8x32_epi32(v, order);
            _mm256_storeu_si256(self.keys.add(self.left).cast(), sorted);
            _mm256_storeu_si256(self.keys.add(self.right - LANES).cast(), sorted);
        }
        self.left += LANES - count;
        self.right -= count;
    }

    /// Stores these keys, for which there is room and no more.
    ///
    /// # Safety
    /// As said: the room between the ends must be of this length.
    #[inline]
    #[target_feature(enable = "avx2,popcnt")]
    unsafe fn store_all(&mut self, keys: &[u32], pivot: u32) {
        // Those that fill no vector come first: then the room is always a whole number of vectors.
        let (single, whole) = keys.split_at(keys.len() % LANES);
        // SAFETY: the caller's promise.
        unsafe {
            for &key in single {
                self.store_one(key, pivot);
            }
            for vector in whole.chunks_exact(LANES) {
                self.store(_mm256_loadu_si256(vector.as_ptr().cast()));
            }
        }
    }

    /// As `store`, for one key.
    ///
    /// # Safety
    /// There must be room for a key.
    #[inline]
    unsafe fn store_one(&mut self, key: u32, pivot: u32) {
        let small = usize::from(key < pivot);
        // SAFETY: the caller's promise.
        unsafe {
            *self.keys.add(self.left) = key;
            *self.keys.add(self.right - 1) = key;
        }
        self.left += small;
        self.right -= 1 - small;
    }
}

/// Puts keys below the pivot first and gives their number.
#[target_feature(enable = "avx2,popcnt")]
fn partition(keys: &mut [u32], pivot: u32) -> usize {
    let n = keys.len();
    if n < LONG {
        return partition_short(keys, pivot);
    }
    let mut aside = [const { MaybeUninit::<u32>::uninit() }; 3 * BATCH];
    let mut ends =
        Ends { keys: keys.as_mut_ptr(), left: 0, right: n, pivot: _mm256_set1_epi32(pivot as i32) };
    // SAFETY: indices stay between the ends. A batch from each end is put aside, which makes room for one at each; the
    // next batch comes from the end with less room, so that while it is stored both ends have room for a vector.
    unsafe {
        let base = ends.keys;
        let aside = aside.as_mut_ptr().cast::<u32>();
        aside.copy_from_nonoverlapping(base, BATCH);
        aside.add(BATCH).copy_from_nonoverlapping(base.add(n - BATCH), BATCH);
        let (mut left, mut right) = (BATCH, n - BATCH);
        while right - left >= BATCH {
            let from = if left - ends.left <= ends.right - right {
                left += BATCH;
                left - BATCH
            } else {
                right -= BATCH;
                right
            };
            let batch: [__m256i; BATCH / LANES] =
                std::array::from_fn(|i| _mm256_loadu_si256(base.add(from + i * LANES).cast()));
            for v in batch {
                ends.store(v);
            }
        }
        let rest = right - left;
        aside.add(2 * BATCH).copy_from_nonoverlapping(base.add(left), rest);
        ends.store_all(std::slice::from_raw_parts(aside, 2 * BATCH + rest), pivot);
    }
    ends.left
}

/// As [`partition`], for a part that fits a buffer: everything is put aside first.
#[target_feature(enable = "avx2,popcnt")]
fn partition_short(keys: &mut [u32], pivot: u32) -> usize {
    let n = keys.len();
    let mut aside = [const { MaybeUninit::<u32>::uninit() }; LONG];
    let aside = aside.as_mut_ptr().cast::<u32>();
    let mut ends =
        Ends { keys: keys.as_mut_ptr(), left: 0, right: n, pivot: _mm256_set1_epi32(pivot as i32) };
    // SAFETY: fewer than `LONG` keys, which are put aside; there is room for exactly these.
    unsafe {
        aside.copy_from_nonoverlapping(ends.keys, n);
        ends.store_all(std::slice::from_raw_parts(aside, n), pivot);
    }
    ends.left
}

/// Sorts up to [`SHORT`] keys.
#[target_feature(enable = "avx2")]
fn network(keys: &mut [u32]) {
    match keys.len() {
        0 | 1 => {}
        2..=64 => network_of::<8>(keys),
        _ => network_of::<16>(keys),
    }
}

/// Sorts keys in `V` vectors: columns of eight of them, then rows, which are merged to longer and longer runs.
#[inline]
#[target_feature(enable = "avx2")]
fn network_of<const V: usize>(keys: &mut [u32]) {
    let (whole, rest) = keys.as_chunks_mut::<LANES>();
    // What is missing is filled up with the largest key.
    let mut last = [u32::MAX; LANES];
    last[..rest.len()].copy_from_slice(rest);
    let mut v: [__m256i; V] = std::array::from_fn(|i| match whole.get(i) {
        // SAFETY: eight keys.
        Some(keys) => unsafe { _mm256_loadu_si256(keys.as_ptr().cast()) },
        // SAFETY: as above.
        None if i == whole.len() => unsafe { _mm256_loadu_si256(last.as_ptr().cast()) },
        None => _mm256_set1_epi32(-1),
    });
    for v in v.as_chunks_mut::<8>().0 {
        sort_columns(v);
        transpose(v);
    }
    merge::<1>(&mut v);
    merge::<2>(&mut v);
    merge::<4>(&mut v);
    if V == 16 {
        merge::<8>(&mut v);
    }
    for (keys, &v) in whole.iter_mut().zip(&v) {
        // SAFETY: as above.
        unsafe { _mm256_storeu_si256(keys.as_mut_ptr().cast(), v) };
    }
    if !rest.is_empty() {
        // SAFETY: as above.
        unsafe { _mm256_storeu_si256(last.as_mut_ptr().cast(), v[whole.len()]) };
        rest.copy_from_slice(&last[..rest.len()]);
    }
}

/// The least number of exchanges that sorts eight.
#[inline]
#[target_feature(enable = "avx2")]
fn sort_columns(v: &mut [__m256i; 8]) {
    const STEPS: [[(usize, usize); 4]; 4] = [
        [(0, 2), (1, 3), (4, 6), (5, 7)],
        [(0, 4), (1, 5), (2, 6), (3, 7)],
        [(0, 1), (2, 3), (4, 5), (6, 7)],
        [(2, 4), (3, 5), (1, 4), (3, 6)],
    ];
    for (i, j) in STEPS.into_iter().flatten().chain([(1, 2), (3, 4), (5, 6)]) {
        exchange(v, i, j);
    }
}

#[inline]
#[target_feature(enable = "avx2")]
fn exchange(v: &mut [__m256i], i: usize, j: usize) {
    (v[i], v[j]) = (_mm256_min_epu32(v[i], v[j]), _mm256_max_epu32(v[i], v[j]));
}

#[inline]
#[target_feature(enable = "avx2")]
fn transpose(v: &mut [__m256i; 8]) {
    let mut pairs = *v;
    for i in 0..4 {
        pairs[2 * i] = _mm256_unpacklo_epi32(v[2 * i], v[2 * i + 1]);
        pairs[2 * i + 1] = _mm256_unpackhi_epi32(v[2 * i], v[2 * i + 1]);
    }
    let mut quads = pairs;
    for i in 0..2 {
        let p = &pairs[4 * i..4 * i + 4];
        quads[4 * i] = _mm256_unpacklo_epi64(p[0], p[2]);
        quads[4 * i + 1] = _mm256_unpackhi_epi64(p[0], p[2]);
        quads[4 * i + 2] = _mm256_unpacklo_epi64(p[1], p[3]);
        quads[4 * i + 3] = _mm256_unpackhi_epi64(p[1], p[3]);
    }
    for i in 0..4 {
        v[i] = _mm256_permute2x128_si256::<0x20>(quads[i], quads[i + 4]);
        v[i + 4] = _mm256_permute2x128_si256::<0x31>(quads[i], quads[i + 4]);
    }
}

/// Merges neighbouring runs of `R` vectors each.
#[inline]
#[target_feature(enable = "avx2")]
fn merge<const R: usize>(v: &mut [__m256i]) {
    let backwards = _mm256_setr_epi32(7, 6, 5, 4, 3, 2, 1, 0);
    for v in v.chunks_exact_mut(2 * R) {
        // The second run is compared backwards with the first: what is larger goes to it, still backwards.
        for i in 0..R {
            let other = _mm256_permutevar8x32_epi32(v[2 * R - 1 - i], backwards);
            let low = _mm256_min_epu32(v[i], other);
            v[2 * R - 1 - i] = _mm256_max_epu32(v[i], other);
            v[i] = low;
        }
        v[R..].reverse();
        // Each half now rises and falls; halves of halves are exchanged.
        let mut distance = R / 2;
        while distance > 0 {
            for i in 0..2 * R {
                if i & distance == 0 {
                    exchange(v, i, i + distance);
                }
            }
            distance /= 2;
        }
        for v in v {
            *v = within(*v);
        }
    }
}

/// Sorts a vector that rises and falls: exchanges at distances four, two and one.
#[inline]
#[target_feature(enable = "avx2")]
fn within(v: __m256i) -> __m256i {
    let other = _mm256_permute2x128_si256::<0x01>(v, v);
    let v = _mm256_blend_epi32::<0b1111_0000>(_mm256_min_epu32(v, other), _mm256_max_epu32(v, other));
    let other = _mm256_shuffle_epi32::<0b01_00_11_10>(v);
    let v = _mm256_blend_epi32::<0b1100_1100>(_mm256_min_epu32(v, other), _mm256_max_epu32(v, other));
    let other = _mm256_shuffle_epi32::<0b10_11_00_01>(v);
    _mm256_blend_epi32::<0b1010_1010>(_mm256_min_epu32(v, other), _mm256_max_epu32(v, other))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(n: usize, seed: u32, range: u32) -> Vec<u32> {
        let mut state = seed;
        let next = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state ^ state >> 15) % range
        };
        std::iter::repeat_with(next).take(n).collect()
    }

    fn check(keys: Vec<u32>, what: &str) {
        let mut expected = keys.clone();
        expected.sort_unstable();
        for cores in [1, 3] {
            let mut own = keys.clone();
            if sort(&mut own, cores) {
                assert!(own == expected, "{what}, {} keys, {cores} cores", keys.len());
            }
        }
    }

    #[test]
    fn every_short_length_is_sorted() {
        for n in 0..700 {
            check(numbers(n, n as u32, u32::MAX), "random");
            check(numbers(n, n as u32, 3), "few values");
        }
    }

    #[test]
    fn long_runs_of_every_kind_are_sorted() {
        for n in [PARALLEL - 1, PARALLEL + 3, 300_001] {
            check(numbers(n, 1, u32::MAX), "random");
            check(numbers(n, 2, 5), "few values");
            check(vec![7; n], "equal");
            check(vec![u32::MAX; n], "greatest");
            check((0..n as u32).collect(), "ascending");
            check((0..n as u32).rev().collect(), "descending");
            check((0..n as u32).map(|i| i % 16).collect(), "periodic");
            check((0..n as u32).map(|i| if i % 2 == 0 { i } else { u32::MAX - i }).collect(), "crossing");
        }
    }
}
