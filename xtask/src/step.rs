//! One step of `cargo xtask test`: what it needs, what it runs, how it ended.

use std::time::{Duration, Instant};

use crate::need::{self, Need};
use crate::process::{self, Failure, Result};
use crate::summary::Tally;

/// A row of the table in `task/test.rs`.
pub struct Step {
    pub name: &'static str,
    pub needs: &'static [Need],
    pub run: Run,
}

/// What a step does.
pub enum Run {
    /// `cargo` with these arguments.
    Cargo(&'static [&'static str]),
    /// The Rust tests of the workspace whose names the filter selects.
    Tests(Filter),
    /// `cargo doc`; a warning is an error.
    Doc,
    /// A function of this program.
    Task(fn() -> Result<Tally>),
    /// Like `Task`, but takes so long that it only runs on a build server or when asked for by name.
    CiTask(fn() -> Result<Tally>),
    /// Like `Task`, but compiles so much anew that it only runs when asked for by name.
    NamedTask(fn() -> Result<Tally>),
}

/// Which Rust tests to run. A test with `needs_` in its name needs something that may be missing.
pub enum Filter {
    /// Those that need nothing but Rust.
    Plain,
    /// Those with this text in their names.
    Named(&'static str),
}

/// What keeps a step from running every time.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Only {
    /// It runs on a build server, or when asked for by name.
    Ci,
    /// It runs when asked for by name.
    Named,
}

/// How a step ended.
pub enum Outcome {
    Ran(Tally),
    Skipped(String),
}

/// A step that has ended.
pub struct Finished {
    pub name: &'static str,
    pub outcome: Outcome,
    pub time: Duration,
    /// Why it failed, if it did.
    pub message: Option<String>,
}

impl Step {
    pub const fn new(name: &'static str, needs: &'static [Need], run: Run) -> Step {
        Step { name, needs, run }
    }

    /// When the step runs without being asked for by name; `None` if always.
    pub fn only(&self) -> Option<Only> {
        match self.run {
            Run::CiTask(_) => Some(Only::Ci),
            Run::NamedTask(_) => Some(Only::Named),
            _ => None,
        }
    }

    /// Gets what the step needs and runs it. Something missing is a failure if `strict`, else the step is skipped.
    pub fn execute(&self, strict: bool) -> Finished {
        let start = Instant::now();
        let result = self.needs.iter().try_for_each(|need| need.ensure()).and_then(|()| self.work(strict));
        let (outcome, message) = judge(result, strict);
        Finished { name: self.name, outcome, time: start.elapsed(), message }
    }

    fn work(&self, strict: bool) -> Result<Tally> {
        let mut command = match &self.run {
            Run::Task(task) | Run::CiTask(task) | Run::NamedTask(task) => return task(),
            Run::Cargo(args) => process::cargo(args),
            Run::Tests(filter) => process::cargo(&test_arguments(filter)),
            Run::Doc => {
                let mut doc = process::cargo(&["doc", "--workspace", "--no-deps"]);
                doc.env("RUSTDOCFLAGS", "-D warnings");
                doc
            }
        };
        if let Some(path) = need::search_path(self.needs) {
            command.env("PATH", path);
        }
        let tally = process::run(&mut command)?;
        if let Run::Tests(Filter::Named(name)) = self.run
            && tally.total() == 0
        {
            let message = format!("no test has `{name}` in its name");
            return Err(if strict { Failure::failed(message) } else { Failure::Missing(message) });
        }
        Ok(tally)
    }
}

/// A step without tests of its own counts as one test; so does a failure outside of the tests, such as a compile error.
fn judge(result: Result<Tally>, strict: bool) -> (Outcome, Option<String>) {
    match result {
        Ok(tally) if tally.total() == 0 => (Outcome::Ran(Tally::PASS), None),
        Ok(tally) => (Outcome::Ran(tally), None),
        Err(Failure::Missing(what)) if !strict => (Outcome::Skipped(what), None),
        Err(Failure::Missing(what)) => (Outcome::Ran(Tally::FAIL), Some(what)),
        Err(Failure::Failed(message, mut tally)) => {
            if tally.failed == 0 {
                tally.failed = 1;
            }
            (Outcome::Ran(tally), Some(message))
        }
    }
}

/// All tests but documentation tests, which have a step of their own. One process for each test program: a device is
/// opened once, not for every test.
fn test_arguments(filter: &Filter) -> Vec<&'static str> {
    let mut args = vec!["test", "--workspace", "--no-fail-fast", "--lib", "--bins", "--tests"];
    // Only an interpreter can load the Python module; `python-tests` does.
    args.extend(["--exclude", "pellucid-python", "--"]);
    match filter {
        Filter::Plain => args.extend(["--skip", "needs_"]),
        Filter::Named(name) => args.push(name),
    }
    args
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(result: Result<Tally>, strict: bool) -> Option<(u64, u64)> {
        match judge(result, strict).0 {
            Outcome::Ran(tally) => Some((tally.passed, tally.failed)),
            Outcome::Skipped(_) => None,
        }
    }

    #[test]
    fn a_step_without_tests_counts_as_one() {
        assert_eq!(counts(Ok(Tally::default()), true), Some((1, 0)));
        assert_eq!(counts(Err(Failure::failed("fmt")), true), Some((0, 1)));
    }

    #[test]
    fn a_failure_outside_of_the_tests_is_counted() {
        let tally = Tally { passed: 7, failed: 0 };
        assert_eq!(counts(Err(Failure::Failed("does not compile".to_owned(), tally)), true), Some((7, 1)));
    }

    #[test]
    fn a_failed_test_is_counted_once() {
        let tally = Tally { passed: 7, failed: 2 };
        assert_eq!(counts(Err(Failure::Failed("exit status: 101".to_owned(), tally)), true), Some((7, 2)));
    }

    #[test]
    fn something_missing_is_a_failure_only_where_nothing_may_be_skipped() {
        let missing = || Err(Failure::Missing("graphviz".to_owned()));
        assert_eq!(counts(missing(), true), Some((0, 1)));
        assert_eq!(counts(missing(), false), None);
    }

    #[test]
    fn plain_tests_leave_out_those_that_need_something() {
        assert!(test_arguments(&Filter::Plain).ends_with(&["--", "--skip", "needs_"]));
        assert!(test_arguments(&Filter::Named("needs_x")).ends_with(&["--", "needs_x"]));
    }
}
