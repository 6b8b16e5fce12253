//! What was found, function by function; written as rows for `docs/accuracy.md` if `PELLUCID_ACCURACY_ROWS` names a
//! file.

use std::fs::OpenOptions;
use std::io::Write;

use pellucid::{Device, Result};

use crate::ulp::{Format, Worst};

#[derive(Default)]
pub struct Table {
    rows: Vec<String>,
    failed: Vec<String>,
}

impl Table {
    pub fn add(&mut self, function: &str, format: Format, device: Device, worst: &Worst, bound: f64) {
        let kind = if device == Device::cpu() { "cpu" } else { "gpu" };
        let format = format!("{format:?}").to_lowercase();
        println!("{function:10} {format:8} {kind}: {:.3} at {function}{}", worst.error, worst.place);
        self.rows.push(format!("{function}\t{format}\t{kind}\t{:.2}\t{}", worst.error, worst.place));
        if worst.error > bound {
            let (error, place) = (worst.error, &worst.place);
            self.failed
                .push(format!("{format} on the {kind}: {error:.2} units, not {bound}: {function}{place}"));
        }
    }

    /// Writes the rows where they are asked for, then fails if a function was out of its bound.
    pub fn settle(self, what: &str) -> Result<()> {
        if let Some(path) = std::env::var_os("PELLUCID_ACCURACY_ROWS") {
            let mut file =
                OpenOptions::new().append(true).create(true).open(path).expect("the file can be made");
            writeln!(file, "{}", self.rows.join("\n")).expect("the file can be written");
        }
        assert!(self.failed.is_empty(), "{what}:\n{}", self.failed.join("\n"));
        Ok(())
    }
}
