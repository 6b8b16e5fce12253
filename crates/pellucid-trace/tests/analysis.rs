//! The numbers of the summary and of comparisons, on traces whose numbers are known.
#![allow(clippy::unwrap_used, reason = "a test states what must hold")]

mod support;

use pellucid_trace::analysis::{InsightKind, analyse};
use pellucid_trace::{Launch, Memory, Op, Options, Stats, Sync, Trace, Writer, diff};
use support::sample;

/// Writes the sample with rows changed on the way.
fn edited(
    path: &std::path::Path,
    source: &Trace,
    ops: impl Fn(Op) -> Option<Op>,
    launches: impl Fn(Launch) -> Launch,
    stats: impl Fn(Stats) -> Stats,
) -> Trace {
    let writer = Writer::create(path, Options::default()).unwrap();
    source.ops().unwrap().rows().into_iter().filter_map(ops).for_each(|row| writer.op(row));
    source.launches().unwrap().rows().into_iter().map(launches).for_each(|row| writer.launch(row));
    source.stats().unwrap().rows().into_iter().map(stats).for_each(|row| writer.stats(row));
    source.memory().unwrap().rows().into_iter().for_each(|row: Memory| writer.memory(row));
    source.sync().unwrap().rows().into_iter().for_each(|row: Sync| writer.sync(row));
    writer.finish(source.manifest().clone()).unwrap();
    Trace::open(path).unwrap()
}

#[test]
fn the_summary_of_a_known_network_is_exact() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.pltrace");
    sample(&path, 10, Options::default());
    let trace = Trace::open(&path).unwrap();
    let analysis = analyse(&trace).unwrap();
    let totals = &analysis.totals;
    assert_eq!(totals.launch_ns, 10 * 60_000 + 4 * 32_000);
    assert_eq!((totals.views, totals.errors), (15, 0));
    let matmul = &analysis.kernels[0];
    assert_eq!((matmul.name.as_str(), matmul.count, matmul.time_ns), ("matmul float32", 10, 400_000));
    assert!((matmul.share - 400.0 / 728.0).abs() < 1e-12);
    // Three arrays of 16,384 bytes in 40 µs, against a roof of 10 GB/s.
    assert!((matmul.gb_per_s - 1.2288).abs() < 1e-9);
    assert!((matmul.roof_share.unwrap() - 0.12288).abs() < 1e-9);
    assert!(trace.kernel(matmul.source.as_deref().unwrap()).unwrap().contains("matmul"));
    let times: u64 = analysis.ops.iter().map(|cost| cost.time_ns).sum();
    assert!(totals.launch_ns - times < 20, "time of fused launches is divided, not lost: {times}");
    let tanh = analysis.ops.iter().find(|cost| cost.name == "tanh").unwrap();
    assert_eq!((tanh.count, tanh.time_ns), (10, 32_000));
    let streams: Vec<(u32, u64, u64)> =
        analysis.streams.iter().map(|used| (used.stream, used.launches, used.busy_ns)).collect();
    assert_eq!(streams, [(0, 48, 644_000), (1, 4, 48_000), (2, 4, 36_000)]);
    assert_eq!(analysis.streams[0].gaps, 47);
    assert!(analysis.streams[0].longest_gaps[0].duration_ns > 12_000, "stream 0 waits for stream 1");
    assert_eq!((analysis.waits.host, analysis.waits.streams), (3, 12));
    assert_eq!(analysis.waits.host_ns, 6_000);
}

#[test]
fn memory_at_the_peak_names_what_was_held() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.pltrace");
    sample(&path, 10, Options::default());
    let memory = analyse(&Trace::open(&path).unwrap()).unwrap().memory;
    // 56 buffers of 16 KiB, 14 of them given up on the way; the last one only after the peak.
    assert_eq!((memory.allocations, memory.frees), (56, 14));
    assert_eq!(memory.peak, memory.held_count * 16_384);
    assert_eq!((memory.held_before, memory.device.as_str()), (0, "Device(gpu, 0)"));
    let first = &memory.held[0];
    assert_eq!((first.bytes, first.name.as_deref()), (16_384, Some("matmul")));
    assert_eq!(first.call_site.as_deref(), Some("src/net.rs:16"));
}

