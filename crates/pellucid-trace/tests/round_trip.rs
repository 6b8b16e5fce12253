//! What is written is read back, row by row and byte by byte.
#![allow(clippy::unwrap_used, reason = "a test states what must hold")]

mod support;

use std::sync::Arc;

use pellucid_trace::{Launch, Manifest, Memory, Mode, Op, Options, Stats, Sync, Tensor, Trace, Writer};
use proptest::prelude::*;

fn text() -> impl Strategy<Value = Arc<str>> {
    ".{0,12}".prop_map(Into::into)
}

prop_compose! {
    fn op()(
        id in any::<u64>(), name in text(), op in text(), inputs in prop::collection::vec(any::<u64>(), 0..4),
        outputs in prop::collection::vec(any::<u64>(), 0..3),
        shapes in prop::collection::vec(prop::collection::vec(any::<u64>(), 0..4), 0..3),
        dtypes in prop::collection::vec(text(), 0..3), stream in any::<u32>(), launch in any::<Option<u64>>(),
        label in prop::option::of(text()), region in any::<Option<u32>>(), fallback in any::<bool>(),
        (buffer, family, fallback_reason) in (any::<Option<u64>>(), prop::option::of(text()), prop::option::of(text())),
        (flops, bytes, error) in (any::<u64>(), any::<u64>(), prop::option::of(text())),
    ) -> Op {
        let (device, call_site) = (name.clone(), op.clone());
        Op { id, name, op, inputs, outputs, shapes, dtypes, device, stream, launch, call_site, label, region, flops,
             bytes, fallback, error, buffer, family, fallback_reason }
    }
}

prop_compose! {
    fn launch()(
        id in any::<u64>(), kernel in text(), source in prop::option::of(text()), stream in any::<u32>(),
        submission in any::<u64>(), grid in prop::collection::vec(any::<u32>(), 0..4), times in any::<[i64; 3]>(),
        ops in prop::collection::vec(any::<u64>(), 0..5), bytes in any::<u64>(), flops in any::<u64>(),
    ) -> Launch {
        let [enqueue_ns, start_ns, end_ns] = times;
        let (device, timed_by) = (kernel.clone(), kernel.clone());
        Launch { id, kernel, source, device, stream, submission, grid, enqueue_ns, start_ns, end_ns, timed_by, ops,
                 bytes, flops }
    }
}

prop_compose! {
    fn memory()(
        time_ns in any::<i64>(), event in text(), numbers in any::<[u64; 5]>(), op in any::<Option<u64>>(),
    ) -> Memory {
        let [buffer, bytes, active, cache, peak] = numbers;
        Memory { time_ns, device: event.clone(), event, buffer, bytes, op, active, cache, peak }
    }
}

prop_compose! {
    fn stats()(
        n in any::<[u64; 6]>(), dtype in text(),
        floats in any::<[Option<f64>; 3]>(),
    ) -> Stats {
        // NaN is not equal to itself; that it survives is tested below.
        let [min, max, mean] = floats.map(|value| value.filter(|value| !value.is_nan()));
        Stats { array: n[0], op: n[1], hash: dtype.clone(), dtype, size: n[2], min, max, mean, nan: n[3], inf: n[4],
                zero: n[5] }
    }
}

prop_compose! {
    fn sync()(time_ns in any::<i64>(), waiter in any::<i32>(), waited_for in any::<u32>(), duration_ns in any::<i64>())
        -> Sync { Sync { time_ns, waiter, waited_for, duration_ns } }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn rows_of_every_table_come_back_unchanged(
        ops in prop::collection::vec(op(), 0..20), launches in prop::collection::vec(launch(), 0..20),
        events in prop::collection::vec(memory(), 0..20), waits in prop::collection::vec(sync(), 0..20),
        figures in prop::collection::vec(stats(), 0..20), chunk_rows in 1_usize..8,
    ) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.pltrace");
        let writer = Writer::create(&path, Options { chunk_rows, ..Options::default() }).unwrap();
        ops.iter().cloned().for_each(|row| writer.op(row));
        launches.iter().cloned().for_each(|row| writer.launch(row));
        events.iter().cloned().for_each(|row| writer.memory(row));
        waits.iter().cloned().for_each(|row| writer.sync(row));
        figures.iter().cloned().for_each(|row| writer.stats(row));
        let summary = writer.finish(Manifest::default()).unwrap();
        prop_assert!(!summary.truncated);
        let trace = Trace::open(&path).unwrap();
        prop_assert_eq!(trace.ops().unwrap().rows(), ops);
        prop_assert_eq!(trace.launches().unwrap().rows(), launches);
        prop_assert_eq!(trace.memory().unwrap().rows(), events);
        prop_assert_eq!(trace.sync().unwrap().rows(), waits);
        prop_assert_eq!(trace.stats().unwrap().rows(), figures);
        // Contradictions are found or not, but never end the program.
        let _ = trace.problems().unwrap();
    }
}

