//! Unsigned integers that are in the same order as the elements they stand for.

use half::{bf16, f16};
use num_complex::Complex32;

use super::radix::Item;

/// A key that can carry a position.
pub(super) trait Key: Item {
    /// How many of the low bits are in use.
    const USED: u32;

    /// The key above a position in one integer: comparing it compares both.
    type Pair: Item;

    fn pair(key: Self, position: u32) -> Self::Pair;
    fn position(pair: Self::Pair) -> u32;
}

/// Where the key starts in a pair.
pub(super) const PAIR_SHIFT: u32 = u32::BITS;

macro_rules! key {
    ($($ty:ident, $used:expr => $pair:ident),*) => {
        $(impl Key for $ty {
            const USED: u32 = $used;
            type Pair = $pair;

            #[inline(always)]
            fn pair(key: $ty, position: u32) -> $pair {
                $pair::from(key) << PAIR_SHIFT | $pair::from(position)
            }
            #[inline(always)]
            fn position(pair: $pair) -> u32 {
                pair as u32
            }
        })*
    };
}

key!(u8, 8 => u64, u16, 16 => u64, u32, 32 => u64, u64, 64 => u128, u128, 66 => u128);

/// An element that can be sorted.
pub(super) trait SortKey: Copy + Send + Sync {
    type Key: Key;

    /// The key that `from_key` turns back.
    fn key(self) -> Self::Key;
    /// The element a key stands for.
    fn from_key(key: Self::Key) -> Self;

    /// A key that is the same for elements that compare equal.
    #[inline(always)]
    fn equal_key(self) -> Self::Key {
        self.key()
    }
}

macro_rules! unsigned {
    ($($ty:ident),*) => {
        $(impl SortKey for $ty {
            type Key = $ty;
            #[inline(always)]
            fn key(self) -> $ty {
                self
            }
            #[inline(always)]
            fn from_key(key: $ty) -> $ty {
                key
            }
        })*
    };
}

unsigned!(u8, u16, u32, u64);

macro_rules! signed {
    ($($ty:ident as $key:ident),*) => {
        $(impl SortKey for $ty {
            type Key = $key;
            #[inline(always)]
            fn key(self) -> $key {
                (self as $key) ^ (1 << ($key::BITS - 1))
            }
            #[inline(always)]
            fn from_key(key: $key) -> $ty {
                (key ^ (1 << ($key::BITS - 1))) as $ty
            }
        })*
    };
}

signed!(i8 as u8, i16 as u16, i32 as u32, i64 as u64);

macro_rules! float {
    ($($ty:ident as $key:ident, $signed:ident, infinity $infinity:expr),*) => {
        $(impl SortKey for $ty {
            type Key = $key;

            /// Negative numbers have all bits turned, others the sign; a NaN loses its sign, so that it is last.
            #[inline(always)]
            fn key(self) -> $key {
                const SIGN: $key = 1 << ($key::BITS - 1);
                let bits = self.to_bits();
                let bits = if bits & !SIGN > $infinity { bits & !SIGN } else { bits };
                bits ^ (((bits as $signed) >> ($key::BITS - 1)) as $key | SIGN)
            }
            #[inline(always)]
            fn from_key(key: $key) -> $ty {
                const SIGN: $key = 1 << ($key::BITS - 1);
                $ty::from_bits(key ^ ((((!key) as $signed) >> ($key::BITS - 1)) as $key | SIGN))
            }

            #[inline(always)]
            fn equal_key(self) -> $key {
                const SIGN: $key = 1 << ($key::BITS - 1);
                let magnitude = self.to_bits() & !SIGN;
                // One key for zeros of either sign, and one for every NaN.
                if magnitude > $infinity {
                    $key::MAX
                } else if magnitude == 0 {
                    SIGN
                } else {
                    self.key()
                }
            }
        })*
    };
}

float!(
    f16 as u16, i16, infinity 0x7c00,
    bf16 as u16, i16, infinity 0x7f80,
    f32 as u32, i32, infinity 0x7f80_0000,
    f64 as u64, i64, infinity 0x7ff0_0000_0000_0000
);

impl SortKey for Complex32 {
    // More than 64 bits: numbers with a NaN come after all others, ordered by what is left of them.
    type Key = u128;

    #[inline(always)]
    fn key(self) -> u128 {
        complex_key(self, self.re.key(), self.im.key())
    }
    #[inline(always)]
    fn from_key(key: u128) -> Complex32 {
        Complex32::new(f32::from_key((key >> 32) as u32), f32::from_key(key as u32))
    }
    #[inline(always)]
    fn equal_key(self) -> u128 {
        complex_key(self, self.re.equal_key(), self.im.equal_key())
    }
}

#[inline(always)]
fn complex_key(value: Complex32, re: u32, im: u32) -> u128 {
    let class = u128::from(value.re.is_nan()) * 2 + u128::from(value.im.is_nan());
    class << 64 | u128::from(re) << 32 | u128::from(im)
}
