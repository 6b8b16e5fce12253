//! Running commands: their output goes straight to ours, and is read for test summaries on the way.

use std::fmt;
use std::io::{BufRead, BufReader, IsTerminal, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::sync::Mutex;
use std::thread;

use crate::summary::{Counter, Tally};

/// Why a task or a step did not succeed.
#[derive(Debug)]
pub enum Failure {
    /// Something it needs is not there and could not be installed; the text says what to do.
    Missing(String),
    /// It ran and failed, with the numbers of tests counted until then.
    Failed(String, Tally),
}

impl Failure {
    pub fn failed(message: impl Into<String>) -> Failure {
        Failure::Failed(message.into(), Tally::default())
    }

    pub fn exit_code(&self) -> ExitCode {
        match self {
            Failure::Missing(_) => ExitCode::from(2),
            Failure::Failed(..) => ExitCode::FAILURE,
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Missing(text) | Failure::Failed(text, _) => f.write_str(text),
        }
    }
}

pub type Result<T> = std::result::Result<T, Failure>;

/// True on a build server, where nothing may be skipped.
pub fn is_ci() -> bool {
    std::env::var("CI").is_ok_and(|v| !matches!(v.as_str(), "" | "0" | "false"))
}

/// The root folder of the project.
pub fn root() -> PathBuf {
    let xtask = Path::new(env!("CARGO_MANIFEST_DIR"));
    xtask.parent().unwrap_or(xtask).to_path_buf()
}

/// The cargo that started this program, in the root folder.
pub fn cargo(args: &[&str]) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(args).current_dir(root());
    if std::io::stderr().is_terminal() {
        // Its output is a pipe to us, but ends on a terminal.
        command.env("CARGO_TERM_COLOR", "always");
    }
    command
}

/// True if a program of this name is in the search path.
pub fn has_program(name: &str) -> bool {
    let Some(path) = std::env::var_os("PATH") else { return false };
    let file = format!("{name}{}", std::env::consts::EXE_SUFFIX);
    std::env::split_paths(&path).any(|folder| folder.join(&file).is_file())
}

/// True if the command starts and succeeds; its output is dropped.
pub fn succeeds(program: &str, args: &[&str]) -> bool {
    let mut command = Command::new(program);
    command.args(args).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

/// Runs the command with its output on ours. Gives the numbers of tests it reported, which may be zero.
pub fn run(command: &mut Command) -> Result<Tally> {
    let text = describe(command);
    println!("$ {text}");
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|e| Failure::failed(format!("cannot start `{text}`: {e}")))?;
    let counter = Mutex::new(Counter::default());
    thread::scope(|scope| {
        if let Some(stream) = child.stderr.take() {
            scope.spawn(|| forward(stream, std::io::stderr(), &counter));
        }
        if let Some(stream) = child.stdout.take() {
            forward(stream, std::io::stdout(), &counter);
        }
    });
    let status = child.wait().map_err(|e| Failure::failed(format!("lost `{text}`: {e}")))?;
    let tally = counter.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner()).tally();
    if status.success() { Ok(tally) } else { Err(Failure::Failed(format!("`{text}`: {status}"), tally)) }
}

/// Copies line by line, so that lines of the two streams never mix.
fn forward(from: impl Read, mut to: impl Write, counter: &Mutex<Counter>) {
    let mut from = BufReader::new(from);
    let mut line = Vec::new();
    while from.read_until(b'\n', &mut line).is_ok_and(|n| n > 0) {
        // Nobody may be reading any more; the command still has to be drained and counted.
        let _ = to.write_all(&line).and_then(|()| to.flush());
        if let Ok(mut counter) = counter.lock() {
            counter.line(&String::from_utf8_lossy(&line));
        }
        line.clear();
    }
}

/// The command as a person would type it.
fn describe(command: &Command) -> String {
    let mut words: Vec<String> = command
        .get_envs()
        .filter(|(key, _)| *key != "CARGO_TERM_COLOR" && *key != "PATH")
        .filter_map(|(key, value)| {
            Some(format!("{}={}", key.to_string_lossy(), quote(&value?.to_string_lossy())))
        })
        .collect();
    let program = Path::new(command.get_program());
    words.push(program.file_name().unwrap_or(program.as_os_str()).to_string_lossy().into_owned());
    words.extend(command.get_args().map(|a| quote(&a.to_string_lossy())));
    words.join(" ")
}

fn quote(word: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "-_=./:,+@".contains(c);
    if !word.is_empty() && word.chars().all(plain) { word.to_owned() } else { format!("'{word}'") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_shown_as_typed() {
        let mut command = Command::new("/usr/bin/cargo");
        command.args(["doc", "a b"]).env("RUSTDOCFLAGS", "-D warnings");
        assert_eq!(describe(&command), "RUSTDOCFLAGS='-D warnings' cargo doc 'a b'");
    }

    #[test]
    fn a_program_that_does_not_exist_is_a_failure_not_a_panic() {
        let failure = run(&mut Command::new("no-such-program-here")).unwrap_err();
        assert!(failure.to_string().starts_with("cannot start `no-such-program-here`"), "{failure}");
    }
}
