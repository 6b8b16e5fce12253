//! A server for one page and one trace, on this machine for this machine.
//!
//! It is bounded: so many connections at once, so much time for a request and for an answer, however slowly the other
//! side sends or reads. What it serves lies below a token that only the printed address has, so that other programs and
//! other people on this machine cannot guess it.

use std::fs::File;
use std::hash::{BuildHasher, RandomState};
use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use crate::page::VIEWER;

/// Connections that are answered at the same time; a browser opens six.
const MOST_CONNECTIONS: usize = 32;
/// Bytes of a request's head.
const LONGEST_REQUEST: usize = 16 << 10;
/// Time for a request to arrive as a whole.
const REQUEST_TIME: Duration = Duration::from_secs(5);
/// Time for an answer: this, and what the slowest reader that is waited for needs for its bytes.
const ANSWER_TIME: Duration = Duration::from_secs(30);
const SLOWEST_READER: u64 = 64 << 10;
/// Before the next try, if no connection can be accepted: usually because there are too many open files.
const PAUSE: Duration = Duration::from_millis(200);

/// What is served, and to whom.
pub struct Server {
    listener: TcpListener,
    site: Arc<Site>,
}

struct Site {
    file: PathBuf,
    port: u16,
    token: String,
    connections: AtomicUsize,
}

impl Server {
    /// A server of a trace on a socket that is bound.
    ///
    /// # Errors
    /// If the socket has no address.
    pub fn new(listener: TcpListener, file: PathBuf) -> io::Result<Server> {
        let port = listener.local_addr()?.port();
        let site = Site { file, port, token: token(), connections: AtomicUsize::new(0) };
        Ok(Server { listener, site: Arc::new(site) })
    }

    /// Where the page is.
    pub fn address(&self) -> String {
        format!("http://127.0.0.1:{}/{}/?trace=trace.pltrace", self.site.port, self.site.token)
    }

    /// Answers requests as long as the process lives.
    pub fn run(&self) -> ! {
        loop {
            match self.listener.accept() {
                Ok((stream, _)) => self.accept(stream),
                Err(_) => std::thread::sleep(PAUSE),
            }
        }
    }

    /// Answers in a thread of its own, or not at all if there are enough of them.
    fn accept(&self, stream: TcpStream) {
        let slot = Slot::new(self.site.clone());
        if self.site.connections.load(Ordering::Relaxed) > MOST_CONNECTIONS {
            return refuse(&stream);
        }
        let stream = Arc::new(stream);
        let theirs = stream.clone();
        let answer = move || {
            // A reader that goes away is no failure of ours.
            let _ = answer(&theirs, &slot.0);
        };
        if std::thread::Builder::new().name("pellucid view".into()).spawn(answer).is_err() {
            refuse(&stream);
        }
    }
}

/// Counts a connection while it lives.
struct Slot(Arc<Site>);

