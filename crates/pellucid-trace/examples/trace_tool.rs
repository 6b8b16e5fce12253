//! Looks into a trace without the `pellucid` command, for tests and measurements:
//! `trace_tool check|summary FILE`, `trace_tool perfetto|chrome|dot|json FILE OUT`, `trace_tool recover FILE OUT`,
//! `trace_tool diff A B`. What was done is printed as JSON.

use std::fs::File;
use std::time::Instant;

use pellucid_trace::{Trace, analysis, diff, export, recover};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [command, file, rest @ ..] = arguments.as_slice() else {
        return Err("usage: trace_tool COMMAND FILE [OUT]".into());
    };
    let out = || rest.first().ok_or("an output file is missing");
    if command == "recover" {
        println!("{}", serde_json::to_string(&recover(file, out()?)?.counts)?);
        return Ok(());
    }
    let began = Instant::now();
    let trace = Trace::open(file)?;
    match command.as_str() {
        "check" => {
            trace.check()?;
            println!("{}", serde_json::to_string(&trace.manifest().counts)?);
        }
        "summary" => {
            // As the command does it: nothing is shown of a file that contradicts itself.
            trace.check()?;
            println!("{}", serde_json::to_string(&analysis::analyse(&trace)?)?);
        }
        "perfetto" => {
            println!("{}", serde_json::to_string(&export::perfetto(&trace, File::create(out()?)?)?)?)
        }
        "chrome" => println!("{}", serde_json::to_string(&export::chrome(&trace, File::create(out()?)?)?)?),
        "dot" => export::dot(&trace, File::create(out()?)?)?,
        "json" => export::json(&trace, File::create(out()?)?)?,
        "diff" => {
            let other = Trace::open(out()?)?;
            println!("{}", serde_json::to_string(&diff::diff(&trace, &other, &diff::Options::default())?)?);
        }
        other => return Err(format!("{other} is not a command").into()),
    }
    eprintln!("seconds {:.3}", began.elapsed().as_secs_f64());
    if let Some(busy) = processor_seconds() {
        eprintln!("processor seconds {busy:.3}");
    }
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    if let Some(peak) = status.lines().find_map(|line| line.strip_prefix("VmHWM:")?.strip_suffix(" kB")) {
        eprintln!("peak KiB {}", peak.trim());
    }
    Ok(())
}

/// The time that processors spent on this program, where the system tells: fields 14 and 15, in hundredths of a second.
fn processor_seconds() -> Option<f64> {
    let stat = std::fs::read_to_string("/proc/self/stat").ok()?;
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace().skip(11);
    let mut next = || fields.next()?.parse::<f64>().ok();
    Some((next()? + next()?) / 100.0)
}
