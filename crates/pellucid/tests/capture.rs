//! What a capture holds, to the last row, and what it refuses.
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use std::path::Path;

use parking_lot::{Mutex, MutexGuard};
use pellucid::capture::{self, CaptureError, Mode, Options};
use pellucid::{Array, Axes, Device, Dtype, Error, new_stream, ops, synchronize, with_stream};
use pellucid_trace::Trace;

/// One capture at a time, as the library wants it.
fn alone() -> MutexGuard<'static, ()> {
    static ONE: Mutex<()> = Mutex::new(());
    ONE.lock()
}

fn refusal(result: pellucid::Result<()>) -> CaptureError {
    match result {
        Err(Error::Capture { source, .. }) => source,
        other => panic!("{other:?}"),
    }
}

fn open(path: &Path) -> Trace {
    let trace = Trace::open(path).unwrap();
    assert_eq!(trace.problems().unwrap(), (Vec::new(), 0));
    trace
}

#[test]
fn a_program_with_known_work_gives_exactly_these_rows() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("with spaces and ü.pltrace");
    let (a, b) = (Array::from([1.0f32, 2.0, 3.0, 4.0]), Array::from([[1.0f32, 0.0], [0.0, 1.0]]));
    a.label("weights");
    let side = new_stream(Device::cpu()).unwrap();
    side.set_label("side");

    capture::start(&path).unwrap();
    for _ in 0..10 {
        ops::add(&a, &a).eval().unwrap();
    }
    let product = capture::region("layer 3", || {
        let square = ops::reshape(&a, [2, 2]);
        with_stream(side, || ops::matmul(&square, &b))
    });
    let fused = ops::tanh(&ops::multiply(&product, 2.0));
    fused.eval().unwrap();
    synchronize(side).unwrap();
    let summary = capture::stop().unwrap();

    // 10 additions, a view, a product, and a multiplication fused with a tanh.
    assert_eq!((summary.ops, summary.launches), (14, 12));
    let trace = open(&path);
    let manifest = trace.manifest();
    assert_eq!((manifest.counts.ops, manifest.counts.inputs, manifest.counts.launches), (17, 2, 12));
    assert!(!manifest.partial && !manifest.truncated);
    let ops = trace.ops().unwrap().rows();
    let names: Vec<&str> = ops.iter().map(|o| &*o.name).collect();
    let mut expected = vec!["input"];
    expected.extend(["add"; 10]);
    expected.extend(["reshape", "input", "matmul", "full", "multiply", "tanh"]);
    assert_eq!(names, expected);
    let families: Vec<&str> = ops[10..].iter().filter_map(|o| o.family.as_deref()).collect();
    let tail = ["elementwise", "layout", "input", "matmul", "creation", "elementwise", "elementwise"];
    assert_eq!(families, tail);
    assert_eq!(ops[0].label.as_deref(), Some("weights"));
    let matmul = &ops[13];
    assert_eq!(
        (matmul.stream as usize, matmul.flops, matmul.shapes[0].as_slice()),
        (side.index(), 16, [2, 2].as_slice())
    );
    assert!(matmul.call_site.contains("tests/capture.rs:"), "{}", matmul.call_site);
    let region = manifest.regions.iter().find(|r| Some(r.id) == matmul.region).unwrap();
    assert_eq!(region.name, "layer 3");
    assert!(ops[11].launch.is_none() && ops[14].launch.is_none(), "nothing ran for a view and a constant");

    let launches = trace.launches().unwrap().rows();
    let last = launches.last().unwrap();
    assert_eq!((&*last.kernel, last.ops.len()), ("multiply+tanh float32", 2));
    assert!(trace.kernel(last.source.as_deref().unwrap()).unwrap().contains("r1: float32 = tanh(r0)"));
    for launch in &launches {
        assert!(
            0 <= launch.enqueue_ns
                && launch.enqueue_ns <= launch.start_ns
                && launch.start_ns <= launch.end_ns
        );
        assert!(launch.end_ns <= manifest.window.duration_ns);
    }
    // Ten evaluations, one more, and the call to synchronize; two streams meet twice.
    let sync = trace.sync().unwrap().rows();
    assert_eq!(sync.iter().filter(|w| w.waiter == -1).count(), 12);
    assert_eq!(sync.iter().filter(|w| w.waiter != -1).count(), 2);
    // Each addition, the product and the last result have a buffer: twelve given, eleven given back in the window.
    let memory = trace.memory().unwrap().rows();
    assert_eq!(memory.iter().filter(|m| &*m.event == "allocate" || &*m.event == "reuse").count(), 12);
    assert_eq!(memory.iter().filter(|m| &*m.event == "free").count(), 10);
    assert_eq!(trace.stats().unwrap().rows().len(), 12 + 2, "twelve results and two inputs");
    assert_eq!(manifest.counts.tensors, 2, "what a replay needs");
}

