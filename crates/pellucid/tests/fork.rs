//! What a forked child can do: all of it, or nothing, but it is never left waiting. Each test starts this very program
//! again in a role, because a fork copies whatever else the process does.
#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use std::process::{Command, Output};
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering};

use pellucid::capture;
use pellucid::{
    Array, Device, Dtype, Error, async_eval, is_available, memory, new_stream, ops, with_device, with_stream,
};
use pellucid_trace::Trace;

/// Forks; the child runs `f` and ends with what it returns, or by a signal if that takes longer than a minute.
fn child(f: impl FnOnce() -> bool) -> bool {
    // SAFETY: the child only runs `f`, which this file is about, and ends without returning.
    let pid = unsafe { libc::fork() };
    assert!(pid >= 0, "cannot fork");
    if pid == 0 {
        // SAFETY: both only take numbers.
        unsafe {
            libc::alarm(60);
            let good = std::panic::catch_unwind(std::panic::AssertUnwindSafe(f)).unwrap_or(false);
            libc::_exit(i32::from(!good));
        }
    }
    let mut status = 0;
    // SAFETY: `status` is a place for a number.
    unsafe { libc::waitpid(pid, &raw mut status, 0) };
    libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 0
}

/// Evaluates in every way that needs threads: a large kernel, several streams, nobody waiting.
fn works() -> bool {
    let large = ops::full([1 << 21], 0.5f32, Dtype::Float32);
    let sum = ops::sum(&ops::exp(&large), pellucid::Axes::All, false);
    let side = new_stream(Device::cpu()).unwrap();
    let beside = with_stream(side, || ops::add(&Array::from([1, 2]), 1));
    async_eval([&beside]);
    let together = ops::add(&beside, 1);
    let expected = f64::from(1 << 21) * 0.5f64.exp();
    let near = (f64::from(sum.item::<f32>().unwrap()) / expected - 1.0).abs() < 1e-4;
    near && together.to_vec::<i32>().unwrap() == [3, 4]
}

/// Whether everything that would have to wait for somebody fails at once.
fn is_cut_off(ready: &Array) -> bool {
    let is_forked = |error: &Error| matches!(error.root(), Error::Forked { .. });
    let evaluated = ops::add(ready, 1.0).eval();
    let synchronized = pellucid::synchronize(None);
    let captured = capture::start("/tmp/never.pltrace");
    let text = synchronized.as_ref().unwrap_err().to_string();
    // Figures can be read, and what lies in the host's memory unless a thread was just looking at it; arrays can be
    // dropped.
    let _ = (memory::get_active_memory(), memory::report());
    let read =
        ready.to_vec::<f32>().map_or_else(|error| is_forked(&error), |elements| elements == [1.0, 2.0]);
    drop(ready.clone());
    [evaluated, synchronized, captured].iter().all(|r| r.as_ref().is_err_and(is_forked))
        && text.contains("spawn")
        && !capture::is_capturing()
        && read
}

fn ready() -> Array {
    let ready = ops::add(&Array::from([0.0f32, 1.0]), 1.0);
    ready.eval().unwrap();
    ready
}

#[test]
#[ignore = "started by the other tests"]
fn role() {
    match std::env::var("ROLE").unwrap_or_default().as_str() {
        "quiet" => {
            assert!(works());
            for _ in 0..20 {
                assert!(child(works));
                assert!(works());
            }
            // And the child of a child.
            assert!(child(|| works() && child(works)));
        }
        "unused" => assert!(child(works)),
        "evaluating" => {
            let (done, kept) = (AtomicBool::new(false), ready());
            let begun = Barrier::new(4);
            std::thread::scope(|scope| {
                let evaluate = || {
                    ready();
                    begun.wait();
                    while !done.load(Ordering::Relaxed) {
                        ops::tanh(&ops::add(&kept, 1.0)).eval().unwrap();
                    }
                };
                let threads: Vec<_> = (0..3).map(|_| scope.spawn(evaluate)).collect();
                begun.wait();
                let good = (0..150).filter(|_| child(|| is_cut_off(&kept))).count();
                done.store(true, Ordering::Relaxed);
                threads.into_iter().for_each(|thread| thread.join().unwrap());
                assert_eq!(good, 150);
            });
            // The threads have ended.
            assert!(child(works));
        }
        "gpu" => {
            let kept = ready();
            let there = with_device(Device::gpu(), || ops::add(&Array::from([1.0f32]), 1.0)).unwrap();
            there.eval().unwrap();
            for _ in 0..5 {
                assert!(child(|| is_cut_off(&kept) && matches!(there.eval(), Err(Error::Forked { .. }))));
            }
            assert_eq!(there.to_vec::<f32>().unwrap(), [2.0], "the parent goes on");
        }
        "captured" => {
            let path = std::env::var("TARGET").unwrap();
            capture::start(&path).unwrap();
            ready();
            assert!(child(|| works() && !capture::is_capturing() && capture::stop().is_err()));
            ready();
            assert_eq!(capture::stop().unwrap().launches, 2);
        }
        _ => {}
    }
}

fn run(role: &str, target: &str) -> Output {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "role", "--ignored", "--nocapture"]).env("ROLE", role).env("TARGET", target);
    command.output().unwrap()
}

fn assert_runs(role: &str, target: &str) {
    let output = run(role, target);
    assert!(output.status.success(), "{role}: {}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn the_child_of_a_process_that_is_at_rest_works() {
    assert_runs("quiet", "");
    assert_runs("unused", "");
}

#[test]
fn the_child_of_a_process_whose_threads_evaluate_fails_at_once_with_advice() {
    assert_runs("evaluating", "");
}

#[test]
fn the_child_of_a_process_that_used_a_gpu_fails_at_once_with_advice() {
    if is_available(Device::gpu()) {
        assert_runs("gpu", "");
    } else {
        assert!(std::env::var_os("PELLUCID_REQUIRE_GPU").is_none(), "there is no GPU");
    }
}

#[test]
fn a_child_is_not_captured_and_leaves_its_parents_file_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("parent.pltrace");
    assert_runs("captured", path.to_str().unwrap());
    let trace = Trace::open(&path).unwrap();
    assert_eq!(trace.problems().unwrap(), (Vec::new(), 0));
    assert_eq!(trace.manifest().counts.launches, 2);
}
