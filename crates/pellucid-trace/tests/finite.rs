//! Who made a NaN, who passed it on, and what pictures mark, on traces whose story is known.
#![allow(clippy::unwrap_used, reason = "a test states what must hold")]

use std::path::Path;

use pellucid_trace::analysis::{Cause, Role, analyse, finite, marks, roles};
use pellucid_trace::{Launch, Manifest, Op, Options, Stats, Tensor, Trace, Writer};

fn op(id: u64, op: &str, inputs: &[u64], launch: Option<u64>) -> Op {
    Op {
        id,
        name: format!("op{id}").as_str().into(),
        op: op.into(),
        inputs: inputs.to_vec(),
        outputs: vec![id],
        shapes: vec![vec![2, 2]],
        dtypes: vec!["float32".into()],
        device: "Device(cpu, 0)".into(),
        stream: 0,
        launch,
        call_site: format!("a.py:{id}").as_str().into(),
        label: None,
        region: None,
        flops: 4,
        bytes: 16,
        fallback: false,
        error: None,
        buffer: None,
        family: None,
        fallback_reason: None,
    }
}

fn launch(id: u64, ops: &[u64], start_ns: i64, time_ns: i64) -> Launch {
    Launch {
        id,
        kernel: "k".into(),
        source: None,
        device: "Device(cpu, 0)".into(),
        stream: 0,
        submission: id,
        grid: vec![1],
        enqueue_ns: start_ns,
        start_ns,
        end_ns: start_ns + time_ns,
        timed_by: "host clock".into(),
        ops: ops.to_vec(),
        bytes: 16,
        flops: 4,
    }
}

fn stats(array: u64, nan: u64, inf: u64) -> Stats {
    Stats {
        array,
        op: array,
        dtype: "float32".into(),
        size: 4,
        min: Some(0.0),
        max: Some(1.0),
        mean: Some(0.5),
        nan,
        inf,
        zero: 0,
        hash: "0".repeat(16).as_str().into(),
    }
}

const INPUT: &str = r#"{"input":{}}"#;
const UNARY: &str = r#"{"unary":"log"}"#;

fn write(
    path: &Path,
    ops: &[Op],
    launches: &[Launch],
    figures: &[Stats],
    tensors: &[(u64, [f32; 4])],
) -> Trace {
    let writer = Writer::create(path, Options::default()).unwrap();
    ops.iter().for_each(|row| writer.op(row.clone()));
    launches.iter().for_each(|row| writer.launch(row.clone()));
    figures.iter().for_each(|row| writer.stats(row.clone()));
    for (array, values) in tensors {
        let data = values.iter().flat_map(|v| v.to_le_bytes()).collect::<Vec<u8>>();
        writer.tensor(Tensor { array: *array, dtype: "float32", shape: vec![2, 2], data: Box::new(data) });
    }
    writer.finish(Manifest::default()).unwrap();
    Trace::open(path).unwrap()
}

#[test]
fn a_view_after_the_maker_is_not_blamed_and_no_finite_operation_is() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.pltrace");
    // 1 given, 2 makes, 3 is a view of it without figures, 4 reads the view, 5 is another branch.
    let ops = [
        op(1, INPUT, &[], None),
        op(2, UNARY, &[1], Some(1)),
        op(3, r#"{"transpose":{"axes":[1,0]}}"#, &[2], None),
        op(4, UNARY, &[3], Some(2)),
        op(5, UNARY, &[1], Some(3)),
    ];
    let launches = [launch(1, &[2], 0, 10), launch(2, &[4], 20, 10), launch(3, &[5], 40, 10)];
    let figures = [stats(1, 0, 0), stats(2, 1, 0), stats(4, 2, 0), stats(5, 0, 0)];
    let tensors = [(1, [1.0, -2.0, 3.0, 4.0]), (2, [0.0, f32::NAN, 1.0, 1.0])];
    let trace = write(&path, &ops, &launches, &figures, &tensors);
    let found = analyse(&trace).unwrap().finite;
    assert_eq!((found.checked, found.made, found.passed_on, found.reached), (4, 1, 1, 3));
    let maker = &found.makers[0];
    assert_eq!((maker.op, maker.nan, maker.among.len()), (2, 1, 0));
    let element = maker.element.as_ref().unwrap();
    assert_eq!((element.index.as_slice(), element.value.as_str()), (&[0, 1][..], "NaN"));
    assert_eq!(element.read, ["-2 (array 1)"]);
    let told = [Role::Finite, Role::Made, Role::PassedOn, Role::PassedOn, Role::Finite];
    assert_eq!(roles(&trace).unwrap(), told);
}

