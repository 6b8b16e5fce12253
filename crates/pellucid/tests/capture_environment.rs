//! Captures asked for by the environment. Each test starts this very program again, in a role, with the environment
//! that it is about.
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use pellucid::capture::{self, GraphExecutor, MetalCapture};
use pellucid::{Array, Axes, Device, async_eval, new_stream, ops, with_device, with_stream};
use pellucid_trace::Trace;

/// The program in its role.
#[test]
#[ignore = "started by the other tests"]
fn role() {
    let Ok(role) = std::env::var("ROLE") else { return };
    let device = Device::cpu();
    match role.as_str() {
        "evaluates" => (0..6).for_each(|_| add()),
        "sessions" => {
            let executor = GraphExecutor::new(device).unwrap();
            for _ in 0..3 {
                let session = executor.begin().unwrap();
                add();
                add();
                session.finish().unwrap();
            }
        }
        // An executor is there, and the model is run once before it counts.
        "warms up" => {
            let executor = GraphExecutor::new(device).unwrap();
            add();
            add();
            add();
            session_of_two(executor);
            session_of_two(executor);
        }
        "warms up first" => {
            add();
            session_of_two(GraphExecutor::new(device).unwrap());
            add();
        }
        "several streams" => {
            let (side, idle) = (new_stream(device).unwrap(), new_stream(device).unwrap());
            let before = with_stream(idle, slow);
            async_eval([&before]);
            let session = GraphExecutor::new(device).unwrap().begin().unwrap();
            let beside = with_stream(side, slow);
            async_eval([&beside]);
            let failed = with_stream(side, || ops::take(&Array::from([1.0f32]), &Array::from([9i32]), 0));
            async_eval([&failed]);
            let outcome = session.finish();
            assert!(beside.is_available(), "its work goes on after the session");
            assert!(outcome.unwrap_err().to_string().contains("take"), "the failure is told");
        }
        "captures" => {
            let mut capture = MetalCapture::from_env(&device).expect("a capture");
            capture.begin();
            capture.begin();
            add();
            capture.end();
            capture.end();
            assert!(MetalCapture::from_env(&device).is_none());
            assert!(MetalCapture::from_env(&device).is_none());
        }
        "asks twice" => {
            assert!(MetalCapture::from_env(&device).is_none());
            assert!(MetalCapture::from_env(&device).is_none());
            add();
        }
        "panics" => {
            let mut capture = MetalCapture::from_env(&device).expect("a capture");
            capture.begin();
            add();
            panic!("in the middle of the work");
        }
        "drops" => {
            drop(MetalCapture::from_env(&device).expect("a capture"));
            println!("left: {}", target().exists());
            let mut capture = MetalCapture::from_env(&device).expect("another one");
            capture.begin();
            add();
        }
        "fails first" => {
            assert!(MetalCapture::from_env(&device).is_none());
            assert!(MetalCapture::from_env(&device).is_none());
            std::fs::create_dir(target().parent().unwrap()).unwrap();
            let mut capture = MetalCapture::from_env(&device).expect("the cause is gone");
            capture.begin();
            add();
            capture.end();
        }
        "compiles, then captures" => {
            with_device(Device::gpu(), || {
                ops::exp(&Array::from([1.0f32])).eval().unwrap();
                capture::start(std::env::var_os("TARGET").unwrap()).unwrap();
                ops::sum(&Array::from([1.0f32, 2.0]), Axes::All, false).eval().unwrap();
                capture::stop().unwrap();
            })
            .unwrap();
        }
        "never ends" => loop {
            add();
        },
        other => panic!("no role {other}"),
    }
}

fn session_of_two(executor: GraphExecutor) {
    let session = executor.begin().unwrap();
    add();
    add();
    session.finish().unwrap();
}

/// Work that takes a moment.
fn slow() -> Array {
    let x = ops::full([300, 300], 0.003f32, pellucid::Dtype::Float32);
    (0..20).fold(x.clone(), |y, _| ops::matmul(&y, &x))
}

fn add() {
    let a = Array::from([1.0f32, 2.0]);
    ops::add(&a, &a).eval().unwrap();
}

fn target() -> PathBuf {
    PathBuf::from(std::env::var_os("MLX_METAL_CAPTURE").unwrap())
}

fn program(role: &str, variables: &[(&str, &str)]) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "role", "--ignored", "--nocapture"]).env("ROLE", role);
    let ours = ["CAPTURE", "CAPTURE_MODE", "CAPTURE_SKIP", "CAPTURE_COUNT"].map(|n| format!("PELLUCID_{n}"));
    let others = ["MLX_METAL_CAPTURE", "MTL_CAPTURE_ENABLED", "METAL_CAPTURE_ENABLED"].map(str::to_owned);
    ours.iter().chain(&others).for_each(|name| {
        command.env_remove(name);
    });
    command.envs(variables.iter().copied());
    command
}

fn run(role: &str, variables: &[(&str, &str)]) -> (Output, String) {
    let output = program(role, variables).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    (output, said)
}

