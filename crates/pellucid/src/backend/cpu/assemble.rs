//! Putting arrays together: concatenation, padding, replacing a part. Everything here moves bytes and needs only the
//! size of an element.

use super::strided::{copy_strided, row_major};
use super::{In, Out};
use crate::op::SliceSpec;

/// The inputs one after the other along `axis`.
pub(crate) fn concatenate(inputs: &[In], axis: usize, out: &mut Out) {
    let strides = row_major(out.shape);
    let item = out.dtype.size();
    let mut position = 0;
    for x in inputs {
        debug_assert!(position + x.shape[axis] <= out.shape[axis]);
        let dst = out.ptr().wrapping_offset(position as isize * strides[axis] * item as isize);
        // SAFETY: the input's shape is the output's but for `axis`, where its part begins at `position` and ends
        // within the output; parts do not overlap each other or the inputs.
        unsafe { copy_strided(x.ptr(), x.strides, dst, &strides, x.shape, item) };
        position += x.shape[axis];
    }
}

/// `x` inside an output full of `value`, `low` elements away from the start of each axis.
pub(crate) fn pad(x: &In, value: &In, low: &[usize], out: &mut Out) {
    let strides = row_major(out.shape);
    let item = out.dtype.size();
    // Only the border is filled: along each axis what lies before and after `x`, within the part of the axes outside
    // that `x` itself covers. So every element is written once.
    let mut shape = out.shape.to_vec();
    let zeros = vec![0isize; shape.len()];
    let mut inner = 0isize;
    for axis in 0..shape.len() {
        let high = out.shape[axis] - low[axis] - x.shape[axis];
        for (start, size) in [(0, low[axis]), (low[axis] + x.shape[axis], high)] {
            shape[axis] = size;
            let dst = (inner + start as isize * strides[axis]) * item as isize;
            // SAFETY: `start + size` is within the axis, and the other axes are within the output; the value is
            // one element, read again and again.
            unsafe {
                copy_strided(value.ptr(), &zeros, out.ptr().wrapping_offset(dst), &strides, &shape, item);
            }
        }
        shape[axis] = x.shape[axis];
        inner += low[axis] as isize * strides[axis];
    }
    let dst = out.ptr().wrapping_offset(inner * item as isize);
    // SAFETY: `low + x.shape` is within the output along each axis.
    unsafe { copy_strided(x.ptr(), x.strides, dst, &strides, x.shape, item) };
}

/// A copy of `x` with the elements that `spec` selects replaced by `update`.
pub(crate) fn slice_update(x: &In, update: &In, spec: &SliceSpec, out: &mut Out) {
    copy_unless_same(x, out);
    let strides = row_major(out.shape);
    let item = out.dtype.size();
    let mut first = 0isize;
    let mut steps = strides.clone();
    for axis in 0..strides.len() {
        first += spec.start[axis] as isize * strides[axis];
        steps[axis] = strides[axis].saturating_mul(spec.step[axis]);
    }
    let dst = out.ptr().wrapping_offset(first * item as isize);
    // SAFETY: the positions of a `SliceSpec` are in range by construction and differ from each other.
    unsafe { copy_strided(update.ptr(), update.strides, dst, &steps, &spec.size, item) };
}