#[test]
fn each_kind_of_waste_is_found_and_counted() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.pltrace");
    sample(&path, 10, Options::default());
    let insights = analyse(&Trace::open(&path).unwrap()).unwrap().insights;
    let count =
        |kind| insights.iter().find(|insight| insight.kind == kind).map_or(0, |insight| insight.count);
    assert_eq!(count(InsightKind::Unfused), 10, "square and multiply of each layer: {insights:#?}");
    assert_eq!(count(InsightKind::Copy), 4);
    assert_eq!(count(InsightKind::DeadResult), 4);
    assert_eq!(count(InsightKind::Fallback), 4);
    assert_eq!(count(InsightKind::TinyLaunches), 42, "all but matmul and softmax");
    assert_eq!(
        count(InsightKind::NeedlessWait),
        3,
        "stream 0 reads nothing of stream 1; after the last wait it does nothing"
    );
    assert_eq!(count(InsightKind::Repeated), 0);
    assert!(insights.is_sorted_by_key(|insight| std::cmp::Reverse(insight.gain_ns)));
    let copies = insights.iter().find(|insight| insight.kind == InsightKind::Copy).unwrap();
    assert_eq!(copies.gain_ns, 4 * 5_000);
    assert!(!copies.examples.is_empty() && !copies.text.is_empty() && !copies.advice.is_empty());
}

#[test]
fn the_longest_chain_follows_the_data() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.pltrace");
    sample(&path, 10, Options::default());
    let chain = analyse(&Trace::open(&path).unwrap()).unwrap().critical_path;
    // matmul, add+tanh, square, multiply of every layer, then softmax and fft of the last one.
    assert_eq!((chain.time_ns, chain.launches), (10 * 60_000 + 21_000, 42));
    assert_eq!(chain.costliest[0].1, "matmul float32");
}

#[test]
fn a_trace_is_the_same_as_itself() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.pltrace");
    sample(&path, 10, Options::default());
    let trace = Trace::open(&path).unwrap();
    let found = diff::diff(&trace, &trace, &diff::Options::default()).unwrap();
    assert!(found.is_same());
    assert_eq!((found.aligned, found.numbers.identical, found.numbers.compared), (81, 61, 61));
}

#[test]
fn operations_added_removed_and_changed_are_told_apart() {
    let folder = tempfile::tempdir().unwrap();
    let (path, other) = (folder.path().join("a.pltrace"), folder.path().join("b.pltrace"));
    sample(&path, 10, Options::default());
    let a = Trace::open(&path).unwrap();
    let victim = a.ops().unwrap().iter().filter(|op| op.name == "exp").nth(1).unwrap().id;
    let shaped = a.ops().unwrap().iter().find(|op| op.name == "softmax").unwrap().id;
    let edit = |op: Op| match op.id {
        id if id == victim => None,
        id if id == shaped => Some(Op { shapes: vec![vec![7, 7]], ..op }),
        _ => Some(op),
    };
    let b = edited(&other, &a, edit, |row| row, |row| row);
    let options = diff::Options::default();
    let found = diff::diff(&a, &b, &options).unwrap();
    assert_eq!((found.removed.0, found.removed.1[0].id, found.added.0), (1, victim, 0));
    assert_eq!((found.changed.0, found.changed.1[0].1.shapes.clone()), (1, vec![vec![7, 7]]));
    let back = diff::diff(&b, &a, &options).unwrap();
    assert_eq!((back.added.0, back.removed.0, back.changed.0), (1, 0, 1));
}

