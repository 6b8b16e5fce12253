//! One meaning on every device: every case is written once and runs once on each device that is here.
//!
//! Most cases compare with what the published `mlx` returned (`tests/fixtures/`); the others are written out in the
//! files of this folder. Where Pellucid differs from mlx on purpose, `differences.rs` says so.
//!
//! With `CI=true` and `PELLUCID_REQUIRE_GPU=1`, a missing GPU is a failed test.
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod arguments;
mod bad_input;
mod call;
mod compare;
mod differences;
mod empty;
mod failures;
mod fixture;
mod laziness;
mod scatter;
mod views;

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};

use libtest_mimic::{Arguments, Failed, Trial};
use pellucid::gpu::FallbackReason;
use pellucid::{Device, DeviceType, device_count, with_device};

/// A case written out in Rust: its name and what it does.
pub type Written = (&'static str, fn());

/// Cases as a list. Each runs inside [`with_device`], once per device.
macro_rules! conformance {
    ($(fn $name:ident() $body:block)*) => {
        pub const CASES: &[$crate::Written] = &[$((concat!(module_path!(), "::", stringify!($name)), || $body)),*];
    };
}
pub(crate) use conformance;

const WRITTEN: &[&[Written]] =
    &[bad_input::CASES, empty::CASES, failures::CASES, laziness::CASES, scatter::CASES, views::CASES];

fn main() {
    let arguments = Arguments::from_args();
    let mut trials = vec![Trial::test("devices_that_must_be_here_are_here", gpu_if_required)];
    for device in devices() {
        let kind = device.device_type();
        for &(name, body) in WRITTEN.iter().flat_map(|cases| cases.iter()) {
            let name = name.trim_start_matches("conformance::").replace("::", "/");
            let run = move || {
                body();
                Ok(())
            };
            trials.push(Trial::test(format!("{kind}/{name}"), move || on(device, run)));
        }
        for case in fixture::cases() {
            let name = format!("{kind}/{}", case.name());
            trials.push(Trial::test(name, move || on(device, || fixture::run(case))));
        }
    }
    let conclusion = libtest_mimic::run(&arguments, trials);
    if !arguments.list {
        print_fallbacks();
    }
    conclusion.exit();
}

/// What was meant for the GPU and ran on the CPU: for each reason the operations, how often and with which types.
fn print_fallbacks() {
    let mut reasons: BTreeMap<FallbackReason, BTreeMap<&str, (u64, Vec<&str>)>> = BTreeMap::new();
    for fallback in pellucid::gpu::fallbacks() {
        let op = reasons.entry(fallback.reason).or_default().entry(fallback.op).or_default();
        op.0 += fallback.count;
        op.1.push(fallback.dtype.name());
    }
    for (reason, ops) in reasons {
        let launches: u64 = ops.values().map(|op| op.0).sum();
        println!("\n{launches} launches ran on the CPU instead of the GPU: {reason}");
        let mut line = String::new();
        for (name, (count, types)) in ops {
            // The reason itself names the type.
            let types = if reason == FallbackReason::Float64 { String::new() } else { types.join("/") + " " };
            let item = format!("  {name} {types}×{count}");
            if line.len() + item.len() > 110 {
                println!("{line}");
                line.clear();
            }
            line += &item;
        }
        println!("{line}");
    }
}

/// The first device of each type that is here.
fn devices() -> Vec<Device> {
    let types = [DeviceType::Cpu, DeviceType::Gpu];
    types.into_iter().filter(|&kind| device_count(kind) > 0).map(Device::from).collect()
}

fn gpu_if_required() -> Result<(), Failed> {
    let set = |name: &str, value: &str| std::env::var(name).is_ok_and(|v| v == value);
    if set("CI", "true") && set("PELLUCID_REQUIRE_GPU", "1") && device_count(DeviceType::Gpu) == 0 {
        return Err("PELLUCID_REQUIRE_GPU is set, but there is no GPU".into());
    }
    Ok(())
}

/// Runs a case on a device; a panic is a failure with its message.
fn on(device: Device, body: impl FnOnce() -> Result<(), Failed>) -> Result<(), Failed> {
    let outcome = catch_unwind(AssertUnwindSafe(|| with_device(device, body)));
    match outcome {
        Ok(result) => result.map_err(|error| Failed::from(error.to_string()))?,
        Err(panic) => {
            let text = panic.downcast_ref::<String>().map(String::as_str);
            let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("panicked");
            Err(format!("{device}: {text}").into())
        }
    }
}
