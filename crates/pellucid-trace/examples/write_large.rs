//! Writes a trace of many launches for measurements:
//! `cargo run --release -p pellucid-trace --example write_large -- FILE [LAUNCHES] [LEVEL]`.
//! Prints the time, the size and the largest amount of memory the process held.

mod synthetic;

use std::time::Instant;

use pellucid_trace::{Mode, Options, Writer};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let path = arguments.next().ok_or("usage: write_large FILE [LAUNCHES] [LEVEL]")?;
    let launches: u64 = arguments.next().map_or(Ok(1_000_000), |text| text.parse())?;
    let mut options = Options { mode: Mode::Timeline, ..Options::default() };
    if let Some(level) = arguments.next() {
        options.level = level.parse()?;
    }
    let began = Instant::now();
    let writer = Writer::create(&path, options)?;
    let mut network = synthetic::Network::new(&writer);
    network.with_data = false;
    // Three layers make 16 launches: four each, and four more in the first.
    let manifest = network.run(launches * 3 / 16);
    let pushed = began.elapsed();
    let summary = writer.finish(manifest)?;
    let rows = summary.seen;
    println!(
        "{} launches, {} ops and {} memory events pushed in {pushed:.2?}, {:.2?} of it waiting; {} bytes in {:.2?}; \
         peak memory {}",
        rows.launches,
        rows.ops,
        rows.memory,
        summary.blocked,
        summary.bytes,
        began.elapsed(),
        peak_memory().unwrap_or_else(|| "unknown".into()),
    );
    Ok(())
}

/// The largest resident size, where the system tells.
fn peak_memory() -> Option<String> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    Some(line["VmHWM:".len()..].trim().to_owned())
}