#[test]
fn in_a_fused_chain_all_its_operations_are_named_once() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.pltrace");
    let ops = [
        op(1, INPUT, &[], None),
        op(2, UNARY, &[1], Some(1)),
        op(3, UNARY, &[2], Some(1)),
        op(4, UNARY, &[3], Some(2)),
    ];
    let launches = [launch(1, &[2, 3], 0, 10), launch(2, &[4], 20, 10)];
    let trace = write(&path, &ops, &launches, &[stats(1, 0, 0), stats(3, 4, 0), stats(4, 4, 0)], &[]);
    let found = finite(&trace, 10).unwrap();
    assert_eq!((found.made, found.passed_on), (1, 1));
    assert_eq!((found.makers[0].op, found.makers[0].among.as_slice()), (3, &[2, 3][..]));
    let marks = marks(&trace).unwrap();
    assert_eq!((marks.among, marks.made, marks.passed_on), (vec![1], vec![2], vec![3]));
}

#[test]
fn what_was_given_is_not_made_and_an_infinite_constant_is_a_mask() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.pltrace");
    let ops = [
        op(1, INPUT, &[], None),
        op(2, r#"{"full":{"shape":[2,2],"value":{"float":"-inf"},"dtype":"float32"}}"#, &[], None),
        op(3, r#"{"binary":"add"}"#, &[1, 2], Some(1)),
    ];
    let trace = write(&path, &ops, &[launch(1, &[3], 0, 10)], &[stats(1, 0, 0), stats(3, 0, 4)], &[]);
    let found = finite(&trace, 10).unwrap();
    assert!(found.is_good());
    assert_eq!((found.made, found.came, found.passed_on), (0, 1, 1));
    assert_eq!((found.given[0].array, found.given[0].inf), (2, 1));
    let trace = write(&folder.path().join("u.pltrace"), &ops[..1], &[], &[stats(1, 2, 0)], &[]);
    assert!(!finite(&trace, 10).unwrap().is_good(), "an array that came with a NaN is a finding");
}

#[test]
fn a_launch_that_took_too_long_is_told_with_its_cause() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.pltrace");
    let ops: Vec<Op> = (1..=12).map(|i| op(i, UNARY, &[], Some(i))).collect();
    // The first is cold, the seventh has no explanation, the ninth is only a little slower.
    let time = |i: u64| match i {
        1 => 900_000,
        7 => 500_000,
        9 => 15_000,
        _ => 10_000,
    };
    let launches: Vec<Launch> = (1..=12).map(|i| launch(i, &[i], i as i64 * 1_000_000, time(i))).collect();
    let trace = write(&path, &ops, &launches, &[], &[]);
    let found = analyse(&trace).unwrap().outliers;
    assert_eq!((found.count, found.lost_ns), (2, 890_000 + 490_000));
    let causes: Vec<_> = found.worst.iter().map(|o| (o.launch, o.median_ns, o.cause)).collect();
    assert_eq!(causes, [(1, 10_000, Cause::FirstLaunch), (7, 10_000, Cause::Outside)]);
    assert_eq!(marks(&trace).unwrap().outliers, [(0, Cause::FirstLaunch), (6, Cause::Outside)]);
}
