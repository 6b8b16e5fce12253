//! What the commands print, to the last character.

use insta::assert_snapshot;

use crate::{Folder, fixture, good, json, pellucid, text};

#[test]
fn a_summary_shows_time_streams_memory_and_waste() {
    let folder = Folder::new();
    let path = folder.path("run.pltrace");
    fixture::write(&path, 0);
    let sized = good(&["summary", text(&path)]);
    // The size of the file is that of its compression.
    let at = sized.find("mode replay · ").unwrap() + "mode replay · ".len();
    let end = at + sized[at..].find('\n').unwrap();
    assert_snapshot!("summary", format!("{}SIZE{}", &sized[..at], &sized[end..]));
    let value = json(&["summary", text(&path)]);
    assert_eq!(value["totals"]["launch_ns"], 75_000);
}

#[test]
fn operations_are_listed_filtered_and_sorted() {
    let folder = Folder::new();
    let path = folder.path("run.pltrace");
    fixture::write(&path, 0);
    assert_snapshot!("ops", good(&["ops", text(&path), "--inputs"]));
    let ids = |args: &[&str]| {
        let mut all = vec!["ops", text(&path)];
        all.extend(args);
        let list = json(&all);
        list.as_array().unwrap().iter().map(|o| o["id"].as_u64().unwrap()).collect::<Vec<_>>()
    };
    assert_eq!(ids(&[]), [3, 4, 5, 6]);
    assert_eq!(ids(&["--filter", "tanh"]), [4, 5], "by name and by kernel");
    assert_eq!(ids(&["--filter", "model.rs:13", "--filter", "matmul"]), [3]);
    assert_eq!(ids(&["--sort", "time", "--limit", "2"]), [3, 5]);
    assert_eq!(good(&["ops", text(&path), "--filter", "conv"]), "no operation fits\n");
}

#[test]
fn one_operation_is_shown_with_all_that_is_known_of_it() {
    let folder = Folder::new();
    let path = folder.path("run.pltrace");
    fixture::write(&path, 0);
    assert_snapshot!("show_product", good(&["show", text(&path), "3"]));
    // The last bits of a tanh are the processor's.
    let fused = good(&["show", text(&path), "5"]);
    let at = fused.find("hash ").unwrap() + "hash ".len();
    assert_snapshot!("show_fused", format!("{}HASH{}", &fused[..at], &fused[at + 16..]));
    assert_eq!(good(&["show", text(&path), "weights"]), good(&["show", text(&path), "1"]));
    let said = pellucid(&["show", text(&path), "77"]);
    assert_eq!((said.code, said.out.as_str()), (2, ""));
    assert!(said.err.contains("no operation of the trace has the number or label \"77\""), "{}", said.err);
}

#[test]
fn a_difference_fails_only_if_a_limit_says_so() {
    let folder = Folder::new();
    let (a, b) = (folder.path("a.pltrace"), folder.path("b.pltrace"));
    fixture::write(&a, 0);
    fixture::write(&b, 50_000);
    assert_snapshot!("diff", good(&["diff", text(&a), text(&b)]));
    let code = |limits: &[&str]| {
        let mut args = vec!["diff", text(&a), text(&b)];
        args.extend(limits);
        pellucid(&args).code
    };
    assert_eq!(code(&["--max-slower", "100"]), 0);
    assert_eq!(code(&["--max-slower", "50"]), 1);
    assert_eq!(code(&["--max-memory", "0", "--fail-on-change", "ops,launches,bytes,numbers"]), 0);
    assert_eq!(code(&["--fail-on-change", "colour"]), 2);
    let failures = json(&["diff", text(&a), text(&b), "--max-slower", "5"])["failures"].clone();
    assert_eq!(failures.as_array().unwrap().len(), 1);
}

#[test]
fn every_export_is_what_its_tool_reads() {
    let folder = Folder::new();
    let path = folder.path("run.pltrace");
    fixture::write(&path, 0);
    let export = |format: &str| good(&["export", text(&path), "--format", format, "-o", "-"]);
    assert!(export("dot").starts_with("digraph"));
    let chrome: serde_json::Value = serde_json::from_str(&export("chrome")).unwrap();
    assert!(chrome["traceEvents"].as_array().is_some_and(|events| !events.is_empty()));
    let value: serde_json::Value = serde_json::from_str(&export("json")).unwrap();
    assert_eq!(value["totals"]["counts"]["launches"], 2);
    let html = export("html");
    assert_eq!(html.matches("id=\"trace\" data-name=\"run.pltrace\">UEsDB").count(), 1, "a zip in base64");
    let said = good(&["export", text(&path), "--format", "perfetto"]);
    assert!(said.contains("run.pftrace: ") && said.contains(" slices, "), "{said}");
    let again = pellucid(&["export", text(&path), "--format", "perfetto"]);
    assert_eq!(again.code, 2);
    assert!(again.err.contains("exists already; choose another name with -o"), "{}", again.err);
    good(&["export", text(&path), "--format", "perfetto", "--force"]);
    let itself = pellucid(&["export", text(&path), "--format", "json", "-o", text(&path), "--force"]);
    assert!(itself.code == 2 && itself.err.contains("is the trace itself"), "{}", itself.err);
}

#[test]
fn every_command_has_help_with_an_example() {
    let all = good(&["--help"]);
    for command in [
        "demo", "info", "capture", "summary", "ops", "show", "replay", "check", "diff", "export", "view",
        "recover",
    ] {
        assert!(all.contains(command));
        let help = good(&[command, "--help"]);
        assert!(help.contains(&format!("pellucid {command}")) && help.contains("Example"), "{help}");
    }
    assert_eq!(pellucid(&["sumary", "x"]).code, 2);
    assert!(json(&["info"])["devices"][0]["device"] == "Device(cpu, 0)");
}