fn launches(path: &Path) -> u64 {
    let trace = Trace::open(path).unwrap();
    assert_eq!(trace.problems().unwrap(), (Vec::new(), 0));
    trace.manifest().counts.launches
}

fn times(text: &str, part: &str) -> usize {
    text.matches(part).count()
}

struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Folder {
        Folder(tempfile::tempdir().unwrap())
    }

    fn path(&self, name: &str) -> (PathBuf, String) {
        let path = self.0.path().join(name);
        let text = path.to_str().unwrap().to_owned();
        (path, text)
    }
}

#[test]
fn either_gate_allows_one_capture_and_one_warning_says_why_there_is_no_second() {
    for gate in ["MTL_CAPTURE_ENABLED", "METAL_CAPTURE_ENABLED"] {
        let folder = Folder::new();
        let (path, text) = folder.path("one.pltrace");
        let (output, said) = run("captures", &[("MLX_METAL_CAPTURE", &text), (gate, "1")]);
        assert!(output.status.success(), "{said}");
        assert_eq!(launches(&path), 1);
        assert!(!Trace::open(&path).unwrap().manifest().partial);
        assert_eq!(times(&said, "has captured already"), 1, "{said}");
    }
}

#[test]
fn without_a_gate_there_is_one_warning_and_no_file() {
    let folder = Folder::new();
    let (path, text) = folder.path("none.pltrace");
    for gate in [vec![], vec![("MTL_CAPTURE_ENABLED", "0")]] {
        let mut variables = vec![("MLX_METAL_CAPTURE", text.as_str())];
        variables.extend(gate);
        let (output, said) = run("asks twice", &variables);
        assert!(output.status.success(), "{said}");
        assert!(!path.exists());
        assert_eq!(times(&said, "set MTL_CAPTURE_ENABLED=1"), 1, "{said}");
    }
    let (output, said) = run("asks twice", &[("MTL_CAPTURE_ENABLED", "1")]);
    assert!(output.status.success() && !said.contains("pellucid:"), "nothing was asked for: {said}");
}

#[test]
fn a_panic_leaves_a_partial_file_that_opens() {
    let folder = Folder::new();
    let (path, text) = folder.path("panic.pltrace");
    let (output, said) = run("panics", &[("MLX_METAL_CAPTURE", &text), ("MTL_CAPTURE_ENABLED", "1")]);
    assert!(!output.status.success(), "{said}");
    assert_eq!(launches(&path), 1);
    assert!(Trace::open(&path).unwrap().manifest().partial);
}

#[test]
fn a_capture_dropped_before_it_began_leaves_nothing_and_another_may_follow() {
    let folder = Folder::new();
    let (path, text) = folder.path("drop.pltrace");
    let (output, said) = run("drops", &[("MLX_METAL_CAPTURE", &text), ("MTL_CAPTURE_ENABLED", "1")]);
    assert!(output.status.success(), "{said}");
    assert!(String::from_utf8_lossy(&output.stdout).contains("left: false"));
    assert_eq!(launches(&path), 1);
}

#[test]
fn a_start_that_failed_does_not_count() {
    let folder = Folder::new();
    let (path, text) = folder.path("later/one.pltrace");
    let (output, said) = run("fails first", &[("MLX_METAL_CAPTURE", &text), ("MTL_CAPTURE_ENABLED", "1")]);
    assert!(output.status.success(), "{said}");
    assert_eq!(launches(&path), 1);
    assert_eq!(times(&said, "does not exist"), 1, "{said}");
}

#[test]
fn a_program_that_only_evaluates_is_captured_from_outside() {
    let folder = Folder::new();
    let windows = [(None, None, 6), (Some("2"), None, 4), (Some("1"), Some("3"), 3), (None, Some("1"), 1)];
    for (i, (skip, count, expected)) in windows.into_iter().enumerate() {
        let (path, text) = folder.path(&format!("{i}.pltrace"));
        let mut variables = vec![("PELLUCID_CAPTURE", text.as_str())];
        variables.extend(skip.map(|n| ("PELLUCID_CAPTURE_SKIP", n)));
        variables.extend(count.map(|n| ("PELLUCID_CAPTURE_COUNT", n)));
        let (output, said) = run("evaluates", &variables);
        assert!(output.status.success(), "{said}");
        assert_eq!(launches(&path), expected, "skip {skip:?}, count {count:?}");
        assert!(said.contains("captured") && said.contains("to "), "{said}");
    }
    let (path, text) = folder.path("past.pltrace");
    run("evaluates", &[("PELLUCID_CAPTURE", &text), ("PELLUCID_CAPTURE_SKIP", "100")]);
    assert!(!path.exists());
}

