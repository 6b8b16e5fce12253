//! Kernels of the user, checked in the process that has them and in one that does not.

use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};

use pellucid::capture::Mode;
use pellucid::{Array, Device, Dtype, gpu, ops, with_device};
use pellucid_trace::Trace;
use serde_json::Value;

use crate::captured::captured;
use crate::{Folder, alone, devices, json, pellucid, text};

/// Runs the command in this process, where the kernels of the tests are known.
fn inside(args: &[&str]) -> (u8, String) {
    let _alone = alone();
    let mut out = Vec::new();
    let mut all = vec!["pellucid"];
    all.extend(args);
    let code = pellucid_cli::run(all, &mut out).unwrap();
    (code, String::from_utf8(out).unwrap())
}

fn inside_json(args: &[&str]) -> (u8, Value) {
    let mut args = args.to_vec();
    args.push("--json");
    let (code, out) = inside(&args);
    (code, serde_json::from_str(&out).unwrap())
}

/// Twice its input; `wgsl` is what a GPU makes of it.
fn double(name: &str, wgsl: &str) -> gpu::Kernel {
    gpu::Kernel::new(name, wgsl).input("x", Dtype::Float32).output("y", Dtype::Float32).on_host(|call| {
        let doubled: Vec<f32> = call.input::<f32>(0)?.iter().map(|v| 2.0 * v).collect();
        call.output::<f32>(0)?.copy_from_slice(&doubled);
        Ok(())
    })
}

/// The number and the source line of the only operation of this name.
fn only(path: &Path, name: &str) -> (u64, String) {
    let trace = Trace::open(path).unwrap();
    let table = trace.ops().unwrap();
    let found: Vec<_> = table.iter().filter(|op| op.name == name).collect();
    assert_eq!(found.len(), 1, "{name}");
    assert!(found[0].call_site.contains("custom.rs:"), "{}", found[0].call_site);
    (found[0].id, found[0].call_site.to_owned())
}

/// A chain whose third operation is the kernel.
fn chain(path: &Path, device: Device, kernel: &gpu::Kernel) {
    captured(path, Mode::Replay, || {
        with_device(device, || {
            let x = ops::arange(0.0, 100.0, 1.0, Dtype::Float32);
            let before = ops::sqrt(&ops::add(&x, 1.0));
            before.eval()?;
            let middle = kernel.call(&[&before], [100, 1, 1], &[[100]]).remove(0);
            middle.eval()?;
            let after = ops::matmul(&ops::reshape(&middle, [10, 10]), &ops::reshape(&before, [10, 10]));
            after.eval()
        })?
    });
}

#[test]
fn a_kernel_that_is_wrong_on_one_device_only_is_named() {
    if devices().len() < 2 {
        return;
    }
    let wrong = double(
        "mostly double",
        "let i = id.x;\nif (i >= 100u) { return; }\ny[i] = 2.0 * x[i];\nif (i >= 40u && i < 48u) { y[i] = 7.0; }",
    );
    let folder = Folder::new();
    let path = folder.path("wrong.pltrace");
    chain(&path, Device::gpu(), &wrong);
    let (op, place) = only(&path, "custom mostly double");

    let (code, report) = inside_json(&["check", text(&path)]);
    assert_eq!(code, 1);
    let beyond = |a: &&Value| a["beyond"].as_u64() > Some(0);
    let apart: Vec<&Value> = report["devices"]["apart"].as_array().unwrap().iter().filter(beyond).collect();
    assert_eq!(apart.len(), 1, "{report}");
    assert_eq!((&apart[0]["op"], &apart[0]["name"]), (&op.into(), &"custom mostly double".into()));
    assert_eq!((&apart[0]["call_site"], &apart[0]["beyond"]), (&place.as_str().into(), &8.into()));
    let at = apart[0]["index"][0].as_u64().unwrap();
    assert!((40..48).contains(&at), "{report}");
    assert_eq!(apart[0]["values"][1], "7");
    assert_eq!(report["devices"]["skipped"], 0);
    assert!(report["finite"]["makers"].as_array().unwrap().is_empty(), "{report}");
    assert!(
        report["repeat"]["devices"]
            .as_array()
            .unwrap()
            .iter()
            .all(|d| d["different"] == Value::Array(vec![]))
    );

    let (code, said) = inside(&["check", text(&path)]);
    assert_eq!(code, 1);
    let line = said.lines().find(|line| line.contains("mostly double")).unwrap();
    assert!(line.trim_start().starts_with(&op.to_string()) && line.contains(&place), "{said}");
    assert!(said.contains("1 beyond tolerance"), "{said}");

    let (code, said) = inside(&["replay", text(&path), "--device", "cpu", "--check"]);
    assert_eq!(code, 1, "{said}");
    assert!(said.contains(&format!("differs op {op} (custom mostly double) at {place}")), "{said}");
    let (code, said) = inside(&["replay", text(&path), "--device", "gpu", "--check"]);
    assert_eq!(code, 0, "what was recorded is what the GPU makes of it: {said}");
}

