//! Reading elements into host memory: vectors, single elements, bytes.

use super::{Array, Dtype, Element, HostView};
use crate::device::Device;
use crate::error::{Error, Result};
use crate::memory;
use crate::op::Scalar;

/// Host memory for `count` items, or an error where the process would be killed for it: a repeated array can have far
/// more elements than memory.
fn reserve<T>(function: &'static str, count: usize) -> Result<Vec<T>> {
    let requested = count.saturating_mul(size_of::<T>()) as u64;
    let fail = |message| Error::Memory { function, device: Device::cpu(), requested, message };
    if requested > memory::total_ram() {
        return Err(fail(format!("the machine has {} bytes; read a part of the array", memory::total_ram())));
    }
    let mut vec = Vec::new();
    vec.try_reserve_exact(count).map_err(|error| fail(error.to_string()))?;
    Ok(vec)
}

impl Array {
    /// The elements in row-major order, evaluated if they are not yet.
    ///
    /// ```
    /// use pellucid::Array;
    /// # fn main() -> pellucid::Result<()> {
    /// let a = Array::from([[1.0f32, 2.0], [3.0, 4.0]]);
    /// assert_eq!(a.to_vec::<f32>()?, [1.0, 2.0, 3.0, 4.0]);
    /// assert!(a.to_vec::<i32>().is_err()); // convert with astype first
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::Dtype`] if `T` is not the array's type; [`Error::Memory`] if there is no room for the copy; what made
    /// the evaluation impossible.
    pub fn to_vec<T: Element>(&self) -> Result<Vec<T>> {
        self.expect_type::<T>("to_vec")?;
        let view = HostView::new(self)?;
        let mut elements: Vec<T> = reserve("to_vec", self.size())?;
        // SAFETY: the capacity is that of all elements, and they are all written before the length says so. In memory
        // an element is the same as stored, except for bool: there every byte but 0 becomes 1.
        unsafe {
            let bytes = elements.as_mut_ptr().cast::<u8>();
            view.read_all(bytes);
            if T::DTYPE == Dtype::Bool {
                std::slice::from_raw_parts_mut(bytes, self.size())
                    .iter_mut()
                    .for_each(|b| *b = u8::from(*b != 0));
            }
            elements.set_len(self.size());
        }
        Ok(elements)
    }

    /// The only element, evaluated if it is not yet.
    ///
    /// ```
    /// use pellucid::Array;
    /// # fn main() -> pellucid::Result<()> {
    /// assert_eq!(Array::from([[7u8]]).item::<u8>()?, 7);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::Shape`] if there is not exactly one element; [`Error::Dtype`] if `T` is not the array's type; what made
    /// the evaluation impossible.
    pub fn item<T: Element>(&self) -> Result<T> {
        self.expect_type::<T>("item")?;
        self.expect_one("item")?;
        let view = HostView::new(self)?;
        let mut stored = <T::Stored as bytemuck::Zeroable>::zeroed();
        view.read(0, bytemuck::bytes_of_mut(&mut stored));
        Ok(T::from_stored(stored))
    }

    /// The element at an index, one position per axis; negative ones count from the end.
    ///
    /// ```
    /// use pellucid::Array;
    /// # fn main() -> pellucid::Result<()> {
    /// let a = Array::from([[1, 2], [3, 4]]);
    /// assert_eq!(a.item_at::<i32>(&[1, -1])?, 4);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::Shape`] if the index does not have one position per axis; [`Error::Index`] if one is out of range;
    /// [`Error::Dtype`] if `T` is not the array's type; what made the evaluation impossible.
    pub fn item_at<T: Element>(&self, index: &[i64]) -> Result<T> {
        self.expect_type::<T>("item_at")?;
        if index.len() != self.ndim() {
            let message = format!(
                "{} positions given for the {} axes of shape {}",
                index.len(),
                self.ndim(),
                self.0.shape
            );
            return Err(Error::shape("item_at", message));
        }
        let mut position = 0;
        for (axis, (&i, &size)) in index.iter().zip(self.shape()).enumerate() {
            let resolved = if i < 0 { i.checked_add_unsigned(size as u64) } else { Some(i) };
            match resolved.and_then(|i| usize::try_from(i).ok()).filter(|&i| i < size) {
                Some(i) => position = position * size + i,
                None => return Err(Error::Index { function: "item_at", index: i, axis, size }),
            }
        }
        let view = HostView::new(self)?;
        let mut stored = <T::Stored as bytemuck::Zeroable>::zeroed();
        view.read(position, bytemuck::bytes_of_mut(&mut stored));
        Ok(T::from_stored(stored))
    }

