//! `pellucid check`: where numbers stop being finite, where two devices disagree, and what is not the same twice.

mod devices;
pub mod finite;
mod repeat;

use std::io::Write;
use std::path::PathBuf;

use pellucid::{Device, DeviceType, device_count};
use serde::Serialize;

use crate::device_name::DeviceName;
use crate::rerun::Plan;
use crate::{FOUND, GOOD, Outcome, UNABLE, open::open, text};

/// The options of `pellucid check`.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  pellucid check run.pltrace\n  pellucid check run.pltrace --limit 100 --json\n\n\
    Exit code 1 if a NaN or infinity was made, if the devices disagree beyond their types' tolerance, or if two\n\
    replays differ; 2 if nothing of the trace could be checked. Kernels of the user without a version for the host\n\
    are named and left out of the comparison; the rest is checked."
)]
pub struct Args {
    /// The trace
    file: PathBuf,
    /// Replay only on this device
    #[arg(long, value_enum)]
    device: Option<DeviceName>,
    /// How many findings of each kind to look into and list; 0 for all
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
    fn looked(&self) -> bool {
        self.finite.looked() || self.devices.looked() || self.repeat.looked()
    }

    fn is_good(&self) -> bool {
        self.finite.is_good() && self.devices.is_good() && self.repeat.is_good()
    }
}

/// Checks a trace. Exit code 1 if something is wrong in it, 2 if there was nothing to check.
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
    let limit = if args.limit == 0 { usize::MAX } else { args.limit };
    let report = Report {
        finite: finite::check(&trace, plan.as_ref().ok(), &available, limit)?,
        devices: devices::check(&plan, &available, chosen)?,
        repeat: repeat::check(&plan, &available)?,
    };
    if args.json {
        text::json(out, &report)?;
    } else {
        report.finite.print(limit, out)?;
        report.devices.print(limit, out)?;
        report.repeat.print(limit, out)?;
    }
    Ok(match (report.looked(), report.is_good()) {
        (_, false) => FOUND,
        (true, true) => GOOD,
        (false, true) => {
            if !args.json {
                writeln!(out, "\n{}", text::bad("nothing of the trace could be checked"))?;
            }
            UNABLE
        }
    })
}
