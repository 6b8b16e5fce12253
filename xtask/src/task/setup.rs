//! `cargo xtask setup`: installs everything that the tasks need.

use std::process::ExitCode;

use super::{bench, test, viewer};
use crate::need::{self, Need};

pub fn run() -> ExitCode {
    let mut needs: Vec<Need> = Vec::new();
    let steps = test::STEPS.iter().flat_map(|step| step.needs);
    for need in need::ALL.iter().chain(steps).chain(bench::needs()).chain(viewer::needs()) {
        if !needs.contains(need) {
            needs.push(*need);
        }
    }
    let results: Vec<_> = needs.iter().map(|need| (need.name(), need.ensure())).collect();
    println!();
    for (name, result) in &results {
        match result {
            Ok(()) => println!("{name}: ready"),
            Err(failure) => println!("{name}: {failure}"),
        }
    }
    if results.iter().all(|(_, result)| result.is_ok()) { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
