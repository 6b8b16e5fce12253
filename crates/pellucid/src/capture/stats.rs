//! Figures of an array's elements: what a capture keeps of every result.

use half::{bf16, f16};
use num_complex::Complex32;
use xxhash_rust::xxh3::Xxh3;

use crate::array::{Array, Dtype, HostView};
use crate::error::Result;

/// Figures over all elements; extremes and mean over the finite ones, of magnitudes for complex numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Figures {
    /// Smallest finite element.
    pub min: Option<f64>,
    /// Largest finite element.
    pub max: Option<f64>,
    /// Mean of the finite elements.
    pub mean: Option<f64>,
    /// Number of NaNs.
    pub nan: u64,
    /// Number of infinite elements.
    pub inf: u64,
    /// Number of zeros.
    pub zero: u64,
    /// XXH3-64 of the row-major bytes.
    pub hash: u64,
}

/// The figures that a capture would note of an array, evaluated if it is not yet.
///
/// ```
/// use pellucid::{Array, capture};
/// # fn main() -> pellucid::Result<()> {
/// let figures = capture::figures(&Array::from([1.0f32, f32::NAN, 3.0]))?;
/// assert_eq!((figures.mean, figures.nan), (Some(2.0), 1));
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// What made the evaluation impossible.
pub fn figures(array: &Array) -> Result<Figures> {
    Ok(look_at(&HostView::new(array)?, array.dtype(), |_| {}))
}

/// Elements looked at in one go: enough to keep the loops busy, little enough to stay in the nearest cache.
const BLOCK: usize = 4096;

/// Walks over the elements once. Also hands out their bytes in row-major order, block by block.
pub(super) fn look_at(view: &HostView, dtype: Dtype, mut each: impl FnMut(&[u8])) -> Figures {
    let mut sums = Sums::default();
    let mut hash = Xxh3::new();
    let mut look = |bytes: &[u8]| {
        sums.add(dtype, bytes);
        hash.update(bytes);
        each(bytes);
    };
    if let Some(bytes) = view.contiguous() {
        bytes.chunks(BLOCK * dtype.size()).for_each(look);
    } else {
        let (count, size) = (view.bytes() / dtype.size(), dtype.size());
        // Of 64-bit words, so that elements of every type are aligned.
        let mut block = vec![0u64; BLOCK];
        let block: &mut [u8] = bytemuck::cast_slice_mut(&mut block);
        for start in (0..count).step_by(BLOCK) {
            let part = &mut block[..BLOCK.min(count - start) * size];
            view.read(start, part);
            look(part);
        }
    }
    Figures { hash: hash.digest(), ..sums.figures() }
}

#[derive(Default)]
struct Sums {
    min: Option<f64>,
    max: Option<f64>,
    sum: f64,
    finite: u64,
    nan: u64,
    inf: u64,
    zero: u64,
}

impl Sums {
    fn add(&mut self, dtype: Dtype, bytes: &[u8]) {
        match dtype {
            Dtype::Bool | Dtype::Uint8 => self.all(bytes.iter().map(|&v| f64::from(v))),
            Dtype::Uint16 => self.all(typed::<u16>(bytes).map(f64::from)),
            Dtype::Uint32 => self.all(typed::<u32>(bytes).map(f64::from)),
            Dtype::Uint64 => self.all(typed::<u64>(bytes).map(|v| v as f64)),
            Dtype::Int8 => self.all(typed::<i8>(bytes).map(f64::from)),
            Dtype::Int16 => self.all(typed::<i16>(bytes).map(f64::from)),
            Dtype::Int32 => self.all(typed::<i32>(bytes).map(f64::from)),
            Dtype::Int64 => self.all(typed::<i64>(bytes).map(|v| v as f64)),
            Dtype::Float16 => self.all(typed::<f16>(bytes).map(f64::from)),
            Dtype::Bfloat16 => self.all(typed::<bf16>(bytes).map(f64::from)),
            Dtype::Float32 => self.all(typed::<f32>(bytes).map(f64::from)),
            Dtype::Float64 => self.all(typed::<f64>(bytes)),
            Dtype::Complex64 => self.all(typed::<Complex32>(bytes).map(magnitude)),
        }
    }

    fn all(&mut self, values: impl Iterator<Item = f64>) {
        let (mut low, mut high, mut sum, mut finite) = (f64::INFINITY, f64::NEG_INFINITY, 0.0, 0u64);
        for v in values {
            let is_finite = v.is_finite();
            finite += u64::from(is_finite);
            self.nan += u64::from(v.is_nan());
            self.inf += u64::from(v.is_infinite());
            self.zero += u64::from(v == 0.0);
            let counted = if is_finite { v } else { 0.0 };
            sum += counted;
            low = if is_finite && v < low { v } else { low };
            high = if is_finite && v > high { v } else { high };
        }
        if finite > 0 {
            self.min = Some(self.min.map_or(low, |m| m.min(low)));
            self.max = Some(self.max.map_or(high, |m| m.max(high)));
            self.sum += sum;
            self.finite += finite;
        }
    }

    fn figures(&self) -> Figures {
        let mean = (self.finite > 0).then(|| self.sum / self.finite as f64);
        let Sums { min, max, nan, inf, zero, .. } = *self;
        Figures { min, max, mean, nan, inf, zero, hash: 0 }
    }
}

/// Elements of a type; unaligned bytes are copied.
fn typed<T: bytemuck::AnyBitPattern>(bytes: &[u8]) -> impl Iterator<Item = T> {
    bytes.chunks_exact(size_of::<T>()).map(bytemuck::pod_read_unaligned)
}

fn magnitude(v: Complex32) -> f64 {
    if v.re.is_nan() || v.im.is_nan() { f64::NAN } else { f64::from(v.re).hypot(f64::from(v.im)) }
}