#[test]
fn of_a_program_with_sessions_the_first_or_the_chosen_ones_are_captured() {
    let folder = Folder::new();
    for (i, (skip, count, expected)) in
        [("0", None, 2), ("2", None, 2), ("0", Some("2"), 4)].into_iter().enumerate()
    {
        let (path, text) = folder.path(&format!("{i}.pltrace"));
        let mut variables = vec![("PELLUCID_CAPTURE", text.as_str()), ("PELLUCID_CAPTURE_SKIP", skip)];
        variables.extend(count.map(|n| ("PELLUCID_CAPTURE_COUNT", n)));
        let (output, said) = run("sessions", &variables);
        assert!(output.status.success(), "{said}");
        assert_eq!(launches(&path), expected, "skip {skip}, count {count:?}");
    }
}

#[test]
fn the_mode_is_chosen_and_nonsense_is_said_to_be() {
    let folder = Folder::new();
    let (path, text) = folder.path("mode.pltrace");
    run("evaluates", &[("PELLUCID_CAPTURE", &text), ("PELLUCID_CAPTURE_MODE", "timeline")]);
    assert_eq!(Trace::open(&path).unwrap().manifest().mode, capture::Mode::Timeline);
    let (path, text) = folder.path("odd.pltrace");
    let (output, said) = run(
        "evaluates",
        &[("PELLUCID_CAPTURE", &text), ("PELLUCID_CAPTURE_MODE", "loud"), ("PELLUCID_CAPTURE_SKIP", "x")],
    );
    assert!(output.status.success() && path.exists());
    assert!(
        said.contains("is not timeline, stats, replay or full") && said.contains("is not a number"),
        "{said}"
    );
    let (_, said) = run("evaluates", &[("PELLUCID_CAPTURE", &text)]);
    assert_eq!(times(&said, "exists already"), 1, "the work is done without a capture: {said}");
}

#[test]
fn a_killed_program_leaves_a_file_that_can_be_recovered() {
    let folder = Folder::new();
    let (path, text) = folder.path("killed.pltrace");
    let mut child =
        program("never ends", &[("PELLUCID_CAPTURE", &text)]).stdout(Stdio::null()).spawn().unwrap();
    let start = Instant::now();
    while std::fs::metadata(&path).map_or(0, |m| m.len()) < 100_000 {
        assert!(start.elapsed() < Duration::from_secs(60), "nothing is written");
        std::thread::sleep(Duration::from_millis(20));
    }
    // Tables are written a few times a second; elements of arrays at once.
    std::thread::sleep(Duration::from_secs(2));
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(matches!(Trace::open(&path), Err(pellucid_trace::Error::CutShort { .. })));
    let (saved, _) = folder.path("saved.pltrace");
    let recovered = pellucid_trace::recover(&path, &saved).unwrap();
    assert!(recovered.counts.launches > 0);
    let trace = Trace::open(&saved).unwrap();
    assert_eq!(trace.problems().unwrap(), (Vec::new(), 0));
    assert!(trace.manifest().partial);
}

#[test]
fn in_debug_mode_a_capture_holds_kernels_that_were_compiled_before_it() {
    for (variable, value, expected) in
        [("PELLUCID_DEBUG", "1", true), ("MLX_METAL_DEBUG", "1", true), ("PELLUCID_DEBUG", "0", false)]
    {
        let folder = Folder::new();
        let (path, text) = folder.path("debug.pltrace");
        let (output, said) = run("compiles, then captures", &[("TARGET", &text), (variable, value)]);
        assert!(output.status.success(), "{said}");
        let trace = Trace::open(&path).unwrap();
        let texts: Vec<_> = trace.kernels().map(|name| trace.kernel(name).unwrap()).collect();
        let exp = texts.iter().any(|text| text.contains("exp_(x0)"));
        assert_eq!(exp, expected, "{variable}={value}: {texts:?}");
    }
}

#[test]
fn a_warm_up_before_the_first_session_does_not_take_the_capture() {
    let folder = Folder::new();
    for (role, variables) in
        [("warms up", &[][..]), ("warms up", &[("PELLUCID_CAPTURE_COUNT", "1")]), ("warms up first", &[])]
    {
        let (path, text) = folder.path(&format!("{role}, {}.pltrace", variables.len()));
        let mut all = vec![("PELLUCID_CAPTURE", text.as_str())];
        all.extend(variables);
        let (output, said) = run(role, &all);
        assert!(output.status.success(), "{said}");
        assert_eq!(launches(&path), 2, "{role} {variables:?}: {said}");
        let (path, text) = folder.path(&format!("{role}, {}, by MLX's variable.pltrace", variables.len()));
        let mut all = vec![("MLX_METAL_CAPTURE", text.as_str()), ("MTL_CAPTURE_ENABLED", "1")];
        all.extend(variables);
        let (output, said) = run(role, &all);
        assert!(output.status.success(), "{said}");
        assert_eq!(launches(&path), 2, "{role} {variables:?}: {said}");
    }
}

#[test]
fn a_session_ends_when_all_its_streams_are_done() {
    let (output, said) = run("several streams", &[]);
    assert!(output.status.success(), "{said}");
}
