//! A program that captures itself and then asks the trace: what took long, who asked for it, what waited?
//!
//! `cargo run --release --example query_a_trace`

use std::collections::BTreeMap;

use pellucid::capture;
use pellucid::prelude::*;
use pellucid_trace::Trace;

fn model(x: &Array) -> Array {
    let w = Array::full((256, 256), 0.01);
    let hidden = capture::region("hidden", || x.matmul(&w).relu());
    capture::region("output", || hidden.matmul(&w).softmax(-1))
}

/// Runs the example.
pub fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("model.pltrace");

    let (result, summary) = capture::scope(&path, || model(&Array::ones((64, 256))).sum(..).item::<f32>())?;
    assert!((result? - 64.0).abs() < 1e-3, "rows of a softmax sum to one");
    println!("{} operations, {} launches, {} bytes", summary.ops, summary.launches, summary.bytes);

    let trace = Trace::open(&path)?;
    // Time by kernel, longest first.
    let mut times: BTreeMap<String, (usize, i64)> = BTreeMap::new();
    for launch in trace.launches()?.rows() {
        let (count, time) = times.entry(launch.kernel.to_string()).or_default();
        *count += 1;
        *time += launch.end_ns - launch.start_ns;
    }
    let mut kernels: Vec<_> = times.into_iter().collect();
    kernels.sort_by_key(|(_, (_, time))| -time);
    for (kernel, (count, time)) in &kernels {
        println!("{:8.1} µs  {count} × {kernel}", *time as f64 / 1000.0);
    }
    assert!(kernels.iter().any(|(kernel, (count, _))| kernel.starts_with("matmul") && *count == 2));

    // Which line asked for the products, and in which part of the program they ran.
    let regions = &trace.manifest().regions;
    for op in trace.ops()?.rows().iter().filter(|op| &*op.name == "matmul") {
        let region = regions.iter().find(|region| Some(region.id) == op.region);
        println!("{} at {} in {:?}", op.name, op.call_site, region.map(|region| &region.name));
        assert!(op.call_site.contains("query_a_trace.rs"), "{}", op.call_site);
        assert!(region.is_some());
    }
    Ok(())
}
