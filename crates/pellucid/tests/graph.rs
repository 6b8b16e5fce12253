//! Graphs of lazy arrays as Graphviz reads them.
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use std::io::Write;
use std::process::{Command, Stdio};

use pellucid::{Array, Axes, Device, Dtype, export_to_dot, new_stream, ops, with_stream};

/// The picture that Graphviz draws of a text.
fn drawn(dot: &str) -> String {
    let mut program = Command::new("dot")
        .arg("-Tsvg")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("Graphviz's dot must be installed");
    program.stdin.take().unwrap().write_all(dot.as_bytes()).unwrap();
    let output = program.wait_with_output().unwrap();
    let complaints = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && !complaints.contains("rror"), "{complaints}\n{dot}");
    String::from_utf8(output.stdout).unwrap()
}

fn count(text: &str, part: &str) -> usize {
    text.matches(part).count()
}

#[test]
fn needs_graphviz_a_graph_has_a_node_for_each_array_and_operation_and_an_edge_for_each_use() {
    let a = Array::from([1.0f32, 2.0]);
    let b = ops::exp(&a);
    let c = ops::matmul(&ops::add(&a, &b), &b);
    let svg = drawn(&export_to_dot(&[&c]));
    // Arrays: a, b, a + b, two shapes for matmul, its product, c. Each operation has one result.
    let dot = export_to_dot(&[&c]);
    let operations = count(&dot, "shape=rectangle");
    assert_eq!(count(&svg, "class=\"node\""), operations + operations + 1, "one array is given");
    assert_eq!(count(&svg, "class=\"edge\""), count(&dot, " -> "));
    for name in [">exp<", ">add<", ">matmul<"] {
        assert_eq!(count(&svg, name), 1, "{name}\n{svg}");
    }
}

#[test]
fn needs_graphviz_labels_of_any_text_are_drawn_as_they_are() {
    let hostile = [
        "\"",
        "\\",
        "\\\"",
        "a\nb",
        "<b>bold</b>",
        "<",
        "a & b",
        "\"]; x [label=\"y",
        "a%d{|}",
        "ünïcödé →",
        "\\N \\G",
        "digraph",
        "// no comment",
        "\t\r",
        "",
    ];
    for label in hostile {
        let a = Array::from([1.0f32]);
        a.label(label);
        let b = ops::exp(&a);
        b.label(format!("{label}{label}"));
        let svg = drawn(&export_to_dot(&[&b]));
        assert_eq!(count(&svg, "class=\"node\""), 3, "{label:?}\n{svg}");
        assert_eq!(count(&svg, "class=\"edge\""), 2, "{label:?}");
        let shown =
            label.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;");
        if !label.contains(['\n', '\r', '\t', '-']) {
            assert!(svg.contains(&format!(">{shown} ({})<", a.id())), "{label:?}\n{svg}");
        }
    }
}

#[test]
fn needs_graphviz_a_zero_byte_in_a_label_does_not_end_the_text() {
    let a = Array::from([1.0f32]);
    a.label("before\0after");
    let svg = drawn(&export_to_dot(&[&ops::exp(&a)]));
    assert_eq!(count(&svg, "class=\"node\""), 3, "{svg}");
}

#[test]
fn needs_graphviz_a_label_that_begins_with_a_percent_sign_is_drawn() {
    let a = Array::from([1.0f32]);
    a.label("%1");
    let svg = drawn(&export_to_dot(&[&ops::exp(&a)]));
    assert!(svg.contains(&format!(">%1 ({})<", a.id())), "{svg}");
}

#[test]
fn needs_graphviz_names_of_characters_in_a_label_are_only_text() {
    let a = Array::from([1.0f32]);
    a.label("&lt;");
    let svg = drawn(&export_to_dot(&[&ops::exp(&a)]));
    assert!(svg.contains(&format!(">&amp;lt; ({})<", a.id())), "{svg}");
}

#[test]
fn needs_graphviz_hostile_stream_labels_and_long_graphs_are_drawn() {
    let s = new_stream(Device::cpu()).unwrap();
    s.set_label("\"></svg> \\ \n");
    let sum = with_stream(s, || {
        let mut sum = Array::from([1.0f32]);
        for _ in 0..60 {
            sum = ops::add(&sum, 1);
        }
        sum
    });
    let svg = drawn(&export_to_dot(&[&sum]));
    assert!(count(&svg, ">add<") == 60);
}

#[test]
fn needs_graphviz_what_is_computed_and_nothing_at_all_are_graphs_too() {
    let a = ops::sum(&ops::ones([3], Dtype::Int32), Axes::All, false);
    a.eval().unwrap();
    assert_eq!(count(&drawn(&export_to_dot(&[&a])), "class=\"node\""), 1);
    assert_eq!(count(&drawn(&export_to_dot(&[])), "class=\"node\""), 0);
    assert_eq!(count(&drawn(&export_to_dot(&[&a, &a])), "class=\"node\""), 1);
}
