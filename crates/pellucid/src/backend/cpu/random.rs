//! Random bits: the Threefry-2x32 generator of Salmon et al. (SC 2011), laid out as MLX and JAX lay it out, so that
//! one key gives the same bits everywhere.
//!
//! A key makes a stream of 32-bit words. With `n` words and `half = n / 2`, the pair of counters
//! `(i, n - half + i)` makes the words at these two positions; if `n` is odd, `(half, 0)` makes the word in the
//! middle. Narrower elements are the bytes of the same stream.

use super::strided::{Grid, Shared};
use super::{In, Out, parallel};
use crate::array::Dtype;
use crate::error::{Error, Result};

/// Pairs hashed together: two vectors of eight words for each half, enough to hide the latency of the rounds.
const LANES: usize = 16;

/// Hashing costs about as much as moving this many bytes; tells the scheduler when a second core pays.
const BYTES_PER_PAIR: usize = 32;

const PARITY: u32 = 0x1BD1_1BDA;

/// Random words of `width` bytes, an equal share of `out` for each key in `keys` (`[..., 2]`, `uint32`).
pub(crate) fn random_bits(keys: &In, width: u8, out: &mut Out) -> Result<()> {
    if keys.dtype != Dtype::Uint32 || keys.shape.last() != Some(&2) || out.dtype.size() != usize::from(width)
    {
        return Err(Error::internal(
            "random_bits",
            format!("keys {} {:?}, {width} bytes into {}", keys.dtype, keys.shape, out.dtype),
        ));
    }
    let count = keys.elements() / 2;
    if count == 0 || out.elements() == 0 {
        return Ok(());
    }
    let bytes = out.elements() / count * usize::from(width);
    let words = bytes.div_ceil(4);
    let pairs = words / 2;

    let (axes, last) = (keys.shape.len() - 1, keys.strides[keys.shape.len() - 1]);
    let grid = Grid::new(&keys.shape[..axes], [&keys.strides[..axes]]);
    let first = Shared(keys.ptr().cast_mut().cast::<u32>());
    let key_at = |offset: isize| {
        let at = first.get().cast_const().wrapping_offset(offset);
        // SAFETY: the walk stays on the keys' grid, whose last axis has two elements.
        unsafe { [*at, *at.wrapping_offset(last)] }
    };
    let dst = Shared(out.ptr());

    if count == 1 || pairs >= 1 << 14 {
        let mut walk = grid.walk(0);
        for i in 0..count {
            let key = key_at(walk.offsets[0]);
            let stream = Stream { dst: Shared(dst.get().wrapping_add(i * bytes)), bytes, words };
            parallel::ranges(pairs, LANES, BYTES_PER_PAIR, |range| dispatch(key, stream, range));
            stream.middle(key);
            walk.step();
        }
    } else {
        parallel::ranges(count, 1, (pairs + 1) * BYTES_PER_PAIR, |range| {
            let mut walk = grid.walk(range.start);
            for i in range {
                let key = key_at(walk.offsets[0]);
                let stream = Stream { dst: Shared(dst.get().wrapping_add(i * bytes)), bytes, words };
                dispatch(key, stream, 0..pairs);
                stream.middle(key);
                walk.step();
            }
        });
    }
    Ok(())
}

/// Where the words of one key go.
#[derive(Clone, Copy)]
struct Stream {
    dst: Shared<u8>,
    bytes: usize,
    words: usize,
}

impl Stream {
    /// Writes words from position `at` on, whole, and of the very last word only the bytes there is room for.
    #[inline(always)]
    fn put<const N: usize>(self, at: usize, values: [u32; N]) {
        let (start, size) = (at * 4, (self.bytes - at * 4).min(N * 4));
        // SAFETY: `at` is a word of this stream, and no more bytes are written than the stream has left.
        unsafe {
            let dst = self.dst.get().add(start);
            if size == N * 4 {
                dst.cast::<[u32; N]>().write_unaligned(values);
            } else {
                std::ptr::copy_nonoverlapping(values.as_ptr().cast(), dst, size);
            }
        }
    }

