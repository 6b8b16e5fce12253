//! How a runner speaks with `cargo xtask bench`: lines on its standard input and output.
//!
//! A runner first prints `ready` and what it is. Then it answers each line
//! `run SECONDS REPEATS OPERATION NUMBER…` with one line: `ms` and the time of each repeat in milliseconds, `none` if
//! it has no such operation, or `error` and why. It repeats until the seconds are over, at least once and at most
//! `REPEATS` times, and keeps the inputs of the last case. It ends when its input does.

use std::fmt::Display;
use std::io::{BufRead, Write};
use std::time::{Duration, Instant};

/// An operation and the numbers that say how large it is, such as `matmul 1024`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Case {
    /// The name of the operation.
    pub operation: String,
    /// Its numbers, as many as the operation takes.
    pub sizes: Vec<usize>,
}

impl Case {
    /// The numbers as an array of a fixed length.
    ///
    /// # Errors
    /// If there are not exactly `N`.
    pub fn sizes<const N: usize>(&self) -> Result<[usize; N], String> {
        let wrong = |_| format!("{} takes {N} numbers, not {}", self.operation, self.sizes.len());
        self.sizes.as_slice().try_into().map_err(wrong)
    }
}

/// Work whose inputs are ready. One call runs it once, until the result is there, and gives the milliseconds that
/// count.
pub type Work = Box<dyn FnMut() -> Result<f64, String>>;

/// Turns a function into [`Work`] that is timed as a whole. The result is dropped after the time is taken.
pub fn timed<T, E: Display>(mut f: impl FnMut() -> Result<T, E> + 'static) -> Work {
    Box::new(move || {
        let start = Instant::now();
        let result = f().map_err(|e| e.to_string())?;
        let time = milliseconds(start.elapsed());
        drop(result);
        Ok(time)
    })
}

/// A duration in milliseconds.
pub fn milliseconds(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e3
}

/// Numbers from 0 to 1, the same in each run.
pub fn uniform(count: usize, seed: u64) -> Vec<f32> {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let next = || {
        // xorshift64*: the upper bits are good enough for inputs of a benchmark.
        state ^= state >> 12;
        state ^= state << 25;
        state ^= state >> 27;
        (state.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 40) as f32 / (1u64 << 24) as f32
    };
    std::iter::repeat_with(next).take(count).collect()
}

/// Answers requests until the input ends. `build` makes the work of a case, or `None` if it has no such operation.
///
/// # Errors
/// If the input cannot be read or the output cannot be written.
pub fn serve(
    greeting: &str,
    mut build: impl FnMut(&Case) -> Result<Option<Work>, String>,
) -> std::io::Result<()> {
    let mut out = std::io::stdout();
    writeln!(out, "ready {greeting}")?;
    out.flush()?;
    let mut current: Option<(Case, Option<Work>)> = None;
    for line in std::io::stdin().lock().lines() {
        let answer = answer(&line?, &mut current, &mut build);
        writeln!(out, "{}", answer.replace('\n', " "))?;
        out.flush()?;
    }
    Ok(())
}

fn answer(
    line: &str,
    current: &mut Option<(Case, Option<Work>)>,
    build: &mut impl FnMut(&Case) -> Result<Option<Work>, String>,
) -> String {
    match request(line).and_then(|request| perform(request, current, build)) {
        Ok(Some(times)) => {
            let times: Vec<String> = times.iter().map(|ms| format!("{ms:.7}")).collect();
            format!("ms {}", times.join(" "))
        }
        Ok(None) => "none".to_owned(),
        Err(why) => format!("error {why}"),
    }
}

struct Request {
    seconds: f64,
    repeats: usize,
    case: Case,
}

fn request(line: &str) -> Result<Request, String> {
    let wrong = || format!("not a request: {line}");
    let mut words = line.split_whitespace();
    if words.next() != Some("run") {
        return Err(wrong());
    }
    let seconds = words.next().and_then(|w| w.parse().ok()).ok_or_else(wrong)?;
    let repeats = words.next().and_then(|w| w.parse().ok()).ok_or_else(wrong)?;
    let operation = words.next().ok_or_else(wrong)?.to_owned();
    let sizes = words.map(|w| w.parse().map_err(|_| wrong())).collect::<Result<_, _>>()?;
    Ok(Request { seconds, repeats, case: Case { operation, sizes } })
}

fn perform(
    request: Request,
    current: &mut Option<(Case, Option<Work>)>,
    build: &mut impl FnMut(&Case) -> Result<Option<Work>, String>,
) -> Result<Option<Vec<f64>>, String> {
    if current.as_ref().is_none_or(|(case, _)| *case != request.case) {
        // The old inputs go before the new ones come: both may not fit.
        *current = None;
        let work = build(&request.case)?;
        *current = Some((request.case, work));
    }
    let Some((_, Some(work))) = current else { return Ok(None) };
    let start = Instant::now();
    let mut times = Vec::new();
    while times.is_empty()
        || (times.len() < request.repeats && start.elapsed().as_secs_f64() < request.seconds)
    {
        times.push(work()?);
    }
    Ok(Some(times))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn build(case: &Case) -> Result<Option<Work>, String> {
        match case.operation.as_str() {
            "count" => {
                let [first] = case.sizes()?;
                let mut next = first as f64;
                Ok(Some(Box::new(move || {
                    next += 1.0;
                    Ok(next)
                })))
            }
            "broken" => Err("no\nmemory".to_owned()),
            _ => Ok(None),
        }
    }

    #[test]
    fn a_request_is_repeated_and_keeps_its_inputs_until_another_case_comes() {
        let mut current = None;
        let mut ask = |line: &str| answer(line, &mut current, &mut build);
        assert_eq!(ask("run 9 2 count 5"), "ms 6.0000000 7.0000000");
        assert_eq!(ask("run 0 9 count 5"), "ms 8.0000000", "once, although no time is left");
        assert_eq!(ask("run 9 1 count 1"), "ms 2.0000000");
        assert_eq!(ask("run 9 1 count 5"), "ms 6.0000000");
    }

    #[test]
    fn what_cannot_be_run_is_said() {
        let mut current = None;
        let mut ask = |line: &str| answer(line, &mut current, &mut build);
        assert_eq!(ask("run 1 1 unknown 3"), "none");
        assert_eq!(ask("run 1 1 broken"), "error no\nmemory");
        assert_eq!(ask("run 1 1 count 3 4"), "error count takes 1 numbers, not 2");
        assert_eq!(ask("walk 1 1 count 3"), "error not a request: walk 1 1 count 3");
        assert_eq!(ask("run 1 1 count x"), "error not a request: run 1 1 count x");
    }

    #[test]
    fn inputs_are_the_same_each_time_and_between_zero_and_one() {
        let numbers = uniform(1000, 7);
        assert_eq!(numbers, uniform(1000, 7));
        assert_ne!(numbers, uniform(1000, 8));
        assert!(numbers.iter().all(|x| (0.0..1.0).contains(x)));
        let mean = numbers.iter().sum::<f32>() / 1000.0;
        assert!((mean - 0.5).abs() < 0.05, "{mean}");
    }
}
