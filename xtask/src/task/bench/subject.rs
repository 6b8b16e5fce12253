//! One library in a process of its own, asked over its standard input and output; `bench/protocol` says how.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use super::install::Program;

/// No turn takes this long; a runner that does is stuck.
const PATIENCE: Duration = Duration::from_secs(300);

pub struct Subject {
    pub name: String,
    pub version: String,
    child: Child,
    requests: ChildStdin,
    answers: Receiver<String>,
}

/// What a runner said about a case.
#[derive(Debug, PartialEq)]
pub enum Answer {
    Times(Vec<f64>),
    /// It has no such operation.
    Absent,
    Failed(String),
}

impl Subject {
    pub fn start(program: &Program) -> Result<Subject, String> {
        let mut command = Command::new(&program.path);
        command.args(&program.args).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child =
            command.spawn().map_err(|e| format!("cannot start {}: {e}", program.path.display()))?;
        let (Some(requests), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
            return Err("its input and output are not there".to_owned());
        };
        let (sender, answers) = channel();
        thread::spawn(move || {
            for line in BufReader::new(output).lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    return;
                }
            }
        });
        let mut subject =
            Subject { name: program.name.to_owned(), version: String::new(), child, requests, answers };
        let greeting = subject.line()?;
        let version = greeting.strip_prefix("ready ").ok_or_else(|| format!("it said: {greeting}"))?;
        subject.version = version.to_owned();
        Ok(subject)
    }

    /// Lets it repeat a case until the seconds are over, at least once.
    pub fn run(&mut self, request: &str, seconds: f64) -> Answer {
        const REPEATS: usize = 20_000;
        let sent =
            writeln!(self.requests, "run {seconds} {REPEATS} {request}").and_then(|()| self.requests.flush());
        if let Err(e) = sent {
            return Answer::Failed(format!("it ended: {e}"));
        }
        match self.line() {
            Ok(line) => parse(&line),
            Err(why) => Answer::Failed(why),
        }
    }

    fn line(&mut self) -> Result<String, String> {
        self.answers.recv_timeout(PATIENCE).map_err(|e| match e {
            RecvTimeoutError::Disconnected => match self.child.wait() {
                Ok(status) => format!("it ended with {status}"),
                Err(e) => format!("it ended: {e}"),
            },
            RecvTimeoutError::Timeout => {
                // A late answer would be taken for that of another case.
                let _ = self.child.kill();
                format!("no answer within {} s", PATIENCE.as_secs())
            }
        })
    }
}

impl Drop for Subject {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn parse(line: &str) -> Answer {
    let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
    match word {
        "ms" => match rest.split_whitespace().map(str::parse).collect::<Result<Vec<f64>, _>>() {
            Ok(times) if !times.is_empty() => Answer::Times(times),
            _ => Answer::Failed(format!("not times: {rest}")),
        },
        "none" => Answer::Absent,
        "error" => Answer::Failed(rest.to_owned()),
        _ => Answer::Failed(format!("it said: {line}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_times_absence_or_a_failure() {
        assert_eq!(parse("ms 1.5 0.25"), Answer::Times(vec![1.5, 0.25]));
        assert_eq!(parse("none"), Answer::Absent);
        assert_eq!(parse("error no memory"), Answer::Failed("no memory".to_owned()));
        assert_eq!(parse("ms"), Answer::Failed("not times: ".to_owned()));
        assert_eq!(parse("hello"), Answer::Failed("it said: hello".to_owned()));
    }
}
