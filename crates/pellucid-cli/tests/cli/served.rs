//! `pellucid view` as a server: what it gives to whom, and what it bears.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::{Folder, fixture, pellucid, text};

/// A server of a small trace, ended when it is dropped.
struct Served {
    child: Child,
    /// Host and port.
    address: String,
    /// What the page lies below, with slashes around it.
    token: String,
    trace: Vec<u8>,
    _folder: Folder,
}

impl Served {
    /// Starts a server; with a limit of open files if one is given.
    fn start(files: Option<u32>) -> Served {
        let folder = Folder::new();
        let path = folder.path("run.pltrace");
        fixture::write(&path, 0);
        let program = env!("CARGO_BIN_EXE_pellucid");
        let mut command = match files {
            None => Command::new(program),
            Some(files) => {
                let mut shell = Command::new("sh");
                shell.args(["-c", &format!("ulimit -n {files}; exec \"$0\" \"$@\""), program]);
                shell
            }
        };
        let mut child =
            command.args(["view", text(&path), "--no-open"]).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let (address, rest) = line.split("http://").nth(1).unwrap().split_once('/').unwrap();
        let token = format!("/{}/", rest.split_once('/').unwrap().0);
        let (address, trace) = (address.to_owned(), std::fs::read(&path).unwrap());
        Served { child, address, token, trace, _folder: folder }
    }

    /// Status and body of a request; `None` if the connection was closed without an answer.
    fn get(&self, target: &str, host: &str) -> Option<(u16, Vec<u8>)> {
        let mut stream = TcpStream::connect(&self.address).ok()?;
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        write!(stream, "GET {target} HTTP/1.1\r\nHost: {host}\r\n\r\n").ok()?;
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).ok()?;
        let at = answer.windows(4).position(|w| w == b"\r\n\r\n")?;
        let head = String::from_utf8(answer[..at].to_vec()).unwrap();
        Some((head.split(' ').nth(1).unwrap().parse().unwrap(), answer[at + 4..].to_vec()))
    }

    fn status(&self, target: &str) -> u16 {
        self.get(target, &self.address).unwrap().0
    }

    /// Asks until the trace is given.
    fn assert_serves_soon(&self) {
        let begun = Instant::now();
        let target = format!("{}trace.pltrace", self.token);
        while self.get(&target, &self.address) != Some((200, self.trace.clone())) {
            assert!(begun.elapsed() < Duration::from_secs(120), "it does not serve any more");
            std::thread::sleep(Duration::from_millis(100));
        }
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

#[test]
fn the_viewer_is_served_to_this_machine_only() {
    let served = Served::start(None);
    assert!(served.address.starts_with("127.0.0.1:"), "{}", served.address);
    let (code, page) = served.get(&format!("{}?trace=trace.pltrace", served.token), &served.address).unwrap();
    assert!(code == 200 && page.starts_with(b"<!doctype html>"));
    served.assert_serves_soon();
    assert_eq!(served.status("/../secret"), 404);
    assert_eq!(served.get(&format!("{}trace.pltrace", served.token), "evil.example").unwrap().0, 403);
}

#[test]
fn without_the_token_there_is_nothing() {
    let (served, other) = (Served::start(None), Served::start(None));
    assert_eq!(served.token.len(), 34);
    assert_ne!(served.token, other.token);
    for target in ["/", "/trace.pltrace", "//trace.pltrace", "/?trace=trace.pltrace", "/x/trace.pltrace"] {
        assert_eq!(served.status(target), 404, "{target}");
    }
    assert_eq!(served.status(&format!("{}trace.pltrace", other.token)), 404);
    assert_eq!(served.status(&format!("{}other", served.token)), 404);
}

#[test]
fn requests_that_trickle_in_are_bounded_and_given_up() {
    let served = Served::start(None);
    let mut slow: Vec<TcpStream> = (0..120).map(|_| TcpStream::connect(&served.address).unwrap()).collect();
    for stream in &mut slow {
        let _ = stream.write_all(b"GET /");
    }
    std::thread::sleep(Duration::from_millis(300));
    if let Ok(tasks) = std::fs::read_dir(format!("/proc/{}/task", served.child.id())) {
        assert!(tasks.count() < 60, "a thread for every connection");
    }
    // Each sends another byte now and then, for as long as the test runs; the server serves all the same.
    let sending = std::thread::spawn(move || {
        for _ in 0..100 {
            slow.iter_mut().for_each(|stream| drop(stream.write_all(b"x")));
            std::thread::sleep(Duration::from_millis(100));
        }
        slow
    });
    served.assert_serves_soon();
    drop(sending.join().unwrap());
}

#[cfg(target_os = "linux")]
#[test]
fn at_the_limit_of_open_files_the_server_waits_and_goes_on() {
    let served = Served::start(Some(16));
    let many: Vec<TcpStream> = (0..40).filter_map(|_| TcpStream::connect(&served.address).ok()).collect();
    let ticks = || {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", served.child.id())).unwrap();
        let fields: Vec<&str> = stat.rsplit(')').next().unwrap().split_whitespace().collect();
        fields[11].parse::<u64>().unwrap() + fields[12].parse::<u64>().unwrap()
    };
    let before = ticks();
    std::thread::sleep(Duration::from_secs(2));
    assert!(ticks() - before < 50, "it spins: {} hundredths of a second of work", ticks() - before);
    drop(many);
    served.assert_serves_soon();
}

#[cfg(unix)]
#[test]
fn a_pipe_or_a_folder_instead_of_a_trace_is_an_error_at_once() {
    let folder = Folder::new();
    let pipe = folder.path("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    for command in ["summary", "ops", "replay", "check", "view", "show", "recover"] {
        let mut args = vec![command, text(&pipe)];
        let out = folder.path("out.pltrace");
        match command {
            "show" => args.push("1"),
            "recover" => args.extend(["-o", text(&out)]),
            _ => {}
        }
        let run = pellucid(&args);
        assert_eq!(run.code, 2, "{command}: {}", run.err);
        assert!(run.err.contains("is not a regular file"), "{command}: {}", run.err);
    }
    let run = pellucid(&["summary", text(&folder.path(""))]);
    assert!(run.code == 2 && run.err.contains("is not a regular file"), "{}", run.err);
}