/// Fills `out` with `x`, unless `out` took over the memory of `x` and holds it already.
pub(crate) fn copy_unless_same(x: &In, out: &mut Out) {
    if x.ptr() == out.ptr().cast_const() && x.is_contiguous() {
        return;
    }
    let strides = row_major(out.shape);
    // SAFETY: `x` has the output's shape, and other memory.
    unsafe { copy_strided(x.ptr(), x.strides, out.ptr(), &strides, x.shape, out.dtype.size()) };
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::array::Dtype;

    fn input<'a>(data: &'a [i32], first: usize, shape: &'a [usize], strides: &'a [isize]) -> In<'a> {
        // SAFETY: the tests choose shapes and strides inside the data.
        unsafe { In::new(data.as_ptr().add(first).cast(), Dtype::Int32, shape, strides) }
    }

    fn run(shape: &[usize], call: impl FnOnce(&mut Out)) -> Vec<i32> {
        let mut data = vec![-99i32; shape.iter().product()];
        // SAFETY: as many elements as the shape has.
        let mut out = unsafe { Out::new(data.as_mut_ptr().cast(), Dtype::Int32, shape) };
        call(&mut out);
        data
    }

    #[test]
    fn concatenate_joins_along_each_axis() {
        let (a, b) = ([1, 2, 3, 4], [5, 6, 7, 8]);
        let a = input(&a, 0, &[2, 2], &[2, 1]);
        // Transposed, and backwards.
        let t = input(&b, 0, &[2, 2], &[1, 2]);
        let r = input(&b, 3, &[2, 2], &[-2, -1]);
        assert_eq!(run(&[4, 2], |out| concatenate(&[a, t], 0, out)), [1, 2, 3, 4, 5, 7, 6, 8]);
        assert_eq!(run(&[2, 4], |out| concatenate(&[a, t], 1, out)), [1, 2, 5, 7, 3, 4, 6, 8]);
        assert_eq!(run(&[2, 4], |out| concatenate(&[a, r], 1, out)), [1, 2, 8, 7, 3, 4, 6, 5]);
        let empty = input(&[], 0, &[2, 0], &[0, 1]);
        let same = input(&[9], 0, &[2, 3], &[0, 0]);
        assert_eq!(
            run(&[2, 5], |out| concatenate(&[empty, a, same], 1, out)),
            [1, 2, 9, 9, 9, 3, 4, 9, 9, 9]
        );
        assert_eq!(run(&[0, 2], |out| concatenate(&[input(&[], 0, &[0, 2], &[2, 1])], 0, out)), [0i32; 0]);
    }

    #[test]
    fn concatenate_joins_large_arrays() {
        let data: Vec<i32> = (0..600_000).collect();
        let rows = input(&data, 0, &[300, 2000], &[2000, 1]);
        let got = run(&[300, 4000], |out| concatenate(&[rows, rows], 1, out));
        for (i, row) in got.chunks(4000).enumerate() {
            assert_eq!(row[..2000], data[i * 2000..(i + 1) * 2000]);
            assert_eq!(row[2000..], data[i * 2000..(i + 1) * 2000]);
        }
    }

    #[test]
    fn pad_writes_the_border_and_the_inside() {
        let data = [1, 2, 3, 4, 5, 6];
        let value = [7];
        let value = input(&value, 0, &[], &[]);
        let x = input(&data, 0, &[2, 3], &[3, 1]);
        assert_eq!(
            run(&[4, 5], |out| pad(&x, &value, &[1, 2], out)),
            [7, 7, 7, 7, 7, 7, 7, 1, 2, 3, 7, 7, 4, 5, 6, 7, 7, 7, 7, 7]
        );
        let t = input(&data, 0, &[3, 2], &[1, 3]);
        assert_eq!(run(&[3, 3], |out| pad(&t, &value, &[0, 0], out)), [1, 4, 7, 2, 5, 7, 3, 6, 7]);
        // Nothing inside, nothing around, no axes.
        let empty = input(&[], 0, &[0, 2], &[2, 1]);
        assert_eq!(run(&[2, 2], |out| pad(&empty, &value, &[1, 0], out)), [7; 4]);
        assert_eq!(run(&[2, 3], |out| pad(&x, &value, &[0, 0], out)), data);
        assert_eq!(run(&[], |out| pad(&input(&data, 4, &[], &[]), &value, &[], out)), [5]);
    }

    fn spec<const N: usize>(start: [usize; N], size: [usize; N], step: [isize; N]) -> SliceSpec {
        SliceSpec {
            start: start.as_slice().into(),
            size: size.as_slice().into(),
            step: step.as_slice().into(),
        }
    }

    #[test]
    fn slice_update_replaces_the_selected_elements() {
        let data: Vec<i32> = (0..12).collect();
        let x = input(&data, 0, &[3, 4], &[4, 1]);
        let new = [50, 51, 52, 53];
        let u = input(&new, 0, &[2, 2], &[2, 1]);
        let got = run(&[3, 4], |out| slice_update(&x, &u, &spec([0, 1], [2, 2], [2, 2]), out));
        assert_eq!(got, [0, 50, 2, 51, 4, 5, 6, 7, 8, 52, 10, 53]);
        let got = run(&[3, 4], |out| slice_update(&x, &u, &spec([2, 3], [2, 2], [-1, -3]), out));
        assert_eq!(got, [0, 1, 2, 3, 53, 5, 6, 52, 51, 9, 10, 50]);
        // From a transposed x, with a repeated update; and with nothing to update.
        let t = input(&data, 0, &[4, 3], &[1, 4]);
        let same = input(&new, 0, &[1, 3], &[0, 0]);
        let got = run(&[4, 3], |out| slice_update(&t, &same, &spec([1, 0], [1, 3], [1, 1]), out));
        assert_eq!(got, [0, 4, 8, 50, 50, 50, 2, 6, 10, 3, 7, 11]);
        let none = input(&[], 0, &[0, 4], &[4, 1]);
        assert_eq!(run(&[3, 4], |out| slice_update(&x, &none, &spec([0, 0], [0, 4], [1, 1]), out)), data);
    }

    #[test]
    fn slice_update_in_place_writes_only_the_part() {
        let mut data: Vec<i32> = (0..6).collect();
        let at = data.as_mut_ptr();
        let shape = [2, 3];
        // SAFETY: six elements; the input is the output's own memory, as the contract of `Out` allows.
        let (x, mut out) = unsafe {
            (In::new(at.cast(), Dtype::Int32, &shape, &[3, 1]), Out::new(at.cast(), Dtype::Int32, &shape))
        };
        slice_update(&x, &input(&[9, 8], 0, &[2, 1], &[1, 1]), &spec([0, 2], [2, 1], [1, 1]), &mut out);
        assert_eq!(data, [0, 1, 9, 3, 4, 8]);
    }
}
