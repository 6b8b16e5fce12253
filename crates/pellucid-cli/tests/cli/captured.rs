//! Commands on what was really captured.

use std::path::Path;
use std::process::Command;

use pellucid::capture::{self, Mode, Options};
use pellucid::{Array, Axes, Dtype, eval, ops, random, with_device};

use crate::{Folder, alone, devices, good, json, pellucid, said, text};

pub fn captured(path: &Path, mode: Mode, work: impl FnOnce() -> pellucid::Result<()>) {
    let _alone = alone();
    capture::start_with(path, Options::default().mode(mode)).unwrap();
    work().unwrap();
    capture::stop().unwrap();
}

/// A bit of everything: random numbers, fused chains, views, products, reductions, indexing, constants.
pub fn work() -> pellucid::Result<()> {
    let x = random::uniform(-1.0, 1.0, [64, 48], Dtype::Float32, Some(&random::key(3)));
    let y = ops::matmul(&x, &ops::transpose(&x, None));
    let z = ops::softmax(&ops::tanh(&ops::multiply(&y, 0.25)), -1, false);
    let picked = ops::take(&z, &Array::from([3, 1, 2]), 0);
    let total = ops::sum(&picked, Axes::All, false);
    total.label("total");
    let sorted = ops::sort(&ops::reshape(&x, [3072]), -1);
    let ones = ops::ones([16], Dtype::Float32);
    eval([&total, &sorted, &ones])
}

#[test]
fn a_trace_replays_on_every_device_with_the_recorded_results() {
    for (from, device) in devices() {
        let folder = Folder::new();
        let path = folder.path("run.pltrace");
        captured(&path, Mode::Replay, || with_device(device, work)?);
        for (to, _) in devices() {
            let report = json(&["replay", text(&path), "--device", to, "--check", "--repeat", "2"]);
            assert_eq!(report["different"].as_array().unwrap().len(), 0, "{from} to {to}: {report}");
            assert_eq!(report["skipped"], 0, "{report}");
            assert!(report["checked"].as_u64().unwrap() > 8, "{report}");
            if from == to {
                assert_eq!(report["exact"], report["checked"], "{from}: {report}");
            }
        }
        let launches = json(&["summary", text(&path)])["totals"]["counts"]["launches"].clone();
        let replayed = json(&["replay", text(&path), "--device", from])["launches"].as_array().unwrap().len();
        assert_eq!(launches, replayed as u64, "what was fused is fused again");
        let said = good(&["replay", text(&path), "--device", "cpu", "--check"]);
        assert!(said.contains("the replay agrees with the recording"), "{said}");
        let said = good(&["check", text(&path)]);
        assert!(said.contains("none was made in") && said.contains("two replays on"), "{said}");
    }
}

#[test]
fn a_nan_made_by_operation_4000_of_10000_is_found_with_its_element() {
    let folder = Folder::new();
    let path = folder.path("nan.pltrace");
    let mut made = 0;
    captured(&path, Mode::Replay, || {
        let mut x = Array::from([4.0f32, 2.0, -1.5, 8.0]);
        for i in 1..=10_000 {
            x = if i == 4_000 { ops::log(&x) } else { ops::maximum(&x, &x) };
            if i == 4_000 {
                made = x.id();
            }
            if i % 100 == 7 {
                x.eval()?;
            }
        }
        x.eval()
    });
    let report = json(&["check", text(&path)]);
    let makers = report["finite"]["makers"].as_array().unwrap();
    assert_eq!(makers.len(), 1, "{report}");
    assert_eq!((&makers[0]["op"], &makers[0]["name"]), (&made.into(), &"log".into()), "{report}");
    assert_eq!(makers[0]["element"]["index"], serde_json::json!([2]));
    let read = makers[0]["element"]["read"][0].as_str().unwrap().to_owned();
    assert!(read.starts_with("-1.5 "), "{read}");
    assert!(report["finite"]["passed_on"].as_u64().unwrap() > 50, "{report}");
    let said = pellucid(&["check", text(&path)]);
    assert_eq!(said.code, 1);
    assert!(said.out.contains(&format!("first made by op {made} (log)")), "{}", said.out);
}

#[test]
fn every_maker_of_a_nan_is_looked_into_up_to_the_limit() {
    let folder = Folder::new();
    let path = folder.path("nans.pltrace");
    captured(&path, Mode::Replay, || {
        for i in 0..12 {
            let x = Array::from([1.0f32, 2.0, -1.0 - i as f32]);
            ops::sqrt(&ops::multiply(&x, 4.0)).eval()?;
        }
        Ok(())
    });
    let elements = |args: &[&str]| {
        let mut all = vec!["check", text(&path), "--device", "cpu"];
        all.extend(args);
        let report = json(&all);
        let makers = report["finite"]["makers"].as_array().unwrap().clone();
        assert_eq!(makers.len(), 12, "{report}");
        assert!(makers.iter().all(|m| m["name"] == "sqrt"), "{report}");
        makers.iter().filter(|m| m["element"]["index"] == serde_json::json!([2])).count()
    };
    assert_eq!([elements(&[]), elements(&["--limit", "0"]), elements(&["--limit", "2"])], [10, 12, 2]);
    let said = pellucid(&["check", text(&path), "--device", "cpu"]);
    assert_eq!(said.code, 1);
    assert_eq!(said.out.matches("element [2] is NaN, from -").count(), 10, "{}", said.out);
    assert!(said.out.contains("… and 2 more"), "{}", said.out);
}

