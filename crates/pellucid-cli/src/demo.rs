//! `pellucid demo`: ten additions on the default stream, a matrix product and a softmax on a stream each, checked and
//! timed.

use std::io::Write;
use std::process::ExitCode;
use std::time::Instant;

use clap::ValueEnum;
use pellucid::{
    Array, Axes, Device, Dtype, default_device, eval, memory, new_stream, ops, random, synchronize,
};
use pellucid::{with_device, with_stream};

use crate::Outcome;

/// The options of `pellucid demo`.
#[derive(clap::Args)]
#[command(after_help = "Example: pellucid demo --device cpu")]
pub struct Args {
    /// Where to run; without it, on the default device
    #[arg(long, value_enum)]
    device: Option<DeviceName>,
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

/// Runs the example. Exit code 1 if a result is not what it must be.
pub fn run(args: &Args, out: &mut impl Write) -> Outcome {
    let device = args.device.map_or_else(default_device, Device::from);
    let name = pellucid::device_info(device)?.device_name;
    writeln!(out, "running on {device}, {name}\n")?;
    let right = with_device(device, || work(device, out))??;
    let report = memory::report();
    writeln!(
        out,
        "\nmemory: peak {}, {} of {} requests served without asking the system",
        bytes(report.peak),
        report.reuses,
        report.requests
    )?;
    Ok(if right { ExitCode::SUCCESS } else { ExitCode::from(1) })
}

/// The work: lazy arrays on three streams that meet at the end.
fn work(device: Device, out: &mut impl Write) -> Result<bool, Box<dyn std::error::Error>> {
    let size = 512;
    let key = random::key(7)?;
    let keys = random::split(&key, 2)?;
    let uniform = |i: i64| random::uniform(0.0, 1.0, [size, size], Dtype::Float32, Some(&keys.get(i)?));
    let (a, b) = (uniform(0)?, uniform(1)?);
    a.label("a");
    b.label("b");
    let mut right = true;
    let mut step = |what: &str, work: &mut dyn FnMut() -> pellucid::Result<(String, bool)>| {
        let start = Instant::now();
        let (result, ok) = work()?;
        right &= ok;
        let time = start.elapsed().as_secs_f64() * 1e3;
        writeln!(out, "{what:<44} {time:>9.3} ms   {result}{}", if ok { "" } else { "   WRONG" })?;
        Ok::<(), Box<dyn std::error::Error>>(())
    };

    step("two random arrays of 512 × 512", &mut || {
        eval(&[&a, &b])?;
        let (low, high) =
            (ops::min(&a, Axes::All, false)?.item::<f32>()?, ops::max(&b, Axes::All, false)?.item::<f32>()?);
        Ok((format!("all in [{low:.6}, {high:.6}]"), low >= 0.0 && high < 1.0))
    })?;

    step("ten additions on the default stream", &mut || {
        let mut sum = ops::zeros([size, size], Dtype::Float32)?;
        for _ in 0..10 {
            sum = ops::add(&a, &b)?;
            eval(&[&sum])?;
        }
        let back = ops::subtract(&sum, &b)?;
        let ok = ops::allclose(&back, &a, 1e-5, 1e-6, false)?.item::<bool>()?;
        Ok((format!("a + b − b ≈ a: {ok}"), ok))
    })?;

    let (products, weights) = (new_stream(device)?, new_stream(device)?);
    products.set_label("products");
    weights.set_label("weights");
    step("a product and a softmax on two more streams", &mut || {
        let product = with_stream(products, || ops::matmul(&a, &b))?;
        let softmax = with_stream(weights, || ops::softmax(&a, -1, false))?;
        // Work starts when its inputs are ready; nobody waits for anybody else.
        let mixed: Array = ops::matmul(&softmax, &product)?;
        let rows = ops::sum(&softmax, -1, false)?;
        eval(&[&mixed, &rows])?;
        synchronize(products)?;
        synchronize(weights)?;
        let ones = ops::ones([size], Dtype::Float32)?;
        let ok = ops::allclose(&rows, &ones, 1e-4, 1e-5, false)?.item::<bool>()?;
        let mean = ops::mean(&mixed, Axes::All, false)?.item::<f32>()?;
        Ok((format!("rows of the softmax sum to 1: {ok}; mean {mean:.3}"), ok && mean.is_finite()))
    })?;
    Ok(right)
}

/// A size for people.
fn bytes(n: u64) -> String {
    match n {
        0..1024 => format!("{n} B"),
        1024..1_048_576 => format!("{:.1} KiB", n as f64 / 1024.0),
        _ => format!("{:.1} MiB", n as f64 / 1_048_576.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_demo_runs_and_its_results_are_right() {
        let args = Args { device: Some(DeviceName::Cpu) };
        let mut out = Vec::new();
        let code = run(&args, &mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert_eq!(format!("{code:?}"), format!("{:?}", ExitCode::SUCCESS), "{text}");
        assert!(text.contains("rows of the softmax sum to 1: true"), "{text}");
    }

    #[test]
    fn devices_are_named_in_lower_case() {
        assert_eq!(DeviceName::from_str("gpu", false).map(Device::from), Ok(Device::gpu()));
        assert_eq!(DeviceName::from_str("cpu", false).map(Device::from), Ok(Device::cpu()));
        assert!(DeviceName::from_str("tpu", false).is_err());
    }
}
