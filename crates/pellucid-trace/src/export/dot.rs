//! The graph of operations for Graphviz: one box per launch, arrows along the data.

use std::collections::{BTreeMap, HashSet};
use std::fmt::Write as _;
use std::io::Write;

use crate::analysis::index::{Index, duration};
use crate::schema::{OpView, is_input};
use crate::{Error, Result, Trace};

/// Graphviz takes minutes beyond this.
const MOST: usize = 5_000;

/// Writes the graph of operations in the language of Graphviz.
///
/// # Errors
/// [`Error::TooManyToShow`] beyond 5,000 operations; as the tables; [`Error::Io`] if writing fails.
pub fn dot(trace: &Trace, out: impl Write) -> Result<()> {
    let (ops, launches) = (trace.ops()?, trace.launches()?);
    if ops.len() > MOST {
        return Err(Error::TooManyToShow {
            what: "the graph",
            count: ops.len(),
            unit: "operations",
            limit: MOST,
            target: "dot",
            advice: "use `pellucid view` instead",
        });
    }
    let index = Index::new(trace)?;
    let mut text =
        String::from("digraph trace {\n  rankdir=TB;\n  node [shape=box, fontname=\"sans-serif\"];\n");
    let mut groups: BTreeMap<u64, Vec<OpView>> = BTreeMap::new();
    for op in ops.iter() {
        match op.launch {
            Some(launch) => groups.entry(launch).or_default().push(op),
            None => node(&mut text, &op),
        }
    }
    for launch in launches.iter() {
        let Some(members) = groups.remove(&launch.id) else { continue };
        let title = format!("{} · {:.1} µs", launch.kernel, duration(&launch) as f64 / 1e3);
        let _ = writeln!(text, "  subgraph cluster_{} {{\n    label=\"{}\";", launch.id, escape(&title));
        members.iter().for_each(|op| node(&mut text, op));
        text.push_str("  }\n");
    }
    // Operations whose launch was left out.
    groups.values().flatten().for_each(|op| node(&mut text, op));
    for op in ops.iter() {
        let mut drawn = HashSet::new();
        for input in op.inputs {
            if let Some(maker) =
                index.arrays.get(*input).and_then(|row| ops.get(row)).filter(|_| drawn.insert(*input))
            {
                let _ = writeln!(text, "  n{} -> n{};", maker.id, op.id);
            }
        }
    }
    text.push_str("}\n");
    let mut sink = super::Sink::new(trace, out);
    sink.write(text.as_bytes())?;
    sink.flush()
}

fn node(text: &mut String, op: &OpView) {
    let mut label = op.label.map_or_else(|| op.name.to_owned(), |label| format!("{} \"{label}\"", op.name));
    for (shape, dtype) in op.shapes.iter().zip(op.dtypes.iter()) {
        let _ = write!(label, "\n{dtype} {shape:?}");
    }
    let style = match () {
        () if is_input(op.op) => ", style=filled, fillcolor=lightgrey",
        () if op.launch.is_none() => ", style=dashed",
        () if op.fallback => ", color=red",
        () => "",
    };
    let _ = writeln!(text, "    n{} [label=\"{}\"{style}];", op.id, escape(&label));
}

fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '"' | '\\' => escaped.extend(['\\', c]),
            '\n' => escaped.push_str("\\n"),
            c if c.is_control() => escaped.push('\u{fffd}'),
            c => escaped.push(c),
        }
    }
    escaped
}