#[test]
fn a_trace_with_nothing_to_check_is_exit_code_2() {
    let folder = Folder::new();
    let path = folder.path("bare.pltrace");
    captured(&path, Mode::Timeline, || ops::exp(&Array::from([1.0f32, 2.0])).eval());
    let said = pellucid(&["check", text(&path)]);
    assert_eq!(said.code, 2, "{}{}", said.out, said.err);
    assert!(said.out.contains("nothing of the trace could be checked"), "{}", said.out);
    let said = pellucid(&["replay", text(&path), "--check"]);
    assert!(said.code == 2 && said.err.contains("no figures to check against"), "{}", said.err);
}

#[test]
fn a_mask_of_infinities_is_not_a_defect_and_a_given_nan_is() {
    let folder = Folder::new();
    let (mask, nan) = (folder.path("mask.pltrace"), folder.path("nan.pltrace"));
    captured(&mask, Mode::Replay, || {
        let scores = Array::from([[1.0f32, 2.0], [3.0, 4.0]]);
        let mask = Array::from([[0.0f32, f32::NEG_INFINITY], [0.0, 0.0]]);
        ops::softmax(&ops::add(&scores, &mask), -1, false).eval()
    });
    let said = good(&["check", text(&mask)]);
    assert!(
        said.contains("came with 1 infinite") && said.contains("passed on by 1 later operation\n"),
        "{said}"
    );
    captured(&nan, Mode::Stats, || ops::exp(&Array::from([f32::NAN, 1.0])).eval());
    let said = pellucid(&["check", text(&nan)]);
    assert_eq!(said.code, 1);
    assert!(said.out.contains("came with 1 NaN"), "{}", said.out);
    assert!(said.out.contains("captured in mode stats, without the arrays"), "{}", said.out);
}

#[test]
fn a_result_that_is_not_the_recorded_one_is_exit_code_1() {
    let folder = Folder::new();
    let path = folder.path("wrong.pltrace");
    crate::broken::with_wrong_result(&path);
    let said = pellucid(&["replay", text(&path), "--device", "cpu", "--check"]);
    assert_eq!(said.code, 1, "{}{}", said.out, said.err);
    let words = "differs op 2 (exp) at src/model.rs:12: min 2.718282, recorded 1";
    assert!(said.out.contains(words), "{}", said.out);
}

#[test]
fn programs_are_captured_from_outside_and_their_exit_code_is_kept() {
    let folder = Folder::new();
    let (first, second) = (folder.path("first.pltrace"), folder.path("second.pltrace"));
    captured(&first, Mode::Replay, work);
    let program = env!("CARGO_BIN_EXE_pellucid");
    // A replay evaluates: it is a program like any other.
    let said_capture =
        pellucid(&["capture", "-o", text(&second), "--mode", "stats", "--", program, "replay", text(&first)]);
    assert_eq!(said_capture.code, 0, "{}", said_capture.err);
    assert!(said_capture.out.contains("launches on Device"), "the program's own words");
    assert!(said_capture.err.contains("pellucid summary"), "{}", said_capture.err);
    let summary = json(&["summary", text(&second)]);
    assert_eq!(summary["totals"]["mode"], "stats");
    let again = pellucid(&["capture", "-o", text(&second), "--", program, "info"]);
    assert!(again.code == 2 && again.err.contains("exists already"), "{}", again.err);
    let forced =
        pellucid(&["capture", "-o", text(&second), "--force", "--", program, "replay", text(&first)]);
    assert_eq!(forced.code, 0, "{}", forced.err);
    assert_eq!(json(&["summary", text(&second)])["totals"]["mode"], "replay", "the new file took its place");
    let none = folder.path("none.pltrace");
    let quiet = pellucid(&["capture", "-o", text(&none), "--", program, "info"]);
    assert!(quiet.code == 2 && quiet.err.contains("no trace was written"), "{}", quiet.err);
    let failed = pellucid(&["capture", "-o", text(&none), "--", program, "summary", "nothing.here"]);
    assert!(failed.code == 2 && failed.err.contains("ended early"), "{}", failed.err);
    let strange = pellucid(&["capture", "-o", text(&none), "--", "no-such-program-here"]);
    assert!(strange.code == 2 && strange.err.contains("cannot be run"), "{}", strange.err);
}

#[test]
fn the_demo_on_the_gpu_agrees_with_the_cpu_launch_by_launch() {
    let folder = Folder::new();
    let mut command = Command::new(env!("CARGO_BIN_EXE_pellucid"));
    command.args(["demo", "--device", "gpu"]).env("PELLUCID_VALIDATE", "1").current_dir(folder.0.path());
    let said = said(command.output().unwrap());
    assert_eq!(said.code, 0, "{}{}", said.out, said.err);
    assert!(said.out.contains(" launches were run on the CPU as well: 0 mismatches"), "{}", said.out);
    assert!(!said.out.contains(" 0 launches"), "{}", said.out);
}

#[test]
fn the_demo_can_be_run_twice_and_says_what_to_do_next() {
    let folder = Folder::new();
    let demo = |args: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_pellucid"));
        said(command.arg("demo").args(args).current_dir(folder.0.path()).output().unwrap())
    };
    for _ in 0..2 {
        let said = demo(&[]);
        assert_eq!(said.code, 0, "{}{}", said.out, said.err);
        assert!(said.out.contains("What to do next") && said.out.contains("demo.html"), "{}", said.out);
    }
    assert!(folder.path("demo.html").exists() && folder.path("demo.pltrace").exists());
    good(&["replay", text(&folder.path("demo.pltrace")), "--device", "cpu", "--check"]);
    std::fs::write(folder.path("mine"), "mine").unwrap();
    let said = demo(&["-o", "mine"]);
    assert!(said.code == 2 && said.err.contains("--force"), "{}", said.err);
}
