//! Every subcommand on traces that were really captured, on the CPU and on the GPU.

use std::path::Path;
use std::process::Command;

use insta::assert_snapshot;
use pellucid::capture::Mode;
use pellucid::{Device, with_device};

use crate::captured::{captured, work};
use crate::{Folder, devices, good, json, said, text};

fn trace(path: &Path, device: Device) {
    captured(path, Mode::Replay, || with_device(device, work)?);
}

/// What is the same in every run, on every machine: words and shapes, not numbers, times and places. Lines of a block
/// are sorted, because tables are sorted by time.
fn words(output: &str) -> String {
    let is_number = |word: &str| {
        let word = word.trim_start_matches(['(', '+', '-']);
        let hash = word.len() == 16 && word.bytes().all(|b| b.is_ascii_hexdigit());
        hash || word == "–" || word.starts_with(|c: char| c.is_ascii_digit())
    };
    let line = |line: &str| {
        let mut words: Vec<&str> = Vec::new();
        for word in line.split_whitespace() {
            let unit = ["ns", "µs", "ms", "s"].contains(&word.trim_end_matches([',', ';', ':', ')']));
            if unit && words.last() == Some(&"#") {
                words.pop();
                words.push("TIME");
            } else if word.contains(".rs:") || word.contains('/') && word.contains("tmp") {
                words.push("PLACE");
            } else if word.starts_with("cli-") {
                words.push("PROGRAM");
            } else {
                words.push(if is_number(word) { "#" } else { word });
            }
        }
        words.join(" ")
    };
    // Which processor it is, and what only times or other work of this process decide.
    let varies = |line: &&str| {
        let what = line.trim_start();
        !(what.contains(" cores, ")
            || what.starts_with("longest chain")
            || what.contains("from before the window"))
    };
    let output = output.split("\nWhat could be better").next().unwrap();
    let output = output.split("\nKernel\n").next().unwrap();
    let blocks = output.split("\n\n").map(|block| {
        let mut lines: Vec<String> = block.lines().filter(varies).map(line).collect();
        if block.trim_start().starts_with("Memory\n") {
            lines.truncate(2);
        }
        let body = usize::from(lines.len() > 1);
        lines[body..].sort();
        lines.join("\n")
    });
    blocks.collect::<Vec<_>>().join("\n\n")
}

#[test]
fn what_the_commands_say_of_captures() {
    for (name, device) in devices() {
        let folder = Folder::new();
        let path = folder.path("run.pltrace");
        trace(&path, device);
        let file = text(&path);
        let snapshot = |command: &str, args: &[&str]| {
            assert_snapshot!(format!("{command}_{name}"), words(&good(args)));
        };
        snapshot("summary", &["summary", file, "--limit", "50"]);
        snapshot("ops", &["ops", file, "--inputs", "--limit", "0"]);
        snapshot("show", &["show", file, "total"]);
        snapshot("replay", &["replay", file, "--device", name, "--check", "--limit", "50"]);
        snapshot("check", &["check", file, "--device", name]);
        snapshot("diff", &["diff", file, file]);
        snapshot("export", &["export", file, "--format", "perfetto", "-o", text(&folder.path("p"))]);
        let bytes = std::fs::read(&path).unwrap();
        let cut = folder.path("cut.pltrace");
        std::fs::write(&cut, &bytes[..bytes.len() - 100]).unwrap();
        snapshot("recover", &["recover", text(&cut), "-o", text(&folder.path("saved"))]);
        good(&["summary", text(&folder.path("saved"))]);
    }
}

#[test]
fn a_trace_of_one_device_replays_on_the_other() {
    for (from, device) in devices() {
        let folder = Folder::new();
        let path = folder.path("run.pltrace");
        trace(&path, device);
        for (to, _) in devices().into_iter().filter(|(to, _)| *to != from) {
            let said = good(&["replay", text(&path), "--device", to, "--check"]);
            assert!(said.contains("the replay agrees with the recording"), "{from} to {to}: {said}");
            let report = json(&["replay", text(&path), "--device", to, "--check"]);
            assert_eq!((&report["skipped"], &report["unknown"]), (&0.into(), &0.into()), "{report}");
        }
    }
}

#[test]
fn every_export_of_a_capture_can_be_written() {
    for (name, device) in devices() {
        let folder = Folder::new();
        let path = folder.path("run.pltrace");
        trace(&path, device);
        for format in ["perfetto", "chrome", "dot", "html", "json"] {
            let out = folder.path(format);
            good(&["export", text(&path), "--format", format, "-o", text(&out)]);
            assert!(std::fs::metadata(&out).unwrap().len() > 500, "{format} from {name}");
        }
    }
}

#[test]
fn a_demo_says_how_near_the_roof_it_came_and_keeps_its_drivers_quiet() {
    for (name, _) in devices() {
        let folder = Folder::new();
        let path = folder.path("demo.pltrace");
        let mut command = Command::new(env!("CARGO_BIN_EXE_pellucid"));
        command.args(["demo", "--device", name, "-o", text(&path)]).env_remove("XDG_RUNTIME_DIR");
        if name == "cpu" {
            // The loader of GPU drivers would talk of all it does.
            command.env("VK_LOADER_DEBUG", "all");
        }
        let said = said(command.output().unwrap());
        assert_eq!((said.code, said.err.as_str()), (0, ""), "{name}");
        assert!(said.out.contains("of roof") && said.out.contains("as measured"), "{}", said.out);
        let report = json(&["summary", text(&path)]);
        let share = report["kernels"][0]["roof_share"].as_f64().unwrap();
        assert!(share > 0.0, "{report}");
        good(&["replay", text(&path), "--device", name, "--check"]);
        good(&["check", text(&path), "--device", name]);
    }
}

#[test]
fn how_fast_the_devices_are_is_measured_on_request() {
    assert!(!good(&["info"]).contains("GFLOP/s"));
    assert_eq!(good(&["info", "--roof"]).matches(" GFLOP/s").count(), devices().len());
    for device in json(&["info", "--roof"])["devices"].as_array().unwrap() {
        let roof = &device["roof"];
        assert!(roof["bytes_per_second"].as_f64() > Some(1e6), "{device}");
        assert!(roof["flops_per_second"].as_f64() > Some(1e6), "{device}");
    }
}
