//! A table of the parts of a model.

use std::fmt;

use pellucid::Array;

use super::{Module, Param, Visit, Visitor};

/// What a row is about.
enum Row {
    /// A module: path, kind.
    Module(String, &'static str),
    /// An array: path, shape and type, elements, bytes, whether it is learnt.
    Array { path: String, about: String, size: usize, bytes: usize, learnt: bool },
}

/// The parts of a model with shapes and counts, to be printed. Made by [`Module::summary`].
pub struct Summary {
    rows: Vec<Row>,
}

struct Rows(Vec<Row>);

impl Rows {
    fn array(&mut self, path: &str, array: &Array, learnt: bool) {
        self.0.push(Row::Array {
            path: path.to_owned(),
            about: format!("{} {}", array.shape_ref(), array.dtype()),
            size: array.size(),
            bytes: array.nbytes(),
            learnt,
        });
    }
}

impl Visitor for Rows {
    fn begin(&mut self, path: &str, kind: &'static str) {
        self.0.push(Row::Module(path.to_owned(), kind));
    }

    fn parameter(&mut self, path: &str, parameter: &Param) {
        self.array(path, parameter.array(), !parameter.is_frozen());
    }

    fn buffer(&mut self, path: &str, array: &Array) {
        self.array(path, array, false);
    }
}

impl Summary {
    pub(super) fn of(module: &(impl Module + ?Sized)) -> Summary {
        let mut rows = Rows(Vec::new());
        Visit::all(module, &mut rows);
        Summary { rows: rows.0 }
    }

    /// How many numbers are in the arrays; only in those that are learnt, if asked.
    pub fn count(&self, only_learnt: bool) -> usize {
        let size = |row: &Row| match row {
            Row::Array { size, learnt, .. } if *learnt || !only_learnt => *size,
            _ => 0,
        };
        self.rows.iter().map(size).sum()
    }

    /// How much memory the arrays take.
    pub fn bytes(&self) -> usize {
        self.rows.iter().map(|row| if let Row::Array { bytes, .. } = row { *bytes } else { 0 }).sum()
    }
}

/// A number with commas.
fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lines: Vec<[String; 3]> = self
            .rows
            .iter()
            .map(|row| match row {
                Row::Module(path, kind) => {
                    let path = if path.is_empty() { "(model)".to_owned() } else { path.clone() };
                    [path, (*kind).to_owned(), String::new()]
                }
                Row::Array { path, about, size, learnt, .. } => {
                    let note = if *learnt { "" } else { "  not learnt" };
                    [format!("  {path}"), about.clone(), format!("{}{note}", grouped(*size))]
                }
            })
            .collect();
        let width = |column: usize| lines.iter().map(|line| line[column].chars().count()).max().unwrap_or(0);
        let (first, second) = (width(0), width(1));
        for [path, about, count] in &lines {
            let line = format!("{path:<first$}  {about:<second$}  {count}");
            writeln!(f, "{}", line.trim_end())?;
        }
        write!(
            f,
            "{} parameters, {} learnt, {} bytes",
            grouped(self.count(false)),
            grouped(self.count(true)),
            grouped(self.bytes())
        )
    }
}
