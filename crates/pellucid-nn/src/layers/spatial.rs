//! Sizes for each spatial axis.

/// A number for all of `N` spatial axes, or one for each.
pub trait EachAxis<const N: usize> {
    /// One for each axis.
    fn each(self) -> [usize; N];
}

impl<const N: usize> EachAxis<N> for usize {
    fn each(self) -> [usize; N] {
        [self; N]
    }
}

impl<const N: usize> EachAxis<N> for [usize; N] {
    fn each(self) -> [usize; N] {
        self
    }
}

/// As the operations take them. Sizes of arrays always fit; what does not is refused there.
pub(super) fn signed<const N: usize>(sizes: [usize; N]) -> [i64; N] {
    sizes.map(|size| i64::try_from(size).unwrap_or(i64::MAX))
}