impl Slot {
    fn new(site: Arc<Site>) -> Slot {
        site.connections.fetch_add(1, Ordering::Relaxed);
        Slot(site)
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        self.0.connections.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A text that cannot be guessed: 128 bits that depend on what the system gives hash tables to keep attackers off.
fn token() -> String {
    let (one, two) = (RandomState::new(), RandomState::new());
    let now = std::time::SystemTime::now();
    format!("{:016x}{:016x}", one.hash_one((now, std::process::id())), two.hash_one((now, "pellucid")))
}

/// Says that there is no room, without waiting for the other side.
fn refuse(stream: &TcpStream) {
    // It may be gone.
    let _ = stream.set_nonblocking(true);
    let _ = head(&mut &*stream, "503 Service Unavailable", "text/plain", 0);
}

/// Answers one request.
fn answer(stream: &TcpStream, site: &Site) -> io::Result<()> {
    let Some(request) = read_head(stream)? else { return Ok(()) };
    let mut lines = request.split("\r\n");
    let mut words = lines.next().unwrap_or_default().split(' ');
    let (method, target) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let host = lines
        .filter_map(|line| line.split_once(':'))
        .find(|(name, _)| name.eq_ignore_ascii_case("host"))
        .map(|(_, value)| value.trim());
    let ours = [format!("127.0.0.1:{}", site.port), format!("localhost:{}", site.port)];
    // Another site's page that reaches us under its own name is not given anything.
    if !host.is_some_and(|host| ours.iter().any(|name| name == host)) {
        return text(stream, "403 Forbidden", "only for this machine\n");
    }
    if method != "GET" {
        return text(stream, "405 Method Not Allowed", "only GET\n");
    }
    let path = target.split(['?', '#']).next().unwrap_or_default();
    match path.strip_prefix('/').and_then(|path| path.split_once('/')) {
        Some((token, "")) if token == site.token => {
            send(stream, "text/html; charset=utf-8", VIEWER.len() as u64, VIEWER.as_bytes())
        }
        Some((token, "trace.pltrace")) if token == site.token => send_file(stream, &site.file),
        _ => text(stream, "404 Not Found", "there is nothing here; use the address that was printed\n"),
    }
}

/// The lines before the empty one; `None` if they do not come in time or are too many.
fn read_head(mut stream: &TcpStream) -> io::Result<Option<String>> {
    let until = Instant::now() + REQUEST_TIME;
    let mut head = Vec::new();
    let mut part = [0; 4096];
    while !head.windows(4).any(|end| end == b"\r\n\r\n") {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() || head.len() > LONGEST_REQUEST {
            return Ok(None);
        }
        stream.set_read_timeout(Some(left))?;
        match stream.read(&mut part)? {
            0 => return Ok(None),
            count => head.extend_from_slice(&part[..count]),
        }
    }
    Ok(Some(String::from_utf8_lossy(&head).into_owned()))
}

fn text(stream: &TcpStream, status: &str, text: &str) -> io::Result<()> {
    let mut out = Patient::new(stream, text.len() as u64);
    head(&mut out, status, "text/plain", text.len() as u64)?;
    out.write_all(text.as_bytes())
}

fn send_file(stream: &TcpStream, path: &Path) -> io::Result<()> {
    let Ok(file) = File::open(path) else {
        return text(stream, "404 Not Found", "the trace is not there any more\n");
    };
    let length = file.metadata()?.len();
    send(stream, "application/octet-stream", length, file.take(length))
}

fn send(stream: &TcpStream, kind: &str, length: u64, mut body: impl Read) -> io::Result<()> {
    let mut out = Patient::new(stream, length);
    head(&mut out, "200 OK", kind, length)?;
    io::copy(&mut body, &mut out).map(drop)
}

fn head(out: &mut impl Write, status: &str, kind: &str, length: u64) -> io::Result<()> {
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\nCache-Control: no-store\r\n\
         X-Content-Type-Options: nosniff\r\nReferrer-Policy: no-referrer\r\n\
         Cross-Origin-Resource-Policy: same-origin\r\nConnection: close\r\n\r\n"
    );
    out.write_all(head.as_bytes())
}

/// A connection that is written to for so long and no longer.
struct Patient<'a> {
    stream: &'a TcpStream,
    until: Instant,
}

impl<'a> Patient<'a> {
    fn new(stream: &'a TcpStream, bytes: u64) -> Patient<'a> {
        let time = ANSWER_TIME + Duration::from_secs(bytes / SLOWEST_READER);
        Patient { stream, until: Instant::now() + time }
    }
}

impl Write for Patient<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let left = self.until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        self.stream.set_write_timeout(Some(left))?;
        self.stream.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.stream.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_tokens_are_alike() {
        let tokens: std::collections::HashSet<String> = (0..1000).map(|_| token()).collect();
        assert_eq!(tokens.len(), 1000);
        assert!(tokens.iter().all(|token| token.len() == 32));
    }
}