    /// The middle word of an odd number of words, which has no partner.
    fn middle(self, key: [u32; 2]) {
        if self.words % 2 == 1 {
            let half = self.words / 2;
            self.put(half, threefry(key, [half as u32], [0]).0);
        }
    }
}

/// Hashes the counters; the lanes are independent.
#[inline(always)]
pub(crate) fn threefry<const N: usize>(
    key: [u32; 2],
    mut a: [u32; N],
    mut b: [u32; N],
) -> ([u32; N], [u32; N]) {
    let schedule = [key[0], key[1], key[0] ^ key[1] ^ PARITY];
    for i in 0..N {
        a[i] = a[i].wrapping_add(schedule[0]);
        b[i] = b[i].wrapping_add(schedule[1]);
    }
    // Written out, because vectors shift much faster by constants.
    macro_rules! group {
        ($number:literal: $($rotation:literal)*) => {
            $(for i in 0..N {
                a[i] = a[i].wrapping_add(b[i]);
                b[i] = b[i].rotate_left($rotation) ^ a[i];
            })*
            for i in 0..N {
                a[i] = a[i].wrapping_add(schedule[$number % 3]);
                b[i] = b[i].wrapping_add(schedule[($number + 1) % 3].wrapping_add($number));
            }
        };
    }
    group!(1: 13 15 26 6);
    group!(2: 17 29 16 24);
    group!(3: 13 15 26 6);
    group!(4: 17 29 16 24);
    group!(5: 13 15 26 6);
    (a, b)
}

#[inline(always)]
fn hash_pairs(key: [u32; 2], stream: Stream, range: std::ops::Range<usize>) {
    let partner = stream.words - stream.words / 2;
    let mut i = range.start;
    while i + LANES <= range.end {
        let a = std::array::from_fn(|lane| (i + lane) as u32);
        let b = std::array::from_fn(|lane| (partner + i + lane) as u32);
        let (a, b) = threefry::<LANES>(key, a, b);
        stream.put(i, a);
        stream.put(partner + i, b);
        i += LANES;
    }
    for i in i..range.end {
        let (a, b) = threefry(key, [i as u32], [(partner + i) as u32]);
        stream.put(i, a);
        stream.put(partner + i, b);
    }
}

