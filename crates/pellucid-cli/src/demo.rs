//! `pellucid demo`: ten additions on the default stream, a matrix product and a softmax on a stream each, checked,
//! captured and summed up.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::Instant;

use pellucid::{
    Array, Axes, Device, Dtype, capture, default_device, eval, new_stream, ops, random, synchronize,
};
use pellucid::{with_device, with_stream};
use pellucid_trace::{Trace, analysis};

use crate::device_name::DeviceName;
use crate::existing::may_write;
use crate::{FOUND, GOOD, Outcome, page, summary, text};

/// The region around the work, by which a trace of a demo is known.
const REGION: &str = "pellucid demo";
/// How a page of a demo ends, by which it is known.
const PAGE_END: &str = "\n<!-- written by pellucid demo -->\n";

/// The options of `pellucid demo`.
#[derive(clap::Args)]
#[command(after_help = "Example: pellucid demo --device cpu -o /tmp/demo.pltrace")]
pub struct Args {
    /// Where to run; without it, on the default device
    #[arg(long, value_enum)]
    device: Option<DeviceName>,
    /// The trace; the page for the browser is written beside it
    #[arg(short, long, value_name = "FILE", default_value = "demo.pltrace")]
    output: PathBuf,
    /// Write over files that exist; those of an earlier demo are written over anyway
    #[arg(long)]
    force: bool,
}

/// Runs and captures the example. Exit code 1 if a result is not what it must be.
pub fn run(args: &Args, out: &mut impl Write) -> Outcome {
    let device = args.device.map_or_else(default_device, Device::from);
    let name = pellucid::device_info(device)?.device_name;
    let (trace_path, html_path) = (args.output.as_path(), args.output.with_extension("html"));
    if trace_path == html_path {
        return Err("the page is written to the name with .html; choose another ending for the trace".into());
    }
    may_write(trace_path, args.force || is_our_trace(trace_path))?;
    may_write(&html_path, args.force || is_our_page(&html_path))?;
    writeln!(out, "running on {device}, {name}\n")?;

    // Measured before the capture, so that the summary can say how near to the machine's limits the work came.
    pellucid::roof(device)?;
    // Whoever looks at an earlier demo keeps a whole file until the new one is whole.
    let unfinished = beside(trace_path);
    let run = || capture::region(REGION, || with_device(device, || work(device, out)));
    let captured = capture::scope(&unfinished, run);
    let right = match captured {
        Ok((right, _)) => right??,
        Err(error) => return Err(error.into()),
    };
    std::fs::rename(&unfinished, trace_path)?;
    let unfinished = beside(&html_path);
    let mut file = File::create(&unfinished)?;
    page::write(trace_path, &mut file)?;
    file.write_all(PAGE_END.as_bytes())?;
    std::fs::rename(&unfinished, &html_path)?;

    writeln!(out)?;
    let trace = Trace::open(trace_path)?;
    summary::print(&trace, &analysis::analyse(&trace)?, 5, out)?;
    let agree = validation(out)?;
    next(trace_path, &html_path, out)?;
    Ok(if right && agree { GOOD } else { FOUND })
}

/// With `PELLUCID_VALIDATE=1`, what the comparison of the GPU's launches with the CPU has found; false for a mismatch.
fn validation(out: &mut impl Write) -> std::io::Result<bool> {
    let report = pellucid::gpu::validation_report();
    if report.enabled {
        text::heading(out, "Validation")?;
        let (launches, mismatches) = (report.launches, report.mismatches);
        writeln!(out, "  {launches} launches were run on the CPU as well: {mismatches} mismatches")?;
        report.first.iter().try_for_each(|text| writeln!(out, "  {text}"))?;
    }
    Ok(report.mismatches == 0)
}

fn next(trace: &Path, html: &Path, out: &mut impl Write) -> std::io::Result<()> {
    let (trace, html) = (trace.display(), html.display());
    text::heading(out, "What to do next")?;
    let steps = [
        (format!("open {html} in a browser"), "timeline, graph, kernels and memory to look at"),
        (format!("pellucid ops {trace} --sort time"), "every operation, and the line that asked for it"),
        (format!("pellucid replay {trace} --check"), "runs it again and compares every result"),
        ("pellucid capture -- ./your-program".to_owned(), "the same for a program of yours"),
    ];
    let width = steps.iter().map(|(what, _)| what.chars().count()).max().unwrap_or(0);
    steps.iter().try_for_each(|(what, why)| writeln!(out, "  {what:<width$}   {why}"))
}

/// A name for a file that is not complete yet.
fn beside(path: &Path) -> PathBuf {
    let mut name = std::ffi::OsString::from(".");
    name.push(path.file_name().unwrap_or_default());
    name.push(format!(".{}", std::process::id()));
    path.with_file_name(name)
}

