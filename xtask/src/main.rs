//! The project's tasks, run as `cargo xtask <task>`. Each task is one module under `task/`.
//!
//! Exit codes: 0 good, 1 something failed, 2 the task could not run.

mod need;
mod process;
mod step;
mod summary;
mod task;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

#[derive(Parser)]
#[command(name = "cargo xtask", about = "The tasks of the Pellucid project")]
struct Cli {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Run every check of the project; install what is missing
    Test(task::test::Args),
    /// Measure how exact the float functions are
    Accuracy(task::accuracy::Args),
    /// Measure Pellucid beside its peers
    Bench(task::bench::Args),
    /// Measure what captures cost
    BenchCapture,
    /// Measure the summary of a trace of a million launches
    BenchTrace(task::bench_trace::Args),
    /// Type-check the library for macOS and Windows
    CheckTargets,
    /// Pack what is published, unpack it elsewhere, build and try it
    Package,
    /// Build the browser viewer
    Viewer,
    /// Compile the viewer's analysis to WebAssembly
    Wasm,
    /// Install everything that the other tasks need
    Setup,
}

fn main() -> ExitCode {
    let result = match Cli::parse().task {
        Task::Test(args) => return task::test::run(&args),
        Task::Setup => return task::setup::run(),
        Task::Accuracy(args) => task::accuracy::run(&args),
        Task::Bench(args) => task::bench::run(&args),
        Task::BenchCapture => task::bench_capture::run(),
        Task::BenchTrace(args) => task::bench_trace::run(&args),
        Task::CheckTargets => task::check_targets::run().map(drop),
        Task::Package => task::package::run(),
        Task::Viewer => task::viewer::run(),
        Task::Wasm => task::wasm::run(),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("error: {failure}");
            failure.exit_code()
        }
    }
}