/// [`hash_pairs`], compiled for the widest vectors this machine has.
fn dispatch(key: [u32; 2], stream: Stream, range: std::ops::Range<usize>) {
    #[cfg(target_arch = "x86_64")]
    {
        #[target_feature(enable = "avx2")]
        fn wide(key: [u32; 2], stream: Stream, range: std::ops::Range<usize>) {
            hash_pairs(key, stream, range);
        }
        if std::arch::is_x86_feature_detected!("avx2") {
            // SAFETY: the feature was just found.
            return unsafe { wide(key, stream, range) };
        }
    }
    hash_pairs(key, stream, range);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bits<const W: usize>(keys: &[u32], strides: &[isize], batch: &[usize], len: usize) -> Vec<u8> {
        let mut shape = batch.to_vec();
        shape.push(2);
        let count: usize = batch.iter().product();
        let out_shape = [count, len];
        let mut bytes = vec![0xAAu8; count * len * W];
        let dtype = [Dtype::Uint8, Dtype::Uint16, Dtype::Bool, Dtype::Uint32][W - 1];
        // SAFETY: the tests pass strides that stay within `keys`; the output has count · len elements of W bytes.
        let (keys, mut out) = unsafe {
            (
                In::new(keys.as_ptr().cast(), Dtype::Uint32, &shape, strides),
                Out::new(bytes.as_mut_ptr(), dtype, &out_shape),
            )
        };
        random_bits(&keys, W as u8, &mut out).expect("valid arguments");
        bytes
    }

    fn words(key: [u32; 2], len: usize) -> Vec<u32> {
        bytemuck::pod_collect_to_vec(&bits::<4>(&key, &[1], &[], len))
    }

    // What MLX 0.32 gives for `split(key, n)`, which is `n · 2` words of random bits.
    #[test]
    fn words_are_those_of_mlx() {
        assert_eq!(words([0, 0], 2), [0x375f_238f, 0xcddb_151d]);
        assert_eq!(words([0, 0], 4), [0xf71f_4ea9, 0x39a4_05d9, 0xa20e_4081, 0x4bdf_ae2f]);
        assert_eq!(words([0, 42], 4), [0x92fb_20ea, 0xdb4c_98db, 0x0f38_d913, 0x0ff6_8959]);
        assert_eq!(
            words([0x1234_5678, 0x9abc_def0], 6),
            [0x2d7c_cf79, 0x5e5b_b7de, 0x72e4_8ad1, 0xa683_f6a8, 0x8064_d3db, 0xc5b1_42d5]
        );
        assert_eq!(
            words([0, 42], 10),
            [
                0xa4d9_1a96,
                0x5290_657f,
                0x3188_ce22,
                0xe2f1_3aff,
                0xd792_e765,
                0x3122_544e,
                0x585a_803a,
                0x409c_2e81,
                0xa1c4_4acd,
                0xa79e_dc49
            ]
        );
    }

    // What MLX 0.32 gives for `uniform` of odd lengths with key 42: the words divided by 2³² − 1.
    #[test]
    fn odd_numbers_of_words_are_those_of_mlx() {
        let uniform =
            |len| words([0, 42], len).iter().map(|&w| w as f32 / u32::MAX as f32).collect::<Vec<_>>();
        assert_eq!(uniform(1), [0.426_727_56]);
        assert_eq!(uniform(3), [0.574_144_4, 0.100_158_24, 0.059_461_18]);
        assert_eq!(uniform(5), [0.729_818_9, 0.869_193_85, 0.196_438_04, 0.208_185_7, 0.186_624_26]);
        assert_eq!(
            uniform(7),
            [0.687_800_35, 0.599_579, 0.265_201_78, 0.391_410_26, 0.762_922_17, 0.284_848_06, 0.040_389_54]
        );
    }

    #[test]
    fn narrow_elements_are_the_bytes_of_the_same_words() {
        for len in [1usize, 2, 3, 4, 5, 7, 8, 9, 63, 130, 257] {
            let stream = |bytes: usize| -> Vec<u8> {
                let words = words([7, 9], bytes.div_ceil(4));
                words.iter().flat_map(|w| w.to_ne_bytes()).take(bytes).collect()
            };
            assert_eq!(bits::<1>(&[7, 9], &[1], &[], len), stream(len));
            assert_eq!(bits::<2>(&[7, 9], &[1], &[], len), stream(2 * len));
        }
    }

    #[test]
    fn vector_and_scalar_pairs_agree_at_every_length() {
        for n in [1usize, 2, 15, 31, 32, 33, 64, 65, 1000, 70_001] {
            let got = words([3, 4], n);
            let partner = n - n / 2;
            for i in (0..n / 2).step_by(if n > 2000 { 97 } else { 1 }) {
                let ([a], [b]) = threefry([3, 4], [i as u32], [(partner + i) as u32]);
                assert_eq!((got[i], got[partner + i]), (a, b), "pair {i} of {n} words");
            }
        }
    }

    #[test]
    fn each_key_of_a_strided_batch_has_its_own_stream() {
        // Keys (0, 10), (1, 11), (2, 12), stored by column.
        let keys = [0u32, 1, 2, 10, 11, 12];
        let got = bits::<1>(&keys, &[1, 3], &[3], 5);
        for i in 0..3u32 {
            let at = i as usize * 5;
            assert_eq!(got[at..at + 5], bits::<1>(&[i, 10 + i], &[1], &[], 5));
        }
        // A stride of zero: the same key for all.
        let twice = bits::<4>(&keys, &[0, 3], &[2], 3);
        assert_eq!(twice[..12], bits::<4>(&[0, 10], &[1], &[], 3));
        assert_eq!(twice[12..], twice[..12]);
    }

    #[test]
    fn no_keys_and_no_words_are_fine() {
        assert_eq!(bits::<4>(&[], &[2, 1], &[0], 5), [0u8; 0]);
        assert_eq!(bits::<4>(&[1, 2], &[1], &[], 0), [0u8; 0]);
    }
}
