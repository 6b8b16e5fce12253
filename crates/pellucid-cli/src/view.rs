//! `pellucid view`: the viewer in a browser, served from this machine to this machine only.

use std::io::Write;
use std::net::{Ipv4Addr, TcpListener};
use std::path::PathBuf;
use std::process::{Command, Stdio};

use crate::serve::Server;
use crate::{Outcome, open::open};

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
    let server = Server::new(listener, args.file.clone())?;
    let address = server.address();
    writeln!(out, "{} is shown at {address}\nCtrl-C ends it", args.file.display())?;
    out.flush()?;
    if !args.no_open {
        browse(&address);
    }
    server.run()
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
