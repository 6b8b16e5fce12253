//! `pellucid view`: the viewer in a browser, served from this machine to this machine only.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::{GOOD, Outcome, open::open, page::VIEWER};

/// The options of `pellucid view`.
#[derive(clap::Args)]
#[command(after_help = "Example: pellucid view run.pltrace\n\nEnds with Ctrl-C.")]
pub struct Args {
    /// The trace
    file: PathBuf,
    /// The port to listen on; without it, a free one
    #[arg(long, value_name = "N", default_value_t = 0)]
    port: u16,
    /// Only print the address
    #[arg(long)]
    no_open: bool,
}

/// Serves the viewer and the trace until the process ends.
pub fn run(args: &Args, out: &mut impl Write) -> Outcome {
    open(&args.file)?;
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, args.port))
        .map_err(|e| format!("port {} cannot be used: {e}", args.port))?;
    let port = listener.local_addr()?.port();
    let address = format!("http://127.0.0.1:{port}/?trace=trace.pltrace");
    writeln!(out, "{} is shown at {address}\nCtrl-C ends it", args.file.display())?;
    out.flush()?;
    if !args.no_open {
        browse(&address);
    }
    for stream in listener.incoming() {
        let Ok(stream) = stream else { continue };
        let file = args.file.clone();
        // A reader that goes away, or a browser that holds a connection open, must not stop the others.
        std::thread::spawn(move || {
            let _ = answer(&stream, &file, port);
        });
    }
    Ok(GOOD)
}

/// Answers one request.
fn answer(stream: &TcpStream, file: &Path, port: u16) -> io::Result<()> {
    stream.set_read_timeout(Some(Duration::from_secs(10)))?;
    let mut lines = BufReader::new(io::Read::take(stream, 64 << 10)).lines();
    let request = lines.next().transpose()?.unwrap_or_default();
    let mut host = None;
    for line in lines {
        let line = line?;
        if line.is_empty() {
            break;
        }
        if let Some((_, value)) = line.split_once(':').filter(|(name, _)| name.eq_ignore_ascii_case("host")) {
            host = Some(value.trim().to_owned());
        }
    }
    let mut words = request.split(' ');
    let (method, target) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let path = target.split(['?', '#']).next().unwrap_or_default();
    let ours = [format!("127.0.0.1:{port}"), format!("localhost:{port}")];
    let mut out = stream;
    // Another site's page that reaches us under its own name is not given anything.
    if !host.is_some_and(|host| ours.contains(&host)) {
        return reply(&mut out, "403 Forbidden", "text/plain", b"only for this machine\n");
    }
    match (method, path) {
        ("GET", "/") => reply(&mut out, "200 OK", "text/html; charset=utf-8", VIEWER.as_bytes()),
        ("GET", "/trace.pltrace") => {
            let mut file = File::open(file)?;
            header(&mut out, "200 OK", "application/octet-stream", file.metadata()?.len())?;
            io::copy(&mut file, &mut out)?;
            out.flush()
        }
        ("GET", _) => reply(&mut out, "404 Not Found", "text/plain", b"there is nothing here\n"),
        _ => reply(&mut out, "405 Method Not Allowed", "text/plain", b"only GET\n"),
    }
}

fn reply(out: &mut impl Write, status: &str, kind: &str, body: &[u8]) -> io::Result<()> {
    header(out, status, kind, body.len() as u64)?;
    out.write_all(body)?;
    out.flush()
}

fn header(out: &mut impl Write, status: &str, kind: &str, length: u64) -> io::Result<()> {
    write!(
        out,
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\nCache-Control: no-store\r\n\
         X-Content-Type-Options: nosniff\r\nCross-Origin-Resource-Policy: same-origin\r\nConnection: close\r\n\r\n"
    )
}

/// Asks the system to show an address. The address was printed, so that a system without a browser is no failure.
fn browse(address: &str) {
    let opener = if cfg!(target_os = "macos") {
        "open"
    } else if cfg!(windows) {
        "explorer"
    } else {
        "xdg-open"
    };
    let _ = Command::new(opener).arg(address).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
}