fn is_our_trace(path: &Path) -> bool {
    Trace::open(path).is_ok_and(|trace| trace.manifest().regions.iter().any(|region| region.name == REGION))
}

fn is_our_page(path: &Path) -> bool {
    let mut end = vec![0; PAGE_END.len()];
    let from = SeekFrom::End(-(PAGE_END.len() as i64));
    File::open(path)
        .and_then(|mut file| file.seek(from).and_then(|_| file.read_exact(&mut end)))
        .is_ok_and(|()| end == PAGE_END.as_bytes())
}

/// The work: lazy arrays on three streams that meet at the end.
fn work(device: Device, out: &mut impl Write) -> Result<bool, Box<dyn std::error::Error>> {
    let size = 512;
    let key = random::key(7);
    let keys = random::split(&key, 2);
    let uniform = |i: i64| random::uniform(0.0, 1.0, [size, size], Dtype::Float32, Some(&keys.get(i)));
    let (a, b) = (uniform(0), uniform(1));
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
        eval([&a, &b])?;
        let (low, high) =
            (ops::min(&a, Axes::All, false).item::<f32>()?, ops::max(&b, Axes::All, false).item::<f32>()?);
        Ok((format!("all in [{low:.6}, {high:.6}]"), low >= 0.0 && high < 1.0))
    })?;

    step("ten additions on the default stream", &mut || {
        let mut sum = ops::zeros([size, size], Dtype::Float32);
        for _ in 0..10 {
            sum = ops::add(&a, &b);
            eval([&sum])?;
        }
        let back = ops::subtract(&sum, &b);
        let ok = ops::allclose(&back, &a, 1e-5, 1e-6, false).item::<bool>()?;
        Ok((format!("a + b − b ≈ a: {ok}"), ok))
    })?;

    let (products, weights) = (new_stream(device)?, new_stream(device)?);
    products.set_label("products");
    weights.set_label("weights");
    step("a product and a softmax on two more streams", &mut || {
        let product = with_stream(products, || ops::matmul(&a, &b));
        let softmax = with_stream(weights, || ops::softmax(&a, -1, false));
        // Work starts when its inputs are ready; nobody waits for anybody else.
        let mixed: Array = ops::matmul(&softmax, &product);
        let rows = ops::sum(&softmax, -1, false);
        eval([&mixed, &rows])?;
        synchronize(products)?;
        synchronize(weights)?;
        let ones = ops::ones([size], Dtype::Float32);
        let ok = ops::allclose(&rows, &ones, 1e-4, 1e-5, false).item::<bool>()?;
        let mean = ops::mean(&mixed, Axes::All, false).item::<f32>()?;
        Ok((format!("rows of the softmax sum to 1: {ok}; mean {mean:.3}"), ok && mean.is_finite()))
    })?;
    Ok(right)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_demo_runs_twice_and_its_results_are_right() {
        let folder = tempfile::tempdir().unwrap();
        let args =
            Args { device: Some(DeviceName::Cpu), output: folder.path().join("demo.pltrace"), force: false };
        for _ in 0..2 {
            let mut out = Vec::new();
            let code = run(&args, &mut out).unwrap();
            let text = String::from_utf8(out).unwrap();
            assert_eq!(code, GOOD, "{text}");
            assert!(text.contains("rows of the softmax sum to 1: true"), "{text}");
            let names: Vec<_> =
                std::fs::read_dir(folder.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
            assert_eq!(names.len(), 2, "{names:?}");
        }
        std::fs::write(&args.output, "mine").unwrap();
        assert!(run(&args, &mut Vec::new()).unwrap_err().to_string().contains("--force"));
        assert_eq!(std::fs::read_to_string(&args.output).unwrap(), "mine");

        // A trace of this very program that is not a demo's, and a page of such a trace.
        std::fs::remove_file(&args.output).unwrap();
        capture::scope(&args.output, || ops::exp(&Array::from([1.0f32])).eval()).unwrap().0.unwrap();
        let kept = std::fs::read(&args.output).unwrap();
        let error = run(&args, &mut Vec::new()).unwrap_err().to_string();
        assert!(error.contains("demo.pltrace") && error.contains("-o"), "{error}");
        assert_eq!(std::fs::read(&args.output).unwrap(), kept);
        let page = args.output.with_extension("html");
        page::write(&args.output, &mut File::create(&page).unwrap()).unwrap();
        std::fs::remove_file(&args.output).unwrap();
        let error = run(&args, &mut Vec::new()).unwrap_err().to_string();
        assert!(error.contains("demo.html") && error.contains("-o"), "{error}");
    }
}