#[test]
fn times_within_the_noise_are_not_remarked_on() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.pltrace");
    sample(&path, 10, Options::default());
    let a = Trace::open(&path).unwrap();
    let longer = |part: i64| {
        move |row: Launch| Launch { end_ns: row.end_ns + (row.end_ns - row.start_ns) * part / 100, ..row }
    };
    let options = diff::Options::default();
    let little = edited(&folder.path().join("b.pltrace"), &a, Some, longer(5), |row| row);
    let found = diff::diff(&a, &little, &options).unwrap();
    assert!(!found.time.significant && found.kernels.iter().all(|kernel| !kernel.time.significant));
    let much = edited(&folder.path().join("c.pltrace"), &a, Some, longer(50), |row| row);
    let found = diff::diff(&a, &much, &options).unwrap();
    assert!(found.time.significant && (found.time.ratio - 1.5).abs() < 0.01);
    assert_eq!(found.kernels[0].name, "matmul float32");
    assert!(found.kernels[0].time.significant);
}

#[test]
fn other_numbers_are_found_at_the_operation_where_they_begin() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.pltrace");
    sample(&path, 10, Options::default());
    let a = Trace::open(&path).unwrap();
    let arrays: Vec<u64> = a.stats().unwrap().iter().map(|row| row.array).collect();
    let [moved, near, spoiled] = [arrays[20], arrays[25], arrays[30]];
    let edit = |row: Stats| match row.array {
        array if array == moved => {
            Stats { hash: "0123456789abcdef".into(), max: row.max.map(|max| max * 1.5), ..row }
        }
        array if array == near => {
            Stats { hash: "0123456789abcdef".into(), mean: row.mean.map(|mean| mean * (1.0 + 1e-9)), ..row }
        }
        array if array == spoiled => Stats { hash: "0123456789abcdef".into(), nan: row.nan + 1, ..row },
        _ => row,
    };
    let b = edited(&folder.path().join("b.pltrace"), &a, Some, |row| row, edit);
    let numbers = diff::diff(&a, &b, &diff::Options::default()).unwrap().numbers;
    assert_eq!((numbers.close, numbers.different), (1, 2));
    assert_eq!(numbers.first[0].a.id, moved);
    assert!(numbers.first[0].difference > 0.1);
    assert_eq!(numbers.first[1].nan.1, numbers.first[1].nan.0 + 1);
}

#[test]
fn kernels_of_two_devices_are_matched_by_what_they_do() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.pltrace");
    sample(&path, 10, Options::default());
    let a = Trace::open(&path).unwrap();
    let elsewhere = |launch: Launch| Launch {
        device: "Device(other, 0)".into(),
        kernel: format!("{} elsewhere", launch.kernel).as_str().into(),
        ..launch
    };
    let b = edited(&folder.path().join("b.pltrace"), &a, Some, elsewhere, |stats| stats);
    let found = diff::diff(&a, &b, &diff::Options::default()).unwrap();
    assert!(!found.kernels.is_empty());
    for kernel in &found.kernels {
        assert_eq!((kernel.count.a, kernel.time.a), (kernel.count.b, kernel.time.b), "{}", kernel.name);
        assert!(kernel.device.ends_with(" → Device(other, 0)"), "{}", kernel.device);
    }
}

#[test]
fn lines_that_moved_are_the_same_operations() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.pltrace");
    sample(&path, 10, Options::default());
    let a = Trace::open(&path).unwrap();
    let moved = |op: Op| {
        let (file, line) = op.call_site.rsplit_once(':').unwrap();
        let call_site = format!("{file}:{}", line.parse::<u32>().unwrap() + 7);
        Some(Op { call_site: call_site.as_str().into(), ..op })
    };
    let b = edited(&folder.path().join("b.pltrace"), &a, moved, |launch| launch, |stats| stats);
    let found = diff::diff(&a, &b, &diff::Options::default()).unwrap();
    assert_eq!(found.added.0 + found.removed.0 + found.changed.0, 0);
}
