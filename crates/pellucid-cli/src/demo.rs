//! `pellucid demo`: ten additions on the default stream, a matrix product and a softmax on a stream each, and what ran
//! printed at the end.

use std::io::Write;
use std::path::PathBuf;

use clap::ValueEnum;
use pellucid::Device;

use crate::Outcome;

/// The options of `pellucid demo`.
#[derive(clap::Args)]
#[command(after_help = "Example: pellucid demo --device cpu")]
pub struct Args {
    /// Where to run; without it, on the default device
    #[arg(long, value_enum)]
    device: Option<DeviceName>,
    /// Where to write the trace of what ran
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

/// A device as typed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum DeviceName {
    Cpu,
    Gpu,
}

impl From<DeviceName> for Device {
    fn from(name: DeviceName) -> Device {
        match name {
            DeviceName::Cpu => Device::cpu(),
            DeviceName::Gpu => Device::gpu(),
        }
    }
}

/// Runs the example.
pub fn run(args: &Args, out: &mut impl Write) -> Outcome {
    if let Some(file) = &args.output {
        return Err(
            format!("cannot write {}: this version does not record traces yet", file.display()).into()
        );
    }
    let device = args.device.map_or(Device::cpu(), Device::from);
    writeln!(out, "running on {device}")?;
    Err("this version has no arrays to compute with yet".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trace_that_cannot_be_written_is_an_error_that_names_the_file() {
        let args = Args { device: Some(DeviceName::Cpu), output: Some("demo.pltrace".into()) };
        let message = run(&args, &mut Vec::new()).unwrap_err().to_string();
        assert_eq!(message, "cannot write demo.pltrace: this version does not record traces yet");
    }

    #[test]
    fn devices_are_named_in_lower_case() {
        assert_eq!(DeviceName::from_str("gpu", false).map(Device::from), Ok(Device::gpu()));
        assert_eq!(DeviceName::from_str("cpu", false).map(Device::from), Ok(Device::cpu()));
        assert!(DeviceName::from_str("tpu", false).is_err());
    }
}
