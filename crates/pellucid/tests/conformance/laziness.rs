//! Nothing runs before someone asks for it, and then once.

use pellucid::{Array, Axes, Dtype, Error, async_eval, depends, eval, ops, synchronize};

use crate::conformance;

conformance! {
    fn building_a_graph_computes_nothing() {
        let a = ops::arange(0, 6, 1, None);
        let b = ops::add(&a, 1);
        let c = ops::sum(&b, Axes::All, false);
        let d = ops::reshape(&b, [2, 3]).T();
        let e = ops::matmul(&ops::astype(&d, Dtype::Float32), &ops::ones([2, 2], Dtype::Float32));
        for array in [&a, &b, &c, &d, &e] {
            assert!(!array.is_available());
        }
        assert_eq!(c.item::<i32>().unwrap(), 21);
        assert!(c.is_available());
        assert!(!e.is_available(), "nobody asked for it");
    }

    fn arrays_made_from_elements_are_there_at_once() {
        assert!(Array::from([1, 2]).is_available());
        assert!(Array::from(2.5f32).is_available());
        assert!(Array::from_vec(vec![1u8; 6], [2, 3]).is_available());
    }

    fn reading_computes_what_is_read() {
        let lazy = || ops::add(&Array::from([1, 2]), 1);
        let read = lazy();
        assert_eq!(read.to_vec::<i32>().unwrap(), [2, 3]);
        assert!(read.is_available());
        let printed = lazy();
        assert_eq!(printed.to_string(), "array([2, 3], dtype=int32)");
        assert!(printed.is_available());
        let at = lazy();
        assert_eq!(at.item_at::<i32>(&[-1]).unwrap(), 3);
        assert!(at.is_available());
        let bytes = lazy();
        assert_eq!(bytes.to_bytes().unwrap(), [2, 0, 0, 0, 3, 0, 0, 0]);
        assert!(bytes.is_available());
    }

    fn shapes_and_types_are_known_without_computing() {
        let a = ops::zeros([1 << 20, 1 << 20], Dtype::Float32);
        let b = ops::sum(&ops::exp(&a), 0, true);
        assert_eq!((b.shape(), b.dtype()), (&[1, 1 << 20][..], Dtype::Float32));
        assert_eq!((a.size(), a.nbytes(), a.ndim()), (1 << 40, 1 << 42, 2));
        assert!(!b.is_available());
        assert!(format!("{b:?}").contains("float32"), "{b:?}");
        assert!(!b.is_available(), "debug output must not compute");
    }

    fn one_call_computes_several_arrays_that_share_work() {
        let shared = ops::exp(&Array::from([0.0f32, 1.0]));
        let (a, b) = (ops::add(&shared, 1), ops::multiply(&shared, 2));
        eval([&a, &b]).unwrap();
        assert!(a.is_available() && b.is_available());
        assert_eq!(a.item_at::<f32>(&[0]).unwrap(), 2.0);
        assert_eq!(b.item_at::<f32>(&[0]).unwrap(), 2.0);
        eval([&a, &a, &b]).unwrap();
        eval::<&Array>([]).unwrap();
    }

    fn async_evaluation_ends_with_the_next_wait() {
        let a = ops::add(&Array::from([1, 2]), 1);
        async_eval([&a]);
        synchronize(a.stream()).unwrap();
        assert!(a.is_available());
        assert_eq!(a.to_vec::<i32>().unwrap(), [2, 3]);
    }

    fn an_array_that_depends_on_others_waits_for_them_and_keeps_its_elements() {
        let side = ops::add(&Array::from([5]), 1);
        let a = ops::add(&Array::from([1, 2]), 1);
        let tied = depends(&[&a], &[&side]);
        assert_eq!(tied.len(), 1);
        assert!(!tied[0].is_available());
        assert_eq!(tied[0].to_vec::<i32>().unwrap(), [2, 3]);
        assert!(side.is_available(), "it had to be done first");
        assert!(matches!(depends(&[], &[&a])[0].check().unwrap_err().root(), Error::Argument { .. }));
    }

    fn an_array_that_depends_on_a_failed_one_fails() {
        let bad = ops::take(&Array::from([1, 2]), &Array::from([9]), 0);
        let tied = depends(&[&Array::from([1, 2])], &[&bad]);
        assert!(matches!(tied[0].eval().unwrap_err().root(), Error::Index { index: 9, .. }));
    }

    fn the_source_line_of_each_call_is_kept() {
        let line = line!() + 1;
        let a = ops::add(&Array::from([1]), 1);
        assert_eq!((a.call_site().line(), a.call_site().file().ends_with("laziness.rs")), (line, true));
        let line = line!() + 1;
        let b = &a + &a;
        assert_eq!(b.call_site().line(), line);
    }
}
