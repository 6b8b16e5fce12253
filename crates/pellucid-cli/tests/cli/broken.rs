//! Files that are not what they say: a clear message, exit code 2, no panic.

use std::path::Path;

use pellucid::Array;
use pellucid_trace::{Op, Options, Writer};

use crate::fixture::{input, launch, manifest, op, stats, tensor};
use crate::{Folder, alone, fixture, good, pellucid, text};

/// A trace of one array and one operation.
fn with_op(path: &Path, row: Op, results: &[(u64, Array)]) {
    let _alone = alone();
    let a = Array::from([1.0f32, 2.0]);
    let w = Writer::create(path, Options::default()).unwrap();
    w.op(input(1, &[2]));
    w.tensor(tensor(1, &a));
    w.stats(stats(1, &a));
    w.launch(launch(1, &row.name, 1_000, 2_000, &[row.id]));
    w.op(row);
    results.iter().for_each(|(id, array)| w.stats(stats(*id, array)));
    w.finish(manifest(10_000)).unwrap();
}

/// A trace whose recorded result is not that of its operation.
pub fn with_wrong_result(path: &Path) {
    with_op(
        path,
        op(2, "exp", "{\"unary\":\"exp\"}", &[1], &[2], Some(1)),
        &[(2, Array::from([1.0f32, 2.5]))],
    );
}

pub fn refused(args: &[&str], words: &str) {
    let said = pellucid(args);
    assert_eq!((said.code, said.out.as_str()), (2, ""), "{args:?}: {}", said.err);
    assert!(said.err.starts_with("error: ") && said.err.contains(words), "{args:?}: {}", said.err);
}

#[test]
fn files_that_are_no_traces_are_refused_by_every_command() {
    let folder = Folder::new();
    let [missing, note, cut, good_file] =
        ["missing", "note.pltrace", "cut.pltrace", "good.pltrace"].map(|name| folder.path(name));
    std::fs::write(&note, "just a note").unwrap();
    fixture::write(&good_file, 0);
    let bytes = std::fs::read(&good_file).unwrap();
    std::fs::write(&cut, &bytes[..bytes.len() * 2 / 3]).unwrap();
    for command in ["summary", "ops", "replay", "check", "view"] {
        refused(&[command, text(&missing)], "No such file");
        refused(&[command, text(&note)], "is not a trace");
        refused(&[command, text(&cut)], "was cut short");
    }
    refused(&["show", text(&cut), "1"], "was cut short");
    refused(&["export", text(&cut), "--format", "html", "-o", "-"], "was cut short");
    refused(&["diff", text(&good_file), text(&cut)], "was cut short");
    refused(&["recover", text(&note)], "no complete part of a trace");
    let said = good(&["recover", text(&cut)]);
    assert!(said.contains("cut.recovered.pltrace: "), "{said}");
    good(&["summary", text(&folder.path("cut.recovered.pltrace"))]);
    refused(&["recover", text(&cut)], "exists already");
}

#[test]
fn rows_that_contradict_each_other_are_refused() {
    let folder = Folder::new();
    let cases = [
        ("cycle", op(2, "exp", "{\"unary\":\"exp\"}", &[2], &[2], Some(1)), "in a circle"),
        ("unknown", op(2, "exp", "{\"unary\":\"exp\"}", &[99], &[2], Some(1)), "99"),
        ("absurd", op(2, "exp", "{\"unary\":\"exp\"}", &[1], &[1 << 40, 1 << 40], Some(1)), ""),
    ];
    for (name, row, words) in cases {
        let path = folder.path(&format!("{name}.pltrace"));
        with_op(&path, row, &[]);
        for command in ["summary", "replay", "check"] {
            let said = pellucid(&[command, text(&path)]);
            assert_eq!(said.code, 2, "{name} {command}: {}", said.out);
            assert!(said.err.contains("contradicts itself"), "{name} {command}: {}", said.err);
            assert!(words == "in a circle" || said.err.contains(words), "{name} {command}: {}", said.err);
        }
    }
}

#[test]
fn operations_that_do_not_fit_are_refused_by_a_replay() {
    let folder = Folder::new();
    let cases = [
        (
            "nonsense",
            op(2, "exp", "{\"conjure\":1}", &[1], &[2], Some(1)),
            "is not an operation of this version",
        ),
        ("no json", op(2, "exp", "[[[[", &[1], &[2], Some(1)), "is not an operation of this version"),
        ("matmul of vectors", op(2, "matmul", "\"matmul\"", &[1], &[2], Some(1)), "op 2 (matmul)"),
        ("other shape", op(2, "exp", "{\"unary\":\"exp\"}", &[1], &[3], Some(1)), "was recorded"),
        (
            "larger than memory",
            op(
                2,
                "broadcast_to",
                "{\"broadcast\":{\"shape\":[34359738368,2]}}",
                &[1],
                &[1 << 35, 2],
                Some(1),
            ),
            "needs 256.0 GiB of memory",
        ),
        (
            "endless",
            op(2, "broadcast_to", "{\"broadcast\":{\"shape\":[1099511627776,2]}}", &[1], &[1 << 40, 2], None),
            "absurdly large",
        ),
        (
            "slice out of range",
            op(2, "slice", "{\"slice\":{\"start\":[5],\"size\":[2],\"step\":[1]}}", &[1], &[2], Some(1)),
            "op 2 (slice)",
        ),
    ];
    for (name, row, words) in cases {
        let path = folder.path(&format!("{name}.pltrace"));
        with_op(&path, row, &[]);
        good(&["summary", text(&path)]);
        let said = pellucid(&["replay", text(&path), "--device", "cpu"]);
        assert_eq!(said.code, 2, "{name}: {}{}", said.out, said.err);
        assert!(said.err.contains(words), "{name}: {}", said.err);
    }
}

#[test]
fn changed_bytes_never_bring_a_command_down() {
    let folder = Folder::new();
    let path = folder.path("good.pltrace");
    fixture::write(&path, 0);
    let bytes = std::fs::read(&path).unwrap();
    let broken = folder.path("broken.pltrace");
    let mut state = 12345u64;
    for round in 0..40 {
        let mut changed = bytes.clone();
        for _ in 0..1 + round % 4 {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            let at = (state >> 33) as usize % changed.len();
            changed[at] ^= 1 << (state >> 20 & 7);
        }
        std::fs::write(&broken, &changed).unwrap();
        let command = ["summary", "ops", "replay", "check"][round % 4];
        let said = pellucid(&[command, text(&broken)]);
        assert!((0..=2).contains(&said.code), "round {round}: {}", said.code);
    }
}
