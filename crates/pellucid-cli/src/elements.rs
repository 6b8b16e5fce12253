//! Elements of arrays as numbers, and how far two arrays of one type are apart.

use half::{bf16, f16};
use pellucid::{Array, Dtype};

/// The elements of an array as numbers; magnitudes would hide signs, so complex ones count as two.
pub fn numbers(array: &Array) -> pellucid::Result<Vec<f64>> {
    Ok(decode(array.dtype(), &array.to_bytes()?))
}

/// The number at one position in row-major order; the real part of a complex one unless only the other is not finite.
pub fn number_at(array: &Array, position: usize) -> pellucid::Result<f64> {
    let all = numbers(array)?;
    let parts = if array.dtype() == Dtype::Complex64 { 2 } else { 1 };
    let found = all.get(position * parts..).unwrap_or_default();
    let found = found.get(..parts).unwrap_or_default();
    let odd = found.iter().copied().find(|v| !v.is_finite());
    Ok(odd.or(found.first().copied()).unwrap_or(f64::NAN))
}

fn decode(dtype: Dtype, bytes: &[u8]) -> Vec<f64> {
    fn each<const N: usize>(bytes: &[u8], number: impl Fn([u8; N]) -> f64) -> Vec<f64> {
        bytes.as_chunks().0.iter().map(|chunk| number(*chunk)).collect()
    }
    match dtype {
        Dtype::Bool | Dtype::Uint8 => each(bytes, |[b]: [u8; 1]| f64::from(b)),
        Dtype::Int8 => each(bytes, |b| f64::from(i8::from_ne_bytes(b))),
        Dtype::Uint16 => each(bytes, |b| f64::from(u16::from_ne_bytes(b))),
        Dtype::Int16 => each(bytes, |b| f64::from(i16::from_ne_bytes(b))),
        Dtype::Uint32 => each(bytes, |b| f64::from(u32::from_ne_bytes(b))),
        Dtype::Int32 => each(bytes, |b| f64::from(i32::from_ne_bytes(b))),
        Dtype::Uint64 => each(bytes, |b| u64::from_ne_bytes(b) as f64),
        Dtype::Int64 => each(bytes, |b| i64::from_ne_bytes(b) as f64),
        Dtype::Float16 => each(bytes, |b| f64::from(f16::from_ne_bytes(b))),
        Dtype::Bfloat16 => each(bytes, |b| f64::from(bf16::from_ne_bytes(b))),
        Dtype::Float32 | Dtype::Complex64 => each(bytes, |b| f64::from(f32::from_ne_bytes(b))),
        Dtype::Float64 => each(bytes, f64::from_ne_bytes),
    }
}

/// How far results of a type may be apart on two devices: as part of the element, and as part of the largest one.
pub fn tolerance(dtype: Dtype) -> f64 {
    match dtype {
        Dtype::Float16 => 5e-3,
        Dtype::Bfloat16 => 4e-2,
        Dtype::Float32 | Dtype::Complex64 => 1e-4,
        Dtype::Float64 => 1e-9,
        _ => 0.0,
    }
}

/// Bits of precision: the size of a unit in the last place of a number of the type.
fn last_place(dtype: Dtype, v: f64) -> f64 {
    let (digits, smallest): (i32, i32) = match dtype {
        Dtype::Float16 => (10, -14),
        Dtype::Bfloat16 => (7, -126),
        Dtype::Float32 | Dtype::Complex64 => (23, -126),
        Dtype::Float64 => (52, -1022),
        _ => return 1.0,
    };
    let exponent = if v == 0.0 { smallest } else { (v.abs().log2().floor() as i32).max(smallest) };
    2f64.powi(exponent - digits)
}

/// How far two arrays are apart.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize)]
pub struct Distance {
    /// Largest distance in units of the last place of the reference.
    pub ulp: f64,
    /// Largest distance as part of the reference's element.
    pub relative: f64,
    /// Elements that are further apart than the type's tolerance allows.
    pub beyond: u64,
    /// Where the worst element is, in row-major order.
    pub position: usize,
}

/// Compares `other` with `reference`, element by element; they have one shape and type.
pub fn distance(reference: &Array, other: &Array) -> pellucid::Result<Distance> {
    let (dtype, a, b) = (reference.dtype(), numbers(reference)?, numbers(other)?);
    let parts = if dtype == Dtype::Complex64 { 2 } else { 1 };
    let largest = a.iter().filter(|v| v.is_finite()).fold(0.0f64, |m, v| m.max(v.abs()));
    let allowed = tolerance(dtype);
    let mut found = Distance::default();
    for (i, (&x, &y)) in a.iter().zip(&b).enumerate() {
        if x == y || (x.is_nan() && y.is_nan()) {
            continue;
        }
        let apart = (x - y).abs();
        let (ulp, relative) = if apart.is_finite() {
            (apart / last_place(dtype, x), apart / x.abs().max(y.abs()))
        } else {
            (f64::INFINITY, f64::INFINITY)
        };
        // Sums that cancel leave small elements with the rounding of large ones.
        if apart.is_nan() || apart > allowed * x.abs() + 0.01 * allowed * largest {
            found.beyond += 1;
        }
        if relative > found.relative {
            found.position = i / parts;
        }
        found.ulp = found.ulp.max(ulp);
        found.relative = found.relative.max(relative);
    }
    Ok(found)
}

/// The index of a position in row-major order.
pub fn index_of(shape: &[usize], mut position: usize) -> Vec<usize> {
    let mut index = vec![0; shape.len()];
    for (i, &size) in index.iter_mut().zip(shape).rev() {
        *i = position % size.max(1);
        position /= size.max(1);
    }
    index
}

/// The position in `shape` that broadcasting reads for `index` of the result.
pub fn broadcast_position(shape: &[usize], index: &[usize]) -> usize {
    let skipped = index.len().saturating_sub(shape.len());
    let pairs = shape.iter().zip(index.iter().skip(skipped));
    pairs.fold(0, |position, (&size, &i)| position * size + if size == 1 { 0 } else { i })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_are_one_unit_apart() {
        let x = 1.5f32;
        let next = f32::from_bits(x.to_bits() + 1);
        let found = distance(&Array::from([x, 2.0]), &Array::from([next, 2.0])).unwrap();
        assert_eq!((found.ulp, found.beyond, found.position), (1.0, 0, 0));
        let found = distance(&Array::from([1.0f32, 2.0]), &Array::from([1.0f32, f32::NAN])).unwrap();
        assert_eq!((found.ulp, found.beyond, found.position), (f64::INFINITY, 1, 1));
        let found = distance(&Array::from([5, 6]), &Array::from([5, 7])).unwrap();
        assert_eq!((found.ulp, found.beyond), (1.0, 1));
    }

    #[test]
    fn a_broadcast_input_is_read_where_the_result_says() {
        assert_eq!(index_of(&[2, 3, 4], 17), [1, 1, 1]);
        assert_eq!(broadcast_position(&[3, 1], &[1, 2, 1]), 2);
        assert_eq!(broadcast_position(&[], &[1, 2, 1]), 0);
    }
}