#[test]
fn a_realistic_trace_has_exact_counts_and_no_contradictions() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("net ütf.pltrace");
    let summary = support::sample(&path, 10, Options::default());
    let trace = Trace::open(&path).unwrap();
    trace.check().unwrap();
    let counts = trace.manifest().counts;
    assert_eq!(counts, summary.written);
    assert_eq!(counts, summary.seen);
    assert_eq!(summary.bytes, std::fs::metadata(&path).unwrap().len());
    // Ten layers of four launches, four of them with four more; five inputs, ten views, ten fused pairs.
    assert_eq!((counts.launches, counts.inputs, counts.ops), (56, 5, 81));
    assert_eq!((counts.memory, counts.sync, counts.regions), (56 + 14, 4 * 3 + 2 + 1, 10));
    assert_eq!((counts.tensors, counts.stats, counts.kernels), (61, 61, 7));
    assert_eq!((trace.manifest().mode, trace.manifest().partial), (Mode::Full, false));
    for stats in trace.stats().unwrap().iter() {
        let tensor = trace.tensor(stats.array).unwrap();
        assert_eq!(pellucid_trace::hash(&tensor.data), stats.hash);
        assert_eq!(tensor.data.len() as u64, 4 * stats.size);
    }
    for launch in trace.launches().unwrap().iter() {
        if let Some(source) = launch.source {
            assert!(trace.kernel(source).unwrap().contains(launch.kernel));
        }
    }
}

#[test]
fn a_nan_among_the_figures_survives() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.pltrace");
    let writer = Writer::create(&path, Options::default()).unwrap();
    let row = Stats {
        array: 1,
        op: 1,
        dtype: "float32".into(),
        size: 1,
        min: Some(f64::NAN),
        max: Some(f64::NEG_INFINITY),
        mean: None,
        nan: 1,
        inf: 0,
        zero: 0,
        hash: "0".into(),
    };
    writer.stats(row);
    writer.finish(Manifest::default()).unwrap();
    let row = &Trace::open(&path).unwrap().stats().unwrap().rows()[0];
    assert!(row.min.unwrap().is_nan());
    assert_eq!((row.max, row.mean), (Some(f64::NEG_INFINITY), None));
}

#[test]
fn kernels_and_tensors_are_written_once() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.pltrace");
    let writer = Writer::create(&path, Options::default()).unwrap();
    for _ in 0..3 {
        writer.kernel("fn main() {}", "wgsl");
        writer.tensor(Tensor { array: 9, dtype: "int8", shape: vec![3], data: Box::new([1_u8, 2, 3]) });
    }
    let counts = writer.finish(Manifest::default()).unwrap().written;
    assert_eq!((counts.kernels, counts.tensors), (1, 1));
    assert_eq!(Trace::open(&path).unwrap().tensor(9).unwrap().data, [1, 2, 3]);
}

#[test]
fn a_file_with_more_members_than_a_plain_zip_counts_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.pltrace");
    let writer = Writer::create(&path, Options::default()).unwrap();
    for array in 0..70_000 {
        writer.tensor(Tensor { array, dtype: "uint8", shape: vec![], data: Box::new([array as u8]) });
    }
    writer.finish(Manifest::default()).unwrap();
    let trace = Trace::open(&path).unwrap();
    assert_eq!(trace.tensors().len(), 70_000);
    assert_eq!(trace.tensor(69_999).unwrap().data, [69_999_u32 as u8]);
}
