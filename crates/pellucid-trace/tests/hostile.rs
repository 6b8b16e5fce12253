//! Files that are not what they seem: a clear error, never a panic, never much memory.
#![allow(clippy::unwrap_used, reason = "a test states what must hold")]

mod support;

use std::path::PathBuf;

use pellucid_trace::schema::Manifest;
use pellucid_trace::{Error, Launch, Op, Options, Problem, Trace, Writer};
use support::{exercise, members, pack, sample};
use zip::CompressionMethod::{Deflated, Stored};

fn place(folder: &tempfile::TempDir, bytes: &[u8]) -> PathBuf {
    let path = folder.path().join("hostile.pltrace");
    std::fs::write(&path, bytes).unwrap();
    path
}

fn open_error(bytes: &[u8]) -> Error {
    let folder = tempfile::tempdir().unwrap();
    Trace::open(place(&folder, bytes)).unwrap_err()
}

/// A sample with one member replaced or added.
fn altered(name: &str, content: &[u8]) -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.pltrace");
    sample(&path, 2, Options::default());
    let mut all = members(&path);
    all.retain(|(member, _)| member != name);
    all.push((name.to_owned(), content.to_vec()));
    pack(&all, Deflated)
}

#[test]
fn other_files_are_not_traces() {
    assert!(matches!(open_error(b""), Error::NotATrace { .. }));
    assert!(matches!(open_error(b"hello"), Error::NotATrace { .. }));
    let zip = pack(&[("readme.txt".into(), b"hello".to_vec())], Stored);
    let error = open_error(&zip);
    assert!(error.to_string().contains("no manifest.json"), "{error}");
    let zip = pack(&[("manifest.json".into(), br#"{"format": "zip"}"#.to_vec())], Stored);
    assert!(matches!(open_error(&zip), Error::NotATrace { .. }));
    let error = open_error(&altered("manifest.json", b"{"));
    assert!(matches!(error, Error::Damaged { .. }), "{error}");
}

#[test]
fn a_missing_file_is_named() {
    let error = Trace::open("/nowhere/x.pltrace").unwrap_err();
    assert!(error.to_string().contains("/nowhere/x.pltrace"), "{error}");
}

#[test]
fn a_newer_version_says_so() {
    let error = open_error(&altered("manifest.json", br#"{"format": "pltrace", "version": 7, "counts": 3}"#));
    assert_eq!(
        error.to_string(),
        "the trace has version 7; this program reads up to version 2: use a newer one"
    );
}

#[test]
fn unknown_keys_and_members_are_ignored() {
    let folder = tempfile::tempdir().unwrap();
    let bytes = altered("manifest.json", br#"{"format": "pltrace", "version": 1, "colour": {"deep": [1]}}"#);
    assert!(Trace::open(place(&folder, &bytes)).is_ok());
    assert!(Trace::open(place(&folder, &altered("notes/mine.txt", b"hello"))).is_ok());
}

#[test]
fn names_that_lead_outside_are_refused() {
    for name in
        ["../evil", "kernels/../../evil", "/etc/passwd", "kernels\\evil", "C:evil", "kernels//x", "näme"]
    {
        let error = open_error(&altered(name, b"x"));
        assert!(matches!(error, Error::UnsafeName { .. }), "{name}: {error}");
    }
}

#[test]
fn a_cut_file_points_to_recovery() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.pltrace");
    sample(&path, 4, Options::default());
    let bytes = std::fs::read(&path).unwrap();
    let error = open_error(&bytes[..bytes.len() / 2]);
    assert!(error.to_string().contains("pellucid recover"), "{error}");
}

#[test]
fn a_bomb_of_zeros_is_refused_without_being_unpacked() {
    // Four tables of zeros shrink to a thousandth, far more than tables do.
    let folder = tempfile::tempdir().unwrap();
    let zeros = vec![0; 40 << 20];
    let mut all = vec![("manifest.json".to_owned(), br#"{"format": "pltrace", "version": 1}"#.to_vec())];
    all.extend((0..4).map(|i| (format!("ops/{i:06}.arrow"), zeros.clone())));
    let trace = Trace::open(place(&folder, &pack(&all, Deflated))).unwrap();
    let error = trace.ops().unwrap_err();
    assert!(matches!(error, Error::TooLarge { bytes, .. } if bytes == 160 << 20), "{error}");
    // With the limit raised, the content is still no table.
    let limits = pellucid_trace::Limits { table_ratio: 1032, ..Default::default() };
    let error = Trace::open_with(trace.path(), limits).unwrap().ops().map(|_| ()).unwrap_err();
    assert!(matches!(error, Error::Damaged { .. }), "{error}");
}

#[test]
fn a_size_that_deflate_cannot_reach_is_refused() {
    let mut bytes = altered("ops/000000.arrow", &[0; 100_000]);
    // The last entry of the table of contents is the altered member: its size before compression.
    let entry = bytes.windows(4).rposition(|window| window == b"PK\x01\x02").unwrap();
    bytes[entry + 24..entry + 28].copy_from_slice(&u32::MAX.wrapping_sub(10).to_le_bytes());
    let error = open_error(&bytes);
    assert!(matches!(error, Error::TooLarge { .. }), "{error}");
}

#[test]
fn columns_of_another_table_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.pltrace");
    sample(&path, 2, Options::default());
    let mut all = members(&path);
    let launches = all.iter().find(|(name, _)| name.starts_with("launches/")).unwrap().1.clone();
    all.iter_mut()
        .filter(|(name, _)| name.starts_with("ops/"))
        .for_each(|(_, data)| data.clone_from(&launches));
    let trace = Trace::open(place(&folder, &pack(&all, Stored))).unwrap();
    let error = trace.ops().unwrap_err().to_string();
    assert!(error.contains("its columns are not those of ops"), "{error}");
}

fn op(id: u64, inputs: &[u64], shape: &[u64]) -> Op {
    Op {
        id,
        name: "add".into(),
        op: r#"{"binary":"add"}"#.into(),
        inputs: inputs.to_vec(),
        outputs: vec![id],
        shapes: vec![shape.to_vec()],
        dtypes: vec!["float32".into()],
        device: "Device(cpu, 0)".into(),
        stream: 0,
        launch: None,
        call_site: "a.rs:1".into(),
        label: None,
        region: None,
        flops: 0,
        bytes: 0,
        fallback: false,
        error: None,
        buffer: None,
        family: None,
        fallback_reason: None,
    }
}

fn launch(id: u64, start_ns: i64, end_ns: i64) -> Launch {
    Launch {
        id,
        kernel: "add".into(),
        source: None,
        device: "Device(cpu, 0)".into(),
        stream: 0,
        submission: 0,
        grid: vec![],
        enqueue_ns: 0,
        start_ns,
        end_ns,
        timed_by: "host clock".into(),
        ops: vec![],
        bytes: 0,
        flops: 0,
    }
}

/// The first problem of a trace of these rows.
fn problem(ops: Vec<Op>, launches: Vec<Launch>) -> Option<Problem> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.pltrace");
    let writer = Writer::create(&path, Options::default()).unwrap();
    ops.into_iter().for_each(|row| writer.op(row));
    launches.into_iter().for_each(|row| writer.launch(row));
    let mut manifest = Manifest::default();
    manifest.window.duration_ns = 100;
    writer.finish(manifest).unwrap();
    exercise(&path).unwrap();
    match Trace::open(&path).unwrap().check() {
        Err(Error::Inconsistent { first, .. }) => Some(*first),
        Ok(()) => None,
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn contradictions_between_rows_are_found() {
    let fine = [op(1, &[], &[2]), op(2, &[1], &[2])];
    assert_eq!(problem(fine.to_vec(), vec![launch(1, 0, 5), launch(2, 5, 9)]), None);
    let itself = problem(vec![op(1, &[1], &[])], vec![]);
    assert_eq!(itself, Some(Problem::Cycle { op: 1, array: 1 }));
    let circle = problem(vec![op(1, &[2], &[]), op(2, &[1], &[])], vec![]);
    assert_eq!(circle, Some(Problem::Cycle { op: 1, array: 2 }));
    let unknown = problem(vec![op(1, &[77], &[])], vec![]);
    assert_eq!(unknown, Some(Problem::UnknownInput { op: 1, array: 77 }));
    let twice = problem(vec![op(1, &[], &[]), op(1, &[], &[])], vec![]);
    assert_eq!(twice, Some(Problem::MadeTwice { array: 1, row: 1 }));
    let absurd = problem(vec![op(1, &[], &[1 << 40, 1 << 40])], vec![]);
    assert!(matches!(absurd, Some(Problem::AbsurdShape { op: 1, .. })));
    let empty_absurd = problem(vec![op(1, &[], &[u64::MAX, 0, u64::MAX])], vec![]);
    assert!(matches!(empty_absurd, Some(Problem::AbsurdShape { op: 1, .. })));
    let launch_unknown = problem(vec![Op { launch: Some(9), ..op(1, &[], &[]) }], vec![]);
    assert_eq!(launch_unknown, Some(Problem::UnknownId { table: "ops", row: 0, what: "launch", id: 9 }));
    let backwards = problem(vec![], vec![launch(1, 9, 5)]);
    assert!(matches!(backwards, Some(Problem::Times { table: "launches", .. })));
    let late = problem(vec![], vec![launch(1, 9, 101)]);
    assert!(matches!(late, Some(Problem::Times { .. })));
    let overlap = problem(vec![], vec![launch(1, 0, 50), launch(2, 40, 60)]);
    assert_eq!(overlap, Some(Problem::Overlap { launch: 2, previous: 1, stream: 0 }));
    let extreme = problem(vec![op(u64::MAX, &[], &[2])], vec![launch(u64::MAX, i64::MIN, i64::MAX)]);
    assert!(matches!(extreme, Some(Problem::Times { .. })));
}