#[test]
fn launches_of_a_stream_never_overlap_and_fit_the_window() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("streams.pltrace");
    let streams: Vec<_> = (0..4).map(|_| new_stream(Device::cpu()).unwrap()).collect();
    capture::start_with(&path, Options::default().mode(Mode::Timeline)).unwrap();
    let mut values: Vec<Array> = (0..4).map(|i| Array::from([i as f32; 1000])).collect();
    for round in 0..50 {
        for (i, &stream) in streams.iter().enumerate() {
            let other = &values[(i + round) % 4];
            values[i] = with_stream(stream, || ops::softmax(&ops::add(&values[i], other), -1, false));
        }
        if round % 7 == 0 {
            pellucid::async_eval(&values);
        }
    }
    pellucid::eval(&values).unwrap();
    let summary = capture::stop().unwrap();
    assert_eq!(summary.ops, 400);
    let trace = open(&path);
    let duration = trace.manifest().window.duration_ns;
    for stream in streams {
        let mut times: Vec<(i64, i64)> = trace
            .launches()
            .unwrap()
            .rows()
            .iter()
            .filter(|l| l.stream as usize == stream.index())
            .map(|l| (l.start_ns, l.end_ns))
            .collect();
        times.sort_unstable();
        assert!(times.windows(2).all(|w| w[0].1 <= w[1].0), "launches of one stream overlap");
        assert!(times.iter().map(|(s, e)| e - s).sum::<i64>() <= duration);
    }
    assert_eq!(trace.manifest().counts.stats, 0, "a timeline has no figures");
}

#[test]
fn every_output_is_there_in_mode_full() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("full.pltrace");
    let a = Array::from([[1.0f32, 2.0], [3.0, 4.0]]);
    capture::start_with(&path, Options::default().mode(Mode::Full)).unwrap();
    let sum = ops::sum(&ops::exp(&ops::multiply(&a, &a)), Axes::All, false);
    let expected = sum.item::<f32>().unwrap();
    let summary = capture::stop().unwrap();
    assert_eq!((summary.ops, summary.launches), (3, 3), "chains are not fused");
    assert!(pellucid::fusion(), "fusion is on again");
    let trace = open(&path);
    let rows = trace.ops().unwrap().rows();
    let tensor = trace.tensor(rows.last().unwrap().id).unwrap();
    assert_eq!(tensor.data, expected.to_le_bytes());
    assert_eq!(trace.manifest().counts.tensors, 4);
}

#[test]
fn figures_name_the_operation_that_made_a_nan() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("nan.pltrace");
    capture::start_with(&path, Options::default().mode(Mode::Stats)).unwrap();
    let a = Array::from([1.0f32, 0.0, -1.0]);
    let log = ops::log(&a);
    log.eval().unwrap();
    ops::sort(&log, -1).eval().unwrap();
    capture::stop().unwrap();
    let trace = open(&path);
    let stats = trace.stats().unwrap().rows();
    let of = |id: u64| stats.iter().find(|s| s.array == id).unwrap();
    assert_eq!((of(a.id()).nan, of(a.id()).zero, of(a.id()).min), (0, 1, Some(-1.0)));
    assert_eq!((of(log.id()).nan, of(log.id()).inf, of(log.id()).zero), (1, 1, 1));
    assert_eq!(of(log.id()).mean, Some(0.0), "of the finite ones");
}

