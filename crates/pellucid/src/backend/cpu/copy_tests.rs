use proptest::prelude::*;

use super::*;
use crate::array::Dtype;

fn copied<T: Copy + Default>(
    memory: &[T],
    dtype: Dtype,
    shape: &[usize],
    strides: &[isize],
    offset: usize,
) -> Vec<T> {
    let mut to = vec![T::default(); shape.iter().product()];
    // SAFETY: the tests below stay inside `memory`, and `to` has room for the shape.
    let (x, mut out) = unsafe {
        (
            In::new(memory.as_ptr().add(offset).cast(), dtype, shape, strides),
            Out::new(to.as_mut_ptr().cast(), dtype, shape),
        )
    };
    copy(&x, &mut out);
    to
}

/// By the definition: element by element, index by index.
fn walked<T: Copy>(memory: &[T], shape: &[usize], strides: &[isize], offset: usize) -> Vec<T> {
    let n: usize = shape.iter().product();
    (0..n)
        .map(|mut i| {
            let mut at = offset as isize;
            for (&size, &stride) in shape.iter().zip(strides).rev() {
                at += (i % size) as isize * stride;
                i /= size;
            }
            memory[at as usize]
        })
        .collect()
}

#[test]
fn axes_that_form_one_are_merged() {
    let shape = [2, 1, 3, 4];
    // SAFETY: never read.
    let x = unsafe { In::new(std::ptr::null(), Dtype::Float32, &shape, &[12, 7, 4, 1]) };
    assert_eq!(Layout::broadcast(&x, &shape).axes.as_slice(), [(24, 1)]);
    // SAFETY: never read.
    let x = unsafe { In::new(std::ptr::null(), Dtype::Float32, &shape[2..], &[4, 1]) };
    assert_eq!(Layout::broadcast(&x, &shape).axes.as_slice(), [(2, 0), (12, 1)]);
    // SAFETY: never read.
    let x = unsafe { In::new(std::ptr::null(), Dtype::Float32, &[], &[]) };
    assert!(Layout::broadcast(&x, &shape).is_single());
}

#[test]
fn transposes_of_every_element_size_and_ragged_shapes_are_exact() {
    let bytes: Vec<u8> = (0..300 * 301).map(|i| i as u8).collect();
    let words: Vec<u64> = (0..300 * 301).collect();
    let halves: Vec<u16> = (0..300 * 301u32).map(|i| i as u16).collect();
    let floats: Vec<f32> = (0..300 * 301).map(|i| i as f32).collect();
    for (rows, columns) in [(300, 301), (301, 300), (16, 16), (17, 15), (1, 300), (300, 4), (64, 128)] {
        let (shape, strides) = ([columns, rows], [1, columns as isize]);
        assert_eq!(copied(&bytes, Dtype::Uint8, &shape, &strides, 0), walked(&bytes, &shape, &strides, 0));
        assert_eq!(copied(&words, Dtype::Uint64, &shape, &strides, 0), walked(&words, &shape, &strides, 0));
        assert_eq!(
            copied(&halves, Dtype::Float16, &shape, &strides, 0),
            walked(&halves, &shape, &strides, 0)
        );
        assert_eq!(
            copied(&floats, Dtype::Float32, &shape, &strides, 0),
            walked(&floats, &shape, &strides, 0)
        );
    }
}

#[test]
fn batches_of_transposes_are_exact() {
    let x: Vec<u32> = (0..6 * 48 * 50).collect();
    for (shape, strides) in [
        ([6, 48, 50], [2400, 1, 48]),
        ([48, 6, 50], [1, 2400, 48]),
        ([6, 50, 48], [2400, 1, 50]),
        ([50, 48, 6], [1, 50, 2400]),
    ] {
        assert_eq!(
            copied(&x, Dtype::Uint32, &shape, &strides, 0),
            walked(&x, &shape, &strides, 0),
            "{shape:?}"
        );
    }
}

#[test]
fn an_empty_array_is_copied_to_nothing() {
    assert!(copied::<u32>(&[1], Dtype::Uint32, &[3, 0], &[1, 1], 0).is_empty());
}

proptest! {
    #[test]
    fn any_strides_are_followed(
        shape in prop::collection::vec(1usize..20, 0..4),
        picks in prop::collection::vec((-40isize..40, prop::bool::ANY), 4),
    ) {
        let strides: Vec<isize> = picks.iter().take(shape.len()).map(|&(s, zero)| if zero { 0 } else { s }).collect();
        let reach = |sign: isize| -> usize {
            shape.iter().zip(&strides).map(|(&d, &s)| (s * sign).max(0) as usize * (d - 1)).sum()
        };
        let memory: Vec<u32> = (0..(reach(1) + reach(-1) + 1) as u32).collect();
        let offset = reach(-1);
        prop_assert_eq!(
            copied(&memory, Dtype::Int32, &shape, &strides, offset),
            walked(&memory, &shape, &strides, offset)
        );
    }
}
