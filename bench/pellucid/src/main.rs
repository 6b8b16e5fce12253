//! Runs the cases of the benchmark on Pellucid: `bench-pellucid cpu` or `gpu` speaks the protocol of
//! `bench-protocol`; `bench-pellucid machine` describes and measures the machine, and prints JSON.

mod cases;
mod limits;
mod model;

use std::process::ExitCode;

use pellucid::{Device, device_info, is_available, set_default_device};
use serde_json::json;

fn main() -> ExitCode {
    let result = match std::env::args().nth(1).as_deref() {
        Some("cpu") => serve(Device::cpu()),
        Some("gpu") => serve(Device::gpu()),
        Some("machine") => machine(),
        _ => Err("usage: bench-pellucid cpu|gpu|machine".to_owned()),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("error: {why}");
            ExitCode::FAILURE
        }
    }
}

/// One line of JSON: what the machine is, and what it can do at most.
fn machine() -> Result<(), String> {
    let cpu = device_info(Device::cpu()).map_err(|e| e.to_string())?;
    let gpu = match device_info(Device::gpu()) {
        Ok(gpu) => json!({
            "name": gpu.device_name, "backend": gpu.backend, "type": gpu.device_type, "driver": gpu.driver
        }),
        Err(_) => json!(null),
    };
    let machine = json!({
        "processor": cpu.device_name,
        "architecture": cpu.architecture,
        "features": cpu.features,
        "memory_gb": cpu.memory_size as f64 / 1e9,
        "system": std::env::consts::OS,
        "gpu": gpu,
    });
    println!("{}", json!({ "machine": machine, "limits": limits::measure() }));
    Ok(())
}

fn serve(device: Device) -> Result<(), String> {
    if !is_available(device) {
        return Err(format!("there is no {device}"));
    }
    set_default_device(device).map_err(|e| e.to_string())?;
    let info = device_info(device).map_err(|e| e.to_string())?;
    let greeting = format!(
        "{} on {} ({}, {})",
        env!("CARGO_PKG_VERSION"),
        info.device_name,
        info.backend,
        info.device_type
    );
    bench_protocol::serve(&greeting, |case| cases::build(case, device)).map_err(|e| e.to_string())
}
