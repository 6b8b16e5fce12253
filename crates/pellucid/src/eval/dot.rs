//! The graph of lazy arrays as Graphviz text.

use std::collections::{HashMap, HashSet};
use std::fmt::Write;

use crate::array::{Array, State, Work};

/// Writes the graph behind `arrays` in Graphviz's `dot` language: operations as boxes, arrays as ellipses. Arrays show
/// their label, or letters in the order in which they are found.
///
/// ```
/// use pellucid::{Array, export_to_dot};
/// let a = Array::from([1.0f32]);
/// let dot = export_to_dot(&[&(&a + &a)]);
/// assert!(dot.starts_with("digraph {"));
/// ```
pub fn export_to_dot(arrays: &[&Array]) -> String {
    let mut names: HashMap<u64, String> = HashMap::new();
    let mut seen: HashMap<u64, ()> = HashMap::new();
    let mut text = String::from("digraph {\n");
    let mut stack: Vec<Array> = arrays.iter().rev().map(|&a| a.clone()).collect();
    let mut used: HashMap<u64, ()> = HashMap::new();
    let mut drawn = HashSet::new();
    while let Some(array) = stack.pop() {
        if seen.insert(array.id(), ()).is_some() {
            continue;
        }
        let name = name_of(&mut names, &array);
        if let Some(label) = array.label_text() {
            // The number keeps arrays apart that share a label.
            let _ = writeln!(text, "  {name} [label={}];", quoted(&format!("{label} ({})", array.id())));
        }
        let work = lazy_work(&array);
        let about = format!("{} {}", array.dtype(), array.shape_ref());
        let Some((id, work)) = work else {
            let _ = writeln!(text, "  {{ rank=source; {name} [tooltip={}]; }}", quoted(&about));
            continue;
        };
        // Several results have one operation, which is drawn with the first of them that is found.
        if drawn.insert(id) {
            let tip = format!("{about}, {} at {}", array.stream(), array.call_site());
            let (label, tip) = (quoted(work.op.name()), quoted(&tip));
            let _ = writeln!(text, "  op{id} [label={label}, shape=rectangle, tooltip={tip}];");
            for input in &work.inputs {
                let input_name = name_of(&mut names, input);
                let _ = writeln!(text, "  {input_name} -> op{id};");
                used.insert(input.id(), ());
                stack.push(input.clone());
            }
        }
        let _ = writeln!(text, "  op{id} -> {name};");
    }
    for array in arrays.iter().filter(|a| !used.contains_key(&a.id())) {
        let _ = writeln!(text, "  {{ rank=sink; {}; }}", name_of(&mut names, array));
    }
    text.push('}');
    text
}

/// The work of a lazy array, copied out so that no two states are locked at once, and its number: that of its first
/// result.
fn lazy_work(array: &Array) -> Option<(u64, Work)> {
    let work = |state: &State| match state {
        State::Lazy(work) => Some(Work::clone(work)),
        _ => None,
    };
    match &*array.0.state.lock() {
        State::Shared(part) => {
            let shared = part.shared();
            shared.with_state(|state| work(state)).map(|work| (shared.facts()[0].id, work))
        }
        state => work(state).map(|work| (array.id(), work)),
    }
}

fn name_of(names: &mut HashMap<u64, String>, array: &Array) -> String {
    let next = names.len();
    let make = || match array.label_text() {
        // Graphviz keeps some names to itself, so that a label is never one.
        Some(_) => format!("array{}", array.id()),
        None => quoted(&letters(next)),
    };
    names.entry(array.id()).or_insert_with(make).clone()
}

/// A, B, …, Z, AA, AB, …
fn letters(mut n: usize) -> String {
    let mut text = Vec::new();
    loop {
        text.push(b'A' + (n % 26) as u8);
        if n < 26 {
            break;
        }
        n = n / 26 - 1;
    }
    text.iter().rev().map(|&b| b as char).collect()
}

/// Text in quotes: nothing in it ends the text, or is read as the name of a character.
fn quoted(text: &str) -> String {
    let text = text.replace('&', "&amp;").replace('\\', "\\\\").replace('"', "\\\"");
    format!("\"{}\"", text.replace('\n', "\\n").replace('\0', "\u{2400}"))
}
