//! Letting the subjects take turns.

use std::thread;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

use super::cases::Case;
use super::subject::{Answer, Subject};

/// How long and how often.
pub struct Pace {
    pub rounds: usize,
    /// Seconds of a turn; a turn is at least one repeat.
    turn: f64,
    warm_up: f64,
}

pub const FULL: Pace = Pace { rounds: 9, turn: 0.3, warm_up: 0.3 };
pub const QUICK: Pace = Pace { rounds: 3, turn: 0.08, warm_up: 0.04 };

/// Some libraries let their threads look for work for a while after an operation, OpenBLAS for 27 ms; the next subject
/// waits until they sleep.
const PAUSE: Duration = Duration::from_millis(35);

/// A subject whose one repeat takes longer than a turn by this factor gets one turn only after its warm-up.
const SLOW: f64 = 4.0;

/// Milliseconds of a repeat after which a subject gets no turn but its warm-up.
const VERY_SLOW: f64 = 2000.0;

/// The times of one subject in one case.
pub struct Times {
    pub subject: String,
    pub ms: Vec<f64>,
    /// Why there are none, unless it has no such operation.
    pub failure: Option<String>,
}

pub struct Figures {
    pub case: &'static Case,
    /// Pellucid first, then its peers.
    pub times: Vec<Times>,
}

pub fn run(subjects: &mut [Subject], cases: &[&'static Case], pace: &Pace) -> Vec<Figures> {
    let bar = ProgressBar::new(cases.len() as u64);
    if let Ok(style) = ProgressStyle::with_template("{bar:32} {pos}/{len} {elapsed} {wide_msg}") {
        bar.set_style(style);
    }
    let figures = cases
        .iter()
        .map(|case| {
            if bar.is_hidden() {
                println!("{}/{} {}", bar.position() + 1, cases.len(), case.name);
            }
            let figures = measure(subjects, case, pace, &bar);
            bar.inc(1);
            figures
        })
        .collect();
    bar.finish_and_clear();
    figures
}

fn measure(subjects: &mut [Subject], case: &'static Case, pace: &Pace, bar: &ProgressBar) -> Figures {
    let mut turns_left = vec![pace.rounds; subjects.len()];
    let mut times = Vec::new();
    for (subject, left) in subjects.iter_mut().zip(&mut turns_left) {
        bar.set_message(format!("{}, {}: warm-up", case.name, subject.name));
        // The first call may compile or tune for minutes; only the second says how slow it is.
        let first = subject.run(case.request, 0.0);
        let second = matches!(first, Answer::Times(_)).then(|| subject.run(case.request, pace.warm_up));
        let (ms, failure) = match second.unwrap_or(first) {
            Answer::Times(ms) if ms.iter().all(|&t| t > SLOW * pace.turn * 1e3) => {
                // One that takes seconds is far behind; its warm-up says enough.
                *left = usize::from(ms.iter().all(|&t| t < VERY_SLOW));
                (ms, None)
            }
            Answer::Times(_) => (Vec::new(), None),
            Answer::Absent => {
                *left = 0;
                (Vec::new(), None)
            }
            Answer::Failed(why) => {
                *left = 0;
                (Vec::new(), Some(why))
            }
        };
        times.push(Times { subject: subject.name.clone(), ms, failure });
    }
    for round in 0..pace.rounds {
        for i in 0..subjects.len() {
            // Nobody always follows the same neighbour.
            let turn = (i + round) % subjects.len();
            if turns_left[turn] == 0 {
                continue;
            }
            turns_left[turn] -= 1;
            let subject = &mut subjects[turn];
            bar.set_message(format!(
                "{}, {}: turn {} of {}",
                case.name,
                subject.name,
                round + 1,
                pace.rounds
            ));
            thread::sleep(PAUSE);
            match subject.run(case.request, pace.turn) {
                Answer::Times(ms) => times[turn].ms.extend(ms),
                Answer::Absent => turns_left[turn] = 0,
                Answer::Failed(why) => {
                    turns_left[turn] = 0;
                    times[turn].failure = Some(why);
                }
            }
        }
    }
    Figures { case, times }
}