#[test]
fn failed_work_is_shown_with_its_error() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("failed.pltrace");
    capture::start(&path).unwrap();
    let a = Array::from([1.0f32, 2.0]);
    let bad = ops::take(&a, &Array::from([7]), 0);
    assert!(bad.eval().is_err());
    capture::stop().unwrap();
    let rows = open(&path).ops().unwrap().rows();
    let row = rows.iter().find(|r| r.id == bad.id()).unwrap();
    assert!(row.error.as_deref().unwrap().contains("index 7 is out of range"), "{row:?}");
}

#[test]
fn what_cannot_be_captured_is_a_typed_error_and_leaves_nothing_behind() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let there = folder.path().join("there.pltrace");
    std::fs::write(&there, "mine").unwrap();
    assert!(
        matches!(refusal(capture::start(&there)), CaptureError::File(e) if matches!(*e, pellucid_trace::Error::Exists { .. }))
    );
    assert_eq!(std::fs::read_to_string(&there).unwrap(), "mine");
    let nowhere = folder.path().join("no/such/folder.pltrace");
    assert!(
        matches!(refusal(capture::start(&nowhere)), CaptureError::File(e) if matches!(*e, pellucid_trace::Error::ParentMissing { .. }))
    );
    assert!(matches!(refusal(capture::start("")), CaptureError::EmptyPath));
    assert!(matches!(refusal(capture::stop().map(drop)), CaptureError::NotRunning));
    assert!(matches!(refusal(pellucid::metal::stop_capture().map(drop)), CaptureError::NotRunning));
    let path = folder.path().join("one.pltrace");
    pellucid::metal::start_capture(&path).unwrap();
    let second = folder.path().join("two.pltrace");
    assert!(
        matches!(refusal(capture::start(&second)), CaptureError::Running { path: running } if running == path)
    );
    assert!(!second.exists());
    let summary = pellucid::metal::stop_capture().unwrap();
    assert_eq!(summary.launches, 0, "a window without a launch is reported as such");
    open(&path);
}

#[test]
fn a_panic_inside_a_scope_leaves_a_partial_file_that_opens() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("panic.pltrace");
    let result = std::panic::catch_unwind(|| {
        capture::scope(&path, || {
            ops::ones([4], Dtype::Float32).eval().unwrap();
            panic!("in the middle");
        })
    });
    assert!(result.is_err());
    assert!(!capture::is_capturing());
    let trace = open(&path);
    assert!(trace.manifest().partial);
    assert_eq!(trace.manifest().counts.launches, 1);
}

#[test]
fn work_from_before_the_window_is_not_shown_and_work_inside_is_complete() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("window.pltrace");
    let x = ops::ones([256, 256], Dtype::Float32);
    let before = (0..10).fold(x.clone(), |y, _| ops::matmul(&y, &x));
    pellucid::async_eval([&before]);
    capture::start(&path).unwrap();
    let inside = (0..5).fold(x.clone(), |y, _| ops::matmul(&y, &x));
    pellucid::async_eval([&inside]);
    let summary = capture::stop().unwrap();
    assert_eq!(summary.launches, 5);
    assert!(inside.is_available());
}

#[test]
fn a_size_limit_marks_the_file_as_truncated() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("small.pltrace");
    capture::start_with(&path, Options::default().max_bytes(200_000)).unwrap();
    let noise = pellucid::random::uniform(0.0, 1.0, [300_000], Dtype::Float32, None);
    noise.eval().unwrap();
    ops::exp(&noise).eval().unwrap();
    for i in 0..50 {
        let input: Vec<f32> = (0..5000).map(|j| (i * j) as f32 * 0.1).collect();
        ops::sin(&Array::from(input)).eval().unwrap();
    }
    let summary = capture::stop().unwrap();
    assert!(summary.truncated && !summary.left_out.is_empty(), "{summary:?}");
    assert!(summary.bytes <= 200_000, "{}", summary.bytes);
    let trace = Trace::open(&path).unwrap();
    assert!(trace.manifest().truncated);
}
