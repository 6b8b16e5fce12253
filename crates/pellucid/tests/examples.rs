//! The examples that teach, run as tests: each checks what it has computed.
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use parking_lot::Mutex;

#[path = "../examples/k_means.rs"]
mod k_means;
#[path = "../examples/linear_regression.rs"]
mod linear_regression;
#[path = "../examples/mlp.rs"]
mod mlp;
#[path = "../examples/n_body.rs"]
mod n_body;
#[path = "../examples/query_a_trace.rs"]
mod query_a_trace;
#[path = "../examples/streams_and_threads.rs"]
mod streams_and_threads;
#[path = "../examples/wgsl_kernel.rs"]
mod wgsl_kernel;

/// One at a time: a capture sees everything that the process does.
static TURN: Mutex<()> = Mutex::new(());

#[test]
fn k_means_runs() {
    let _turn = TURN.lock();
    k_means::main().unwrap();
}

#[test]
fn linear_regression_runs() {
    let _turn = TURN.lock();
    linear_regression::main().unwrap();
}

#[test]
fn mlp_runs() {
    let _turn = TURN.lock();
    mlp::main().unwrap();
}

#[test]
fn n_body_runs() {
    let _turn = TURN.lock();
    n_body::main().unwrap();
}

#[test]
fn query_a_trace_runs() {
    let _turn = TURN.lock();
    query_a_trace::main().unwrap();
}

#[test]
fn streams_and_threads_runs() {
    let _turn = TURN.lock();
    streams_and_threads::main().unwrap();
}

#[test]
fn wgsl_kernel_runs() {
    let _turn = TURN.lock();
    wgsl_kernel::main().unwrap();
}
