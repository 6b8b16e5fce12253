//! `pellucid check`: where numbers stop being finite, where two devices disagree, and what is not the same twice.

mod devices;
mod finite;
mod repeat;

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use pellucid::{Device, DeviceType, device_count};
use serde::Serialize;

use crate::device_name::DeviceName;
use crate::rerun::Plan;
use crate::{Outcome, open::open, text};

/// The options of `pellucid check`.
#[derive(clap::Args)]
#[command(after_help = "Example: pellucid check run.pltrace\n\n\
    Exit code 1 if a NaN or infinity was made, if the devices disagree beyond their types' tolerance, or if two\n\
    replays differ.")]
pub struct Args {
    /// The trace
    file: PathBuf,
    /// Replay only on this device
    #[arg(long, value_enum)]
    device: Option<DeviceName>,
    /// How many findings of each kind to list
    #[arg(long, value_name = "N", default_value_t = 10)]
    limit: usize,
    /// Print JSON for programs
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Report {
    finite: finite::Finding,
    devices: devices::Finding,
    repeat: repeat::Finding,
}

impl Report {
    fn is_good(&self) -> bool {
        self.finite.is_good() && self.devices.is_good() && self.repeat.is_good()
    }
}

/// Checks a trace. Exit code 1 if something is wrong in it.
pub fn run(args: &Args, out: &mut impl Write) -> Outcome {
    let trace = open(&args.file)?;
    // Without arrays in the file the figures still tell which launch it was.
    let plan = Plan::new(&trace).map_err(|e| e.to_string());
    let chosen = args.device.map(Device::from);
    if let Some(device) = chosen {
        pellucid::device_info(device)?;
    }
    let available: Vec<Device> = [DeviceType::Cpu, DeviceType::Gpu]
        .into_iter()
        .filter(|kind| device_count(*kind) > 0)
        .map(|kind| Device::new(kind, 0))
        .filter(|device| chosen.is_none_or(|chosen| chosen == *device))
        .collect();
    let report = Report {
        finite: finite::check(&trace, plan.as_ref().ok(), &available)?,
        devices: devices::check(&plan, &available)?,
        repeat: repeat::check(&plan, &available)?,
    };
    if args.json {
        text::json(out, &report)?;
    } else {
        report.finite.print(args.limit, out)?;
        report.devices.print(args.limit, out)?;
        report.repeat.print(args.limit, out)?;
    }
    Ok(if report.is_good() { ExitCode::SUCCESS } else { ExitCode::from(1) })
}
