//! Schedules: learning rates that change with the step.

use std::fmt;
use std::sync::Arc;

use pellucid::{Array, ops};

/// A function of the number of steps that were made, to be given to an optimiser in the place of a number.
#[derive(Clone)]
pub struct Schedule(Arc<dyn Fn(&Array) -> Array + Send + Sync>);

impl Schedule {
    /// A schedule of one's own. It gets the number of steps as an array, so that it can be compiled.
    pub fn new(f: impl Fn(&Array) -> Array + Send + Sync + 'static) -> Schedule {
        Schedule(Arc::new(f))
    }

    /// The value at a step.
    #[track_caller]
    pub fn at(&self, step: &Array) -> Array {
        (self.0)(step)
    }
}

impl fmt::Debug for Schedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Schedule")
    }
}

/// A learning rate: a number or a [`Schedule`].
#[derive(Clone, Debug)]
pub enum Rate {
    /// The same for all steps.
    Number(f64),
    /// By the step.
    Schedule(Schedule),
}

impl From<f64> for Rate {
    fn from(rate: f64) -> Rate {
        Rate::Number(rate)
    }
}

impl From<Schedule> for Rate {
    fn from(schedule: Schedule) -> Rate {
        Rate::Schedule(schedule)
    }
}

/// `init · decayˢᵗᵉᵖ`
pub fn exponential_decay(init: f64, decay: f64) -> Schedule {
    Schedule::new(move |step| init * ops::power(decay, step))
}

/// `init`, multiplied by `decay` after every `every` steps.
pub fn step_decay(init: f64, decay: f64, every: u64) -> Schedule {
    Schedule::new(move |step| init * ops::power(decay, ops::floor_divide(step, every.max(1))))
}

/// From `init` to `end` in so many steps along half a period of a cosine, and then `end`.
pub fn cosine_decay(init: f64, steps: u64, end: f64) -> Schedule {
    Schedule::new(move |step| {
        let share = ops::minimum(step, steps) * (std::f64::consts::PI / steps.max(1) as f64);
        end + 0.5 * (1.0 + ops::cos(&share)) * (init - end)
    })
}

/// From `init` to `end` in so many equal steps, and then `end`: to warm up, for example.
pub fn linear(init: f64, end: f64, steps: u64) -> Schedule {
    Schedule::new(move |step| ops::minimum(step, steps) * ((end - init) / steps.max(1) as f64) + init)
}

/// One schedule, and others that follow from their steps on, each counting steps from there.
///
/// ```
/// use pellucid_nn::prelude::*;
/// # fn main() -> pellucid::Result<()> {
/// let warm = schedules::linear(0.0, 0.1, 10);
/// let rate = schedules::join(warm, [(10, schedules::exponential_decay(0.1, 0.9))]);
/// assert!((rate.at(&Array::from(5u64)).item::<f32>()? - 0.05).abs() < 1e-6);
/// assert!((rate.at(&Array::from(11u64)).item::<f32>()? - 0.09).abs() < 1e-6);
/// # Ok(())
/// # }
/// ```
pub fn join(first: Schedule, others: impl IntoIterator<Item = (u64, Schedule)>) -> Schedule {
    let others: Vec<(u64, Schedule)> = others.into_iter().collect();
    Schedule::new(move |step| {
        let mut value = first.at(step);
        for (start, following) in &others {
            // Before its start a schedule is not asked for steps below zero: those wrap around and are not chosen.
            value = ops::where_(&ops::less(step, *start), value, following.at(&(step - *start)));
        }
        value
    })
}
