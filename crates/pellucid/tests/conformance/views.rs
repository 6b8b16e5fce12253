//! Views share memory, and reuse of memory never shows.
//!
//! A broadcast array with more elements than any machine has bytes tells a view from a copy: a copy would fail.

use pellucid::ops::{self, Index};
use pellucid::{Array, Axes, Dtype, eval, idx};

use crate::conformance;

/// 2⁶⁰ bytes in one element.
fn endless() -> Array {
    ops::broadcast_to(&Array::from([[7u8], [9]]), [2, 1usize << 59])
}

conformance! {
    fn broadcasting_copies_nothing() {
        let a = endless();
        a.eval().unwrap();
        assert_eq!(a.item_at::<u8>(&[1, -1]).unwrap(), 9);
    }

    fn transposing_slicing_and_reshaping_copy_nothing() {
        let a = endless();
        let transposed = a.T();
        assert_eq!(transposed.item_at::<u8>(&[1 << 58, 1]).unwrap(), 9);
        let part = a.index(idx![.., Index::step(None, None, -3)]);
        assert_eq!(part.item_at::<u8>(&[0, 1 << 57]).unwrap(), 7);
        let squeezed = ops::squeeze(&ops::expand_dims(&a, [0, -1]), Axes::All);
        assert_eq!(squeezed.item_at::<u8>(&[1, 5]).unwrap(), 9);
        let split = ops::reshape(&a, [2, 1 << 29, 1 << 30]);
        assert_eq!(split.item_at::<u8>(&[1, -1, 3]).unwrap(), 9);
        let flipped = ops::flip(&a, 0);
        assert_eq!(flipped.item_at::<u8>(&[0, 0]).unwrap(), 9);
        let moved = ops::moveaxis(&split, 0, -1);
        assert_eq!(moved.item_at::<u8>(&[3, 4, 1]).unwrap(), 9);
        let other = ops::view(&ops::broadcast_to(&Array::from([1i32]), [1usize << 58]), Dtype::Float32);
        assert_eq!(other.item_at::<f32>(&[77]).unwrap(), f32::from_bits(1));
    }

    fn a_part_of_an_endless_array_is_computed_alone() {
        let part = endless().index(idx![.., 1_000_000..1_000_003]);
        assert_eq!(ops::add(&part, 1).to_vec::<u8>().unwrap(), [8, 8, 8, 10, 10, 10]);
    }

    fn an_array_that_is_held_keeps_its_elements_when_others_are_computed_from_it() {
        let a = ops::add(&Array::from([1.0f32; 1000]), 1);
        a.eval().unwrap();
        let b = ops::exp(&a);
        let c = ops::multiply(&a, 3);
        eval([&b, &c]).unwrap();
        assert_eq!(a.to_vec::<f32>().unwrap(), [2.0; 1000]);
        assert_eq!(c.to_vec::<f32>().unwrap(), [6.0; 1000]);
    }

    fn a_view_that_is_held_keeps_its_elements_when_its_source_is_dropped_and_reused() {
        let source = ops::add(&Array::from_vec((0..1000).collect::<Vec<i32>>(), [10, 100]), 0);
        source.eval().unwrap();
        let column = source.index(idx![.., 5]);
        column.eval().unwrap();
        let next = ops::multiply(&source, 0);
        drop(source);
        next.eval().unwrap();
        assert_eq!(column.to_vec::<i32>().unwrap(), (0..10).map(|i| i * 100 + 5).collect::<Vec<_>>());
        assert!(next.to_vec::<i32>().unwrap().iter().all(|&v| v == 0));
    }

    fn an_intermediate_that_is_held_keeps_its_elements_inside_a_fused_chain() {
        let a = Array::from([1.0f32, 2.0, 3.0]);
        let b = ops::add(&a, 1);
        let c = ops::square(&b);
        let d = ops::subtract(&c, &b);
        assert_eq!(d.to_vec::<f32>().unwrap(), [2.0, 6.0, 12.0]);
        assert_eq!(b.to_vec::<f32>().unwrap(), [2.0, 3.0, 4.0]);
        assert_eq!(c.to_vec::<f32>().unwrap(), [4.0, 9.0, 16.0]);
        assert_eq!(a.to_vec::<f32>().unwrap(), [1.0, 2.0, 3.0]);
    }

    fn an_update_of_a_part_leaves_the_original_as_it_was() {
        let a = ops::add(&ops::zeros([4, 4], Dtype::Int32), 1);
        a.eval().unwrap();
        let b = ops::slice_update(&a, 9, &idx![1..3, Index::step(None, None, 2)]);
        let expected = [1, 1, 1, 1, 9, 1, 9, 1, 9, 1, 9, 1, 1, 1, 1, 1];
        assert_eq!(b.to_vec::<i32>().unwrap(), expected);
        assert_eq!(a.to_vec::<i32>().unwrap(), [1; 16]);
        let c = ops::put_along_axis(&a, &Array::from([[2], [2], [2], [2]]), 5, 1);
        assert_eq!(c.index(idx![.., 2]).to_vec::<i32>().unwrap(), [5; 4]);
        assert_eq!(a.to_vec::<i32>().unwrap(), [1; 16]);
    }

    fn an_update_that_overlaps_its_own_source_reads_the_old_elements() {
        let a = ops::add(&ops::arange(0, 6, 1, None), 0);
        a.eval().unwrap();
        let front = a.index(idx![..4]);
        let shifted = ops::slice_update(&a, &front, &idx![2..]);
        drop((a, front));
        assert_eq!(shifted.to_vec::<i32>().unwrap(), [0, 1, 0, 1, 2, 3]);
    }

    fn writing_onto_a_broadcast_input_does_not_write_through_it() {
        let row = ops::add(&Array::from([1, 2, 3]), 0);
        let wide = ops::broadcast_to(&row, [4, 3]);
        drop(row);
        let changed = ops::slice_update(&wide, 0, &idx![1]);
        drop(wide);
        assert_eq!(changed.to_vec::<i32>().unwrap(), [1, 2, 3, 0, 0, 0, 1, 2, 3, 1, 2, 3]);
    }

    fn a_transposed_temporary_is_not_reused_in_the_wrong_order() {
        let a = ops::add(&Array::from([[1, 2, 3], [4, 5, 6]]), 0);
        let b = ops::add(&a.T(), &Array::from([[10, 20], [30, 40], [50, 60]]));
        drop(a);
        assert_eq!(b.to_vec::<i32>().unwrap(), [11, 24, 32, 45, 53, 66]);
    }

    fn arrays_have_eight_axes_and_more() {
        let a = ops::reshape(&ops::arange(0, 512, 1, None), [2; 9]);
        let back = a.T();
        assert_eq!(back.item_at::<i32>(&[1, 0, 0, 0, 0, 0, 0, 0, 0]).unwrap(), 1);
        assert_eq!(ops::add(&back, 0).item_at::<i32>(&[0, 0, 0, 0, 0, 0, 0, 1, 1]).unwrap(), 384);
        assert_eq!(ops::sum(&back, [0, 4, 8], false).shape(), [2; 6]);
        let total = ops::sum(&back, [0, 2, 4, 6, 8], false);
        assert_eq!(ops::sum(&total, Axes::All, false).item::<i32>().unwrap(), 511 * 256);
    }

    fn rows_are_parts_along_the_first_axis() {
        let a = Array::from([[1, 2], [3, 4], [5, 6]]);
        let rows: Vec<Vec<i32>> = a.rows().map(|row| row.to_vec().unwrap()).collect();
        assert_eq!(rows, [[1, 2], [3, 4], [5, 6]]);
        assert!(Array::from(1).rows().all(|row| row.check().is_err()));
    }
}