#[test]
fn a_kernel_that_is_not_the_same_twice_is_named() {
    let calls = AtomicU32::new(0);
    let restless = gpu::Kernel::new("restless", "if (id.x < 100u) { y[id.x] = x[id.x]; }")
        .input("x", Dtype::Float32)
        .output("y", Dtype::Float32)
        .on_host(move |call| {
            let offset = calls.fetch_add(1, Ordering::Relaxed) as f32;
            let moved: Vec<f32> = call.input::<f32>(0)?.iter().map(|v| v + offset).collect();
            call.output::<f32>(0)?.copy_from_slice(&moved);
            Ok(())
        });
    let folder = Folder::new();
    let path = folder.path("restless.pltrace");
    chain(&path, Device::cpu(), &restless);
    let (op, place) = only(&path, "custom restless");

    let (code, report) = inside_json(&["check", text(&path)]);
    assert_eq!(code, 1);
    let on_cpu = &report["repeat"]["devices"][0];
    assert_eq!(on_cpu["device"], "Device(cpu, 0)");
    let different = on_cpu["different"].as_array().unwrap();
    assert_eq!(different.len(), 1, "{report}");
    assert_eq!((&different[0]["op"], &different[0]["name"]), (&op.into(), &"custom restless".into()));
    assert_eq!(different[0]["call_site"], place.as_str());
    assert_eq!(on_cpu["following"], 1, "the product of it: {report}");
    if let Some(on_gpu) = report["repeat"]["devices"].get(1) {
        assert_eq!(on_gpu["different"], Value::Array(vec![]), "the GPU's own version is steady: {report}");
    }
    let (code, said) = inside(&["check", text(&path), "--device", "cpu"]);
    assert_eq!(code, 1);
    assert!(said.contains(&format!("op {op} (custom restless) at {place}")), "{said}");
    assert!(said.contains("the others only follow from that"), "{said}");
}

#[test]
fn without_its_version_for_the_host_a_kernel_is_skipped_and_named() {
    if devices().len() < 2 {
        return;
    }
    let folder = Folder::new();
    let path = folder.path("gpu.pltrace");
    let kernel = double("gpu only", "if (id.x < arrayLength(&x)) { y[id.x] = 2.0 * x[id.x]; }");
    chain(&path, Device::gpu(), &kernel);
    let (op, place) = only(&path, "custom gpu only");
    assert_eq!(inside(&["replay", text(&path), "--device", "cpu", "--check"]).0, 0);

    // The command by itself does not know the closure.
    let why = "kernel \"gpu only\" has no version for the host here";
    let named = format!("op {op} (custom gpu only) at {place}");
    let said = pellucid(&["replay", text(&path), "--device", "cpu", "--check"]);
    assert_eq!(said.code, 1, "{}{}", said.out, said.err);
    assert!(said.out.contains(why) && said.out.contains(&named), "{}", said.out);
    assert!(said.out.contains("operations were left out"), "{}", said.out);
    assert!(!said.out.contains("the replay agrees"), "{}", said.out);
    let report = json(&["replay", text(&path), "--device", "cpu", "--check"]);
    assert_eq!(report["not_run"].as_array().unwrap().len(), 1, "{report}");
    assert_eq!(report["skipped"], 3, "the kernel, a view of its result, and the product: {report}");
    assert_eq!(report["different"], Value::Array(vec![]));

    let said = pellucid(&["replay", text(&path), "--device", "cpu"]);
    assert_eq!(said.code, 0, "without --check it only says so: {}", said.err);
    assert!(said.out.contains(why), "{}", said.out);
    let said = pellucid(&["replay", text(&path), "--device", "gpu", "--check"]);
    assert_eq!(said.code, 0, "{}{}", said.out, said.err);

    let said = pellucid(&["check", text(&path)]);
    assert_eq!(said.code, 0, "{}{}", said.out, said.err);
    assert!(said.out.contains(why) && said.out.contains(&named), "{}", said.out);
    let report = json(&["check", text(&path)]);
    assert_eq!(report["devices"]["skipped"], 1, "a GPU stands in for it: {report}");
}

#[test]
fn a_replay_in_which_nothing_can_be_compared_is_exit_code_2() {
    if devices().len() < 2 {
        return;
    }
    let folder = Folder::new();
    let path = folder.path("only.pltrace");
    captured(&path, Mode::Replay, || {
        let none: [&Array; 0] = [];
        let kernel = gpu::Kernel::new("seven", "y[id.x] = 7.0;").output("y", Dtype::Float32);
        with_device(Device::gpu(), || kernel.call(&none, [64, 1, 1], &[[64]]).remove(0).eval())?
    });
    let said = pellucid(&["replay", text(&path), "--device", "cpu", "--check"]);
    assert_eq!(said.code, 2, "{}{}", said.out, said.err);
    assert!(said.out.contains("nothing could be compared"), "{}", said.out);
    assert_eq!(pellucid(&["replay", text(&path), "--device", "gpu", "--check"]).code, 0);
}
