//! The Walsh–Hadamard transform.

use super::creation::full;
use super::elementwise::multiply;
use super::matmul::matmul;
use super::{cast, shaped};
use crate::array::{Array, Dtype, Shape, fail, ok};
use crate::error::Error;

/// Signs of the Hadamard matrices that are no power of two, row by row, in the arrangement that MLX uses.
const TWELVE: &str = "\
    +-++++++++++ --+-+-+-+-+- +++-++----++ +---+--+-++- +++++-++---- +-+---+--+-+ ++--+++-++-- +--++---+--+ \
    ++----+++-++ +--+-++---+- ++++----+++- +-+--+-++---";
const TWENTY: &str = "\
    +----+----++--++-++- -+----+---+++---+-++ --+----+---+++-+-+-+ ---+----+---+++++-+- ----+----++--++-++-+ \
    -+++++-----+--+++--+ +-+++-+---+-+--+++-- ++-++--+---+-+--+++- +++-+---+---+-+--+++ ++++-----++--+-+--++ \
    --++-+-++-+-----++++ ---++-+-++-+---+-+++ +---++-+-+--+--++-++ ++---++-+----+-+++-+ -++---++-+----+++++- \
    -+--+--++-+----+---- +-+-----++-+----+--- -+-+-+---+--+----+-- --+-+++------+----+- +--+--++------+----+";
const TWENTY_EIGHT: &str = "\
    +------++----++-+--+-+--++-- -+-----+++-----+-+--+-+--++- --+-----+++---+-+-+----+--++ \
    ---+-----+++---+-+-+-+--+--+ ----+-----+++---+-+-+++--+-- -----+-----++++--+-+--++--+- \
    ------++----++-+--+-+--++--+ --++++-+-------++--+++-+--+- ---++++-+-----+-++--+-+-+--+ \
    +---+++--+----++-++--+-+-+-- ++---++---+----++-++--+-+-+- +++---+----+----++-++--+-+-+ \
    ++++--------+-+--++-++--+-+- -++++--------+++--++--+--+-+ -+-++-++--++--+--------++++- \
    +-+-++--+--++--+--------++++ -+-+-++--+--++--+----+---+++ +-+-+-++--+--+---+---++---++ \
    ++-+-+-++--+------+--+++---+ -++-+-+-++--+------+-++++--- +-++-+---++--+------+-++++-- \
    -++--++-+-++-+++----++------ +-++--++-+-++-+++-----+----- ++-++---+-+-++-+++-----+---- \
    -++-++-+-+-+-+--+++-----+--- --++-++++-+-+----+++-----+-- +--++-+-++-+-+----+++-----+- \
    ++--++-+-++-+-+----++------+";

/// Sides of the matrices that a power of two is factored into: large enough for a fast product, small enough that
/// little is computed that a butterfly would not.
const LARGEST: usize = 64;

/// The matrix of signs of a size that is a power of two, or one of the three above.
fn signs(n: usize) -> Vec<f32> {
    let listed = match n {
        12 => TWELVE,
        20 => TWENTY,
        28 => TWENTY_EIGHT,
        _ => {
            let sign =
                |at: usize| if ((at / n) & (at % n)).count_ones().is_multiple_of(2) { 1.0 } else { -1.0 };
            return (0..n * n).map(sign).collect();
        }
    };
    listed.bytes().filter(|c| !c.is_ascii_whitespace()).map(|c| if c == b'+' { 1.0 } else { -1.0 }).collect()
}

/// The sizes whose matrices, one for each part of the index, make the transform of `n` elements.
fn factors(n: usize) -> Option<Vec<usize>> {
    let mut power = 1 << n.trailing_zeros();
    let odd = n / power;
    let mut sizes = match odd {
        1 => vec![],
        3 | 5 | 7 if power >= 4 => {
            power /= 4;
            vec![4 * odd]
        }
        _ => return None,
    };
    while power > 1 {
        let size = power.min(LARGEST);
        sizes.push(size);
        power /= size;
    }
    Some(sizes)
}

/// The last axis multiplied with a Hadamard matrix and a factor, by default the one that keeps lengths. Its size is a
/// power of two, or 12, 20 or 28 times one. Everything but a floating type becomes `float32`.
///
/// ```
/// use pellucid::{Array, ops};
/// # fn main() -> pellucid::Result<()> {
/// let x = Array::from([1.0f32, 2.0, 3.0, 4.0]);
/// assert_eq!(ops::hadamard_transform(&x, 1.0).to_vec::<f32>()?, [10.0, -2.0, -4.0, 0.0]);
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// [`Error::Shape`] if the array has no elements or the last axis another size.
#[track_caller]
pub fn hadamard_transform(a: &Array, scale: impl Into<Option<f64>>) -> Array {
    let name = "hadamard_transform";
    ok!(a);
    if a.size() == 0 {
        return fail(Error::shape(name, format!("shape {} has no elements", a.shape_ref())));
    }
    let dtype = if a.dtype().is_floating() { a.dtype() } else { Dtype::Float32 };
    let a = cast(a, dtype);
    let n = a.shape().last().copied().unwrap_or(1);
    let scale = scale.into().unwrap_or_else(|| 1.0 / (n as f64).sqrt());
    let Some(sizes) = factors(n) else {
        let message = format!("the last axis must be 1, 12, 20 or 28 times a power of two, but is {n}");
        return fail(Error::shape(name, message));
    };
    // The sums in single precision: the 16-bit types would lose the lower bits of each factor's results.
    let compute = if dtype.size() == 2 { Dtype::Float32 } else { dtype };
    let rows = a.size() / n;
    let mut x = cast(&a, compute);
    let mut inner = n;
    for size in sizes {
        inner /= size;
        let matrix = cast(&Array::from_vec(signs(size), [size, size]), compute);
        let outer = rows * n / (size * inner);
        // Along the innermost part as a product from the right, which is one large product instead of many small.
        x = if inner == 1 {
            matmul(&shaped(&x, Shape::from([outer, size])), &crate::ops::shape::swapaxes(&matrix, 0, 1))
        } else {
            matmul(&matrix, &shaped(&x, Shape::from([outer, size, inner])))
        };
    }
    let scaled = multiply(&x, &full(Shape::default(), scale, compute));
    shaped(&cast(&scaled, dtype), a.shape_ref().clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rows_of_every_listed_matrix_are_orthogonal() {
        for n in [1, 2, 8, 12, 20, 28, 64] {
            let h = signs(n);
            assert_eq!(h.len(), n * n);
            for i in 0..n {
                for j in 0..n {
                    let dot: f32 = (0..n).map(|k| h[i * n + k] * h[j * n + k]).sum();
                    assert_eq!(dot, if i == j { n as f32 } else { 0.0 }, "{n}: {i} {j}");
                }
            }
        }
    }

    #[test]
    fn sizes_are_factored_or_refused() {
        assert_eq!(factors(1), Some(vec![]));
        assert_eq!(factors(24), Some(vec![12, 2]));
        assert_eq!(factors(1 << 13), Some(vec![64, 64, 2]));
        assert_eq!([factors(6), factors(7), factors(36)], [None, None, None]);
    }
}
