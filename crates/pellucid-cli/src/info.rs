//! `pellucid info`: versions and devices.

use std::env::consts;
use std::io::Write;
use std::process::ExitCode;

use pellucid::Device;

use crate::Outcome;

/// Prints what this machine offers.
pub fn run(out: &mut impl Write) -> Outcome {
    let cores = std::thread::available_parallelism()?;
    writeln!(out, "pellucid {}", env!("CARGO_PKG_VERSION"))?;
    writeln!(out, "system   {} {}, {cores} cores", consts::OS, consts::ARCH)?;
    writeln!(out, "devices  {}", Device::cpu())?;
    Ok(ExitCode::SUCCESS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cpu_is_always_listed() {
        let mut out = Vec::new();
        run(&mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert!(text.contains("Device(cpu, 0)"), "{text}");
    }
}