    /// The only element, of whatever type, evaluated if it is not yet.
    ///
    /// ```
    /// use pellucid::{Array, op::Scalar};
    /// # fn main() -> pellucid::Result<()> {
    /// assert_eq!(Array::from([2.5f32]).to_scalar()?, Scalar::Float(2.5));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::Shape`] if there is not exactly one element; what made the evaluation impossible.
    pub fn to_scalar(&self) -> Result<Scalar> {
        self.expect_one("to_scalar")?;
        let view = HostView::new(self)?;
        Ok(view.element(&vec![0; self.ndim()]))
    }

    /// The elements' bytes in row-major order and the machine's byte order, evaluated if they are not yet.
    ///
    /// ```
    /// use pellucid::Array;
    /// # fn main() -> pellucid::Result<()> {
    /// assert_eq!(Array::from([1u16, 2]).to_bytes()?, [1u16.to_ne_bytes(), 2u16.to_ne_bytes()].concat());
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::Memory`] if there is no room for the copy; what made the evaluation impossible.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        let view = HostView::new(self)?;
        let mut bytes: Vec<u8> = reserve("to_bytes", self.nbytes())?;
        // SAFETY: the capacity is that of all elements, and they are all written before the length says so.
        unsafe {
            view.read_all(bytes.as_mut_ptr());
            bytes.set_len(self.nbytes());
        }
        Ok(bytes)
    }

    fn expect_type<T: Element>(&self, function: &'static str) -> Result<()> {
        self.check()?;
        if T::DTYPE == self.dtype() {
            return Ok(());
        }
        let (have, want) = (self.dtype(), T::DTYPE);
        let message = format!(
            "the array holds {have}, not {want}; convert it first with astype({want}), or read {have}"
        );
        Err(Error::dtype(function, message))
    }

    fn expect_one(&self, function: &'static str) -> Result<()> {
        self.check()?;
        if self.size() == 1 {
            return Ok(());
        }
        let message = format!(
            "needs an array with exactly one element, but shape {} has {}; read it with to_vec",
            self.0.shape,
            self.size()
        );
        Err(Error::shape(function, message))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use smallvec::smallvec;

    use super::*;
    use crate::array::Shape;
    use crate::op::{Op, SliceSpec};

    fn apply(op: Op, array: &Array) -> Array {
        Array::from_op(op, smallvec![array.clone()])
    }

    #[test]
    fn the_type_must_match_and_the_error_says_what_to_do() {
        let a = Array::from([1.0f32]);
        let text = "[to_vec] the array holds float32, not int32; convert it first with astype(int32), or read float32";
        assert_eq!(a.to_vec::<i32>().unwrap_err().to_string(), text);
        assert!(matches!(a.item::<f64>(), Err(Error::Dtype { .. })));
    }

    #[test]
    fn item_needs_exactly_one_element() {
        assert_eq!(Array::from([[[2.5f64]]]).item::<f64>().unwrap(), 2.5);
        for a in [Array::from([1u8, 2]), Array::from([0u8; 0])] {
            assert!(matches!(a.item::<u8>(), Err(Error::Shape { .. })));
            assert!(matches!(a.to_scalar(), Err(Error::Shape { .. })));
        }
    }

    #[test]
    fn item_at_counts_from_both_ends_and_checks() {
        let a = Array::from([[1, 2, 3], [4, 5, 6]]);
        assert_eq!(a.item_at::<i32>(&[0, 2]).unwrap(), 3);
        assert_eq!(a.item_at::<i32>(&[-1, -3]).unwrap(), 4);
        for (index, axis) in [([2, 0], 0), ([0, 3], 1), ([-3, 0], 0), ([0, i64::MIN], 1), ([i64::MAX, 0], 0)]
        {
            let error = a.item_at::<i32>(&index).unwrap_err();
            assert!(matches!(error, Error::Index { axis: found, .. } if found == axis), "{error}");
        }
        assert!(matches!(a.item_at::<i32>(&[0]), Err(Error::Shape { .. })));
        assert!(Array::from(true).item_at::<bool>(&[]).unwrap());
    }

    #[test]
    fn every_type_is_read_as_a_scalar() {
        use half::{bf16, f16};
        let c = num_complex::Complex32::new(1.5, -2.0);
        let cases = [
            (Array::from(true), Scalar::Bool(true)),
            (Array::from(200u8), Scalar::Int(200)),
            (Array::from(60_000u16), Scalar::Int(60_000)),
            (Array::from(u32::MAX), Scalar::Int(u32::MAX.into())),
            (Array::from(u64::MAX), Scalar::Uint(u64::MAX)),
            (Array::from(-5i8), Scalar::Int(-5)),
            (Array::from(-5i16), Scalar::Int(-5)),
            (Array::from(-5i32), Scalar::Int(-5)),
            (Array::from(i64::MIN), Scalar::Int(i64::MIN)),
            (Array::from(f16::from_f32(0.5)), Scalar::Float(0.5)),
            (Array::from(bf16::from_f32(0.5)), Scalar::Float(0.5)),
            (Array::from(0.25f32), Scalar::Float(0.25)),
            (Array::from(1e300), Scalar::Float(1e300)),
            (Array::from(c), Scalar::Complex(1.5, -2.0)),
        ];
        for (array, scalar) in cases {
            assert_eq!(array.to_scalar().unwrap(), scalar, "{}", array.dtype());
        }
    }

    #[test]
    fn a_repeated_element_that_no_memory_holds_is_an_error() {
        let huge = apply(Op::Broadcast { shape: Shape::from([1 << 50]) }, &Array::from([1.0f32]));
        assert!(matches!(huge.to_vec::<f32>(), Err(Error::Memory { .. })));
        assert!(matches!(huge.to_bytes(), Err(Error::Memory { .. })));
        assert_eq!(huge.to_string(), "array([1, 1, 1, ..., 1, 1, 1], dtype=float32)");
    }

    #[test]
    fn large_walks_split_over_cores_agree_with_the_index_formula() {
        let (rows, columns) = (700, 900);
        let a = Array::from_vec((0..rows * columns).collect::<Vec<i32>>(), [rows as usize, columns as usize]);
        let t = apply(Op::Transpose { axes: smallvec![1, 0] }, &a).to_vec::<i32>().unwrap();
        for (k, &v) in t.iter().enumerate() {
            assert_eq!(v, (k as i32 % rows) * columns + k as i32 / rows);
        }
    }

    /// Positions, sizes and steps of a slice along one axis.
    fn slices() -> impl Strategy<Value = (usize, usize, usize, isize)> {
        (1usize..6, 0usize..6, 0usize..6, -3isize..4).prop_map(|(size, start, count, step)| {
            let (start, step) = (start % size, if step == 0 { 1 } else { step });
            let room =
                if step > 0 { (size - 1 - start) / step as usize } else { start / step.unsigned_abs() };
            (size, start, count.min(room + 1), step)
        })
    }

    proptest! {
        #[test]
        fn any_view_reads_in_row_major_order(
            axes in prop::collection::vec(slices(), 0..5),
            keys in prop::collection::vec(any::<u32>(), 5),
            repeat in 1usize..3,
            chunk in 1usize..7,
        ) {
            let shape: Shape = axes.iter().map(|a| a.0).collect();
            let data: Vec<i16> = (0..shape.elements() as i16).collect();
            let base = Array::from_slice(&data, shape.clone());
            let spec = SliceSpec {
                start: axes.iter().map(|a| a.1).collect(),
                size: axes.iter().map(|a| a.2).collect(),
                step: axes.iter().map(|a| a.3).collect(),
            };
            let mut order: Vec<usize> = (0..axes.len()).collect();
            order.sort_by_key(|&i| keys[i]);
            let sliced = apply(Op::Slice(Box::new(spec)), &base);
            let turned = apply(Op::Transpose { axes: order.iter().copied().collect() }, &sliced);
            let mut wide = Shape::from([repeat]);
            turned.shape().iter().for_each(|&d| wide.push(d));
            let view = apply(Op::Broadcast { shape: wide.clone() }, &turned);

            let mut expected = Vec::new();
            for k in 0..wide.elements() {
                let (mut rest, mut at) = (k, 0isize);
                for i in (0..order.len()).rev() {
                    let axis = order[i];
                    let position = (rest % wide[i + 1]) as isize;
                    rest /= wide[i + 1];
                    let (_, start, _, step) = axes[axis];
                    at += (start as isize + position * step) * shape.row_major()[axis];
                }
                expected.push(data[at as usize]);
            }
            prop_assert_eq!(&view.to_vec::<i16>().unwrap(), &expected);
            // The same in pieces.
            let host = HostView::new(&view).unwrap();
            let mut pieces = vec![0i16; expected.len()];
            for (i, piece) in pieces.chunks_mut(chunk).enumerate() {
                host.read(i * chunk, bytemuck::cast_slice_mut(piece));
            }
            prop_assert_eq!(&pieces, &expected);
        }
    }
}
