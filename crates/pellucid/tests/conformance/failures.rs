//! An error belongs to the arrays that depend on what failed, and to nobody else.

use std::thread;

use pellucid::{
    Array, Axes, Error, Result, async_eval, default_device, eval, new_stream, ops, synchronize, with_stream,
};

use crate::conformance;

/// Fails when it runs: position 7 of an axis of two.
fn failing() -> Array {
    ops::take(&Array::from([1, 2]), &Array::from([0, 7]), 0)
}

fn message<T: std::fmt::Debug>(result: Result<T>) -> String {
    result.unwrap_err().to_string()
}

conformance! {
    fn an_index_out_of_range_names_the_index_the_axis_and_the_size() {
        match failing().eval().unwrap_err().root() {
            Error::Index { function, index, axis, size } => {
                assert_eq!((*function, *index, *axis, *size), ("take", 7, 0, 2));
            }
            other => panic!("{other}"),
        }
        let matrix = ops::zeros([2, 3], pellucid::Dtype::Float32);
        let text = message(ops::take(&matrix, &Array::from([-4]), 1).eval());
        assert!(text.contains("index -4 is out of range for axis 1 of size 3"), "{text}");
        let along = ops::take_along_axis(&matrix, &Array::from([[0], [3]]), 1);
        assert!(message(along.eval()).contains("index 3 is out of range for axis 1 of size 3"));
        let put = ops::put_along_axis(&matrix, &Array::from([[2, 0, 0]]), 1.0, 0);
        assert!(message(put.eval()).contains("index 2 is out of range for axis 0 of size 2"));
        let fancy = matrix.index(pellucid::idx![Array::from([0, 1]), Array::from([0, 5])]);
        assert!(message(fancy.eval()).contains("index 5 is out of range"));
    }

    fn the_error_names_the_operation_and_the_line_of_the_caller() {
        let line = line!() + 1;
        let bad = ops::take(&Array::from([1, 2]), &Array::from([2]), 0);
        match ops::add(&bad, 1).eval().unwrap_err() {
            Error::Launch { op, site, .. } => {
                assert_eq!((op.as_str(), site.line()), ("take", line));
                assert!(site.file().ends_with("failures.rs"));
            }
            other => panic!("{other}"),
        }
    }

    fn each_evaluation_returns_the_same_error() {
        let bad = failing();
        let after = ops::sum(&ops::add(&bad, 1), Axes::All, false);
        let first = message(after.eval());
        assert_eq!(message(after.eval()), first);
        assert_eq!(message(after.to_vec::<i32>()), first);
        assert_eq!(message(after.item::<i32>()), first);
        assert_eq!(message(bad.eval()), first);
        assert!(after.to_string().contains("out of range"), "printing shows it: {after}");
        assert!(!after.is_available());
        let later = ops::add(&after, 1);
        assert_eq!(message(later.eval()), first, "what is built later carries it too");
    }

    fn others_in_the_same_call_are_computed() {
        let (bad, good) = (failing(), ops::add(&Array::from([1]), 1));
        let also = ops::multiply(&good, 10);
        assert!(eval([&bad, &good, &also]).is_err());
        assert!(good.is_available() && also.is_available());
        assert_eq!(also.to_vec::<i32>().unwrap(), [20]);
    }

    fn a_stream_goes_on_after_an_error() {
        let stream = new_stream(default_device()).unwrap();
        with_stream(stream, || {
            for round in 0..10 {
                let bad = failing();
                let good = ops::add(&Array::from([round]), 1);
                async_eval([&bad, &good]);
                assert_eq!(good.item::<i32>().unwrap(), round + 1);
                assert!(bad.eval().is_err());
            }
        });
        synchronize(stream).unwrap();
    }

    fn inputs_of_what_failed_are_unharmed() {
        let a = ops::add(&Array::from([1, 2]), 0);
        let bad = ops::take(&a, &Array::from([5]), 0);
        assert!(bad.eval().is_err());
        assert_eq!(a.to_vec::<i32>().unwrap(), [1, 2]);
    }

    fn synchronize_reports_an_error_that_nobody_has_seen_and_does_so_once() {
        let stream = new_stream(default_device()).unwrap();
        with_stream(stream, || async_eval([failing()]));
        assert!(message(synchronize(stream)).contains("index 7"));
        synchronize(stream).unwrap();
    }

    fn synchronize_does_not_repeat_an_error_that_was_seen() {
        let stream = new_stream(default_device()).unwrap();
        with_stream(stream, || {
            let bad = failing();
            async_eval([&bad]);
            assert!(bad.eval().is_err());
        });
        synchronize(stream).unwrap();
    }

    fn an_error_crosses_streams_and_threads_with_its_array() {
        let (one, two) = (new_stream(default_device()).unwrap(), new_stream(default_device()).unwrap());
        let bad = with_stream(one, failing);
        let after = with_stream(two, || ops::add(&bad, 1));
        let bystander = with_stream(two, || ops::add(&Array::from([1]), 1));
        let elsewhere = after.clone();
        let text = thread::spawn(move || message(elsewhere.eval())).join().unwrap();
        assert!(text.contains("index 7"), "{text}");
        assert_eq!(message(after.eval()), text);
        assert_eq!(bystander.to_vec::<i32>().unwrap(), [2]);
        synchronize(two).unwrap();
    }

    fn a_failed_key_does_not_spoil_the_numbers_that_come_after_it() {
        pellucid::random::seed(3);
        let numbers = || pellucid::random::uniform(0, 1, [4], pellucid::Dtype::Float32, None);
        let expected = [numbers().to_vec::<f32>().unwrap(), numbers().to_vec::<f32>().unwrap()];
        pellucid::random::seed(3);
        assert_eq!(numbers().to_vec::<f32>().unwrap(), expected[0]);
        let bad = pellucid::random::bits([2], 3, None);
        assert!(bad.check().is_err() && failing().eval().is_err());
        assert_eq!(numbers().to_vec::<f32>().unwrap(), expected[1]);
    }
}
