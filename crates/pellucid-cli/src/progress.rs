//! A bar for work that takes longer than a second; nothing before that, and nothing without a terminal.

use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};

/// Work of a known number of steps.
pub struct Progress {
    what: &'static str,
    steps: u64,
    done: u64,
    started: Instant,
    bar: Option<ProgressBar>,
}

impl Progress {
    /// Work that begins now.
    pub fn new(what: &'static str, steps: usize) -> Progress {
        Progress { what, steps: steps as u64, done: 0, started: Instant::now(), bar: None }
    }

    /// One step more is done.
    pub fn step(&mut self) {
        self.done += 1;
        if self.bar.is_none() && self.started.elapsed() > Duration::from_secs(1) {
            let bar = ProgressBar::new(self.steps).with_message(self.what);
            if let Ok(style) = ProgressStyle::with_template("{msg} {bar:40} {pos}/{len} {eta}") {
                bar.set_style(style);
            }
            self.bar = Some(bar);
        }
        if let Some(bar) = &self.bar {
            bar.set_position(self.done);
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}
