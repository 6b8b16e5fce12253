//! `cargo xtask test`: every check of the project, in order. To add one, add a row to [`STEPS`].

use std::process::ExitCode;

use super::{
    check_targets, features, file_length, file_tests, package, python_tests, trace_tests, viewer, wasm,
};
use crate::need::{CLIPPY, GRAPHVIZ, RUSTFMT, VULKAN_DRIVER};
use crate::process;
use crate::step::{Filter, Finished, Only, Outcome, Run, Step};
use crate::summary::Tally;

/// Name, what it needs, what it runs.
#[rustfmt::skip]
pub const STEPS: &[Step] = &[
    Step::new("fmt", &[RUSTFMT], Run::Cargo(&["fmt", "--all", "--check"])),
    Step::new("clippy", &[CLIPPY], Run::Cargo(&["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"])),
    Step::new("features", &[CLIPPY], Run::NamedTask(features::run)),
    Step::new("tests", &[VULKAN_DRIVER], Run::Tests(Filter::Plain)),
    Step::new("graph-tests", &[GRAPHVIZ], Run::Tests(Filter::Named("needs_graphviz"))),
    Step::new("file-tests", file_tests::NEEDS, Run::Task(file_tests::run)),
    Step::new("trace-tests", trace_tests::NEEDS, Run::Task(trace_tests::run)),
    Step::new("python-tests", python_tests::NEEDS, Run::Task(python_tests::run)),
    Step::new("doc-tests", &[VULKAN_DRIVER], Run::Cargo(&["test", "--workspace", "--exclude", "pellucid-python", "--doc", "--no-fail-fast"])),
    Step::new("doc", &[], Run::Doc),
    Step::new("file-length", &[], Run::Task(file_length::run)),
    Step::new("viewer-analysis", &[], Run::Task(wasm::check)),
    Step::new("viewer-tests", viewer::TEST_NEEDS, Run::Task(viewer::test)),
    Step::new("package", package::NEEDS, Run::NamedTask(package::check)),
    Step::new("check-targets", &[], Run::CiTask(check_targets::run)),
];

#[derive(clap::Args)]
pub struct Args {
    /// Run only the step of this name; may be given several times
    #[arg(long, value_name = "NAME")]
    only: Vec<String>,
    /// Show the steps and what they need, and run none
    #[arg(long)]
    list: bool,
}

pub fn run(args: &Args) -> ExitCode {
    if args.list {
        list();
        return ExitCode::SUCCESS;
    }
    if let Some(unknown) = args.only.iter().find(|name| STEPS.iter().all(|step| step.name != **name)) {
        let names: Vec<_> = STEPS.iter().map(|step| step.name).collect();
        eprintln!("error: there is no step `{unknown}`; the steps are {}", names.join(", "));
        return ExitCode::from(2);
    }
    let strict = process::is_ci();
    let chosen = |step: &&Step| match args.only.as_slice() {
        [] => step.only().is_none_or(|only| only == Only::Ci && strict),
        only => only.iter().any(|name| name == step.name),
    };
    let finished: Vec<Finished> = STEPS.iter().filter(chosen).map(|step| announce(step, strict)).collect();
    report(&finished)
}

fn list() {
    for step in STEPS {
        let mut notes: Vec<String> = step.needs.iter().map(|need| need.name()).collect();
        match step.only() {
            Some(Only::Ci) => notes.push("only with CI=true or --only".to_owned()),
            Some(Only::Named) => notes.push("only with --only".to_owned()),
            None => {}
        }
        println!("{:<14} {}", step.name, notes.join(", "));
    }
}

fn announce(step: &Step, strict: bool) -> Finished {
    println!("\n==== {} ====", step.name);
    let finished = step.execute(strict);
    match (&finished.outcome, &finished.message) {
        (Outcome::Skipped(why), _) => println!("skipped: {why}"),
        (Outcome::Ran(_), Some(message)) => println!("failed: {message}"),
        (Outcome::Ran(_), None) => {}
    }
    finished
}

/// Prints the table and, as the last line, the sums.
fn report(finished: &[Finished]) -> ExitCode {
    println!("\n{:<14} {:>9}  {:>7}  {:>7}", "step", "time", "passed", "failed");
    for step in finished {
        let time = format!("{:.1} s", step.time.as_secs_f64());
        match &step.outcome {
            Outcome::Ran(tally) => {
                println!("{:<14} {time:>9}  {:>7}  {:>7}", step.name, tally.passed, tally.failed);
            }
            Outcome::Skipped(why) => println!("{:<14} {time:>9}  skipped: {why}", step.name),
        }
    }
    let sum = sum(finished);
    println!("\n{} passed, {} failed", sum.passed, sum.failed);
    if sum.failed > 0 || sum.passed == 0 { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

fn sum(finished: &[Finished]) -> Tally {
    let mut sum = Tally::default();
    for step in finished {
        if let Outcome::Ran(tally) = step.outcome {
            sum.add(tally);
        }
    }
    sum
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn every_step_has_a_name_of_its_own() {
        for (i, step) in STEPS.iter().enumerate() {
            assert!(STEPS[..i].iter().all(|other| other.name != step.name), "{}", step.name);
        }
    }

    #[test]
    fn skipped_steps_add_nothing() {
        let ended = |outcome| Finished { name: "x", outcome, time: Duration::ZERO, message: None };
        let steps = [
            ended(Outcome::Ran(Tally { passed: 3, failed: 1 })),
            ended(Outcome::Skipped("missing".to_owned())),
            ended(Outcome::Ran(Tally::PASS)),
        ];
        assert_eq!(sum(&steps), Tally { passed: 4, failed: 1 });
    }
}
