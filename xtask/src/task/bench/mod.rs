//! `cargo xtask bench`: Pellucid beside its peers, in one run on one machine.
//!
//! Each library runs in a process of its own (`subject.rs`) and takes short turns, so that whatever else the machine
//! does meets all of them alike. The peers written in Rust are a crate outside the workspace, because they are large.

mod cases;
mod install;
mod measure;
mod page;
mod report;
mod stats;
mod subject;
mod table;

use std::fs;
use std::path::Path;

use cases::{CASES, Case, Device};
use install::Installed;
use report::Report;

use crate::need::Need;
use crate::process::{self, Failure, Result};

#[derive(clap::Args)]
pub struct Args {
    /// Fewer and shorter turns, and only the headline cases on the GPU: less than five minutes, with more noise
    #[arg(long)]
    quick: bool,
    /// Which devices to measure
    #[arg(long, value_enum, default_value_t = Which::All)]
    device: Which,
    /// Only cases whose name contains this text; may be given several times
    #[arg(long, value_name = "TEXT")]
    case: Vec<String>,
    /// Only these peers: numpy, torch, mlx, candle, burn-flex, burn-wgpu, or none
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    peers: Option<Vec<String>>,
    /// Where to write report.json and report.html
    #[arg(long, value_name = "FOLDER", default_value = "bench")]
    out: String,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum Which {
    Cpu,
    Gpu,
    All,
}

impl Which {
    fn has(self, device: Device) -> bool {
        match self {
            Which::Cpu => device == Device::Cpu,
            Which::Gpu => device == Device::Gpu,
            Which::All => true,
        }
    }
}

/// What `cargo xtask setup` installs for the benchmarks; the larger peers are installed by the first run.
pub fn needs() -> &'static [Need] {
    &[Need::Python(&["numpy"])]
}

pub fn run(args: &Args) -> Result<()> {
    let cases = chosen(args)?;
    let devices: Vec<Device> =
        Device::ALL.into_iter().filter(|d| cases.iter().any(|c| c.device == *d)).collect();
    let installed = install::all(&devices, args.peers.as_deref())?;
    warn_if_busy();
    println!("\nmeasuring the limits of the machine");
    let (machine, limits) = report::machine(&installed)?;
    let pace = if args.quick { measure::QUICK } else { measure::FULL };
    let mut figures = Vec::new();
    let mut versions = Vec::new();
    for device in devices {
        let mut subjects = start(&installed, device)?;
        versions.extend(subjects.iter().map(|s| (s.name.clone(), s.version.clone())));
        let of_device: Vec<&Case> = cases.iter().copied().filter(|c| c.device == device).collect();
        figures.extend(measure::run(&mut subjects, &of_device, &pace));
    }
    let report = Report::new(machine, limits, &versions, args.quick, &figures);
    table::print(&report, &figures);
    install::print_missing(&installed);
    write(&process::root().join(&args.out), &report, &figures)
}

/// Figures of a busy machine are worth little, above all those of work that uses all cores.
fn warn_if_busy() {
    let cores = std::thread::available_parallelism().map_or(1, |n| n.get());
    if let Some(load) = report::load_average().filter(|load| *load > 0.5 * cores as f64) {
        println!(
            "\nwarning: other work runs on this machine (load {load:.1} on {cores} cores); the figures will be noisy"
        );
    }
}

fn chosen(args: &Args) -> Result<Vec<&'static Case>> {
    let named = |case: &Case| match args.case.as_slice() {
        // Peers tune each kernel on its first use, on a software adapter for minutes.
        [] => !args.quick || case.headline || case.device == Device::Cpu,
        texts => texts.iter().any(|text| case.name.contains(text.as_str())),
    };
    let cases: Vec<&Case> = CASES.iter().filter(|c| args.device.has(c.device) && named(c)).collect();
    if cases.is_empty() {
        let names: Vec<&str> = CASES.iter().map(|c| c.name).collect();
        return Err(Failure::failed(format!("no case fits; the cases are {}", names.join(", "))));
    }
    Ok(cases)
}

/// Starts Pellucid and the peers of a device. A peer that does not start is named and left out.
fn start(installed: &Installed, device: Device) -> Result<Vec<subject::Subject>> {
    let mut subjects = Vec::new();
    for program in installed.programs.iter().filter(|p| p.device == device) {
        match subject::Subject::start(program) {
            Ok(subject) => subjects.push(subject),
            Err(why) if program.is_pellucid() => {
                return Err(Failure::failed(format!("{}: {why}", program.name)));
            }
            Err(why) => eprintln!("{} is left out: {why}", program.name),
        }
    }
    Ok(subjects)
}

fn write(folder: &Path, report: &Report, figures: &[measure::Figures]) -> Result<()> {
    let failed =
        |what: &Path, e: std::io::Error| Failure::failed(format!("cannot write {}: {e}", what.display()));
    fs::create_dir_all(folder).map_err(|e| failed(folder, e))?;
    for (name, text) in [("report.json", report.json()?), ("report.html", page::html(report, figures))] {
        let path = folder.join(name);
        fs::write(&path, text).map_err(|e| failed(&path, e))?;
        println!("wrote {}", path.display());
    }
    Ok(())
}
