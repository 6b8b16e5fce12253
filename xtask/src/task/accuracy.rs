//! `cargo xtask accuracy`: how far every float function is off on every device, written to `docs/accuracy.md`.

use std::collections::BTreeMap;
use std::fmt::Write;

use crate::process::{self, Failure, Result};

#[derive(clap::Args)]
pub struct Args {
    /// Try every N-th of all 2^32 floats
    #[arg(long, value_name = "N", default_value_t = 997, value_parser = clap::value_parser!(u32).range(1..))]
    step: u32,
}

/// The columns of the table: type, device, title.
const COLUMNS: [(&str, &str, &str); 7] = [
    ("float32", "cpu", "float32, CPU"),
    ("float32", "gpu", "float32, GPU"),
    ("float64", "cpu", "float64, CPU"),
    ("float16", "cpu", "float16, CPU"),
    ("float16", "gpu", "float16, GPU"),
    ("bfloat16", "cpu", "bfloat16, CPU"),
    ("bfloat16", "gpu", "bfloat16, GPU"),
];

pub fn run(args: &Args) -> Result<()> {
    let rows = process::root().join("target").join("accuracy.tsv");
    match std::fs::remove_file(&rows) {
        Err(e) if e.kind() != std::io::ErrorKind::NotFound => {
            return Err(Failure::failed(format!("cannot remove {}: {e}", rows.display())));
        }
        _ => {}
    }
    let mut tests = process::cargo(&["test", "-p", "pellucid", "--test", "accuracy"]);
    tests.env("PELLUCID_ACCURACY_STEP", args.step.to_string()).env("PELLUCID_ACCURACY_ROWS", &rows);
    // A function out of its bound fails the tests, but belongs in the table all the more.
    let outcome = process::run(&mut tests);
    let text = std::fs::read_to_string(&rows)
        .map_err(|e| Failure::failed(format!("cannot read {}: {e}", rows.display())))?;
    let page = process::root().join("docs").join("accuracy.md");
    std::fs::write(&page, document(&text, args.step))
        .map_err(|e| Failure::failed(format!("cannot write {}: {e}", page.display())))?;
    println!("{} is written", page.display());
    outcome.map(drop)
}

/// The page, from rows of function, type, device and error.
fn document(rows: &str, step: u32) -> String {
    let mut table: BTreeMap<&str, BTreeMap<(&str, &str), &str>> = BTreeMap::new();
    for row in rows.lines() {
        let mut parts = row.split('\t');
        if let (Some(function), Some(dtype), Some(device), Some(error)) =
            (parts.next(), parts.next(), parts.next(), parts.next())
        {
            table.entry(function).or_default().insert((dtype, device), error);
        }
    }
    let mut text = format!(
        "# How exact the float functions are

The largest error that was seen, in units in the last place (ULP): 0.50 is a result that is always the nearest float.
`cargo xtask accuracy` made this page and fails where a function leaves its bound, which stands beside it in
`crates/pellucid/tests/accuracy/functions.rs`; the same tests with fewer arguments are part of `cargo xtask test`.

- `float32`: every {step}th of all floats, the floats around one and around 25,000 multiples of π/2, pairs of random
  bits and of usual numbers for functions of two arguments, compared with the system's mathematical library in double
  precision; and 1,000 chosen points compared with mpmath at 1,200 bits.
- `float64`: 1,200 points over all exponents compared with mpmath; on the CPU only.
- 16-bit floats: each of the 65,536; computed in `float32` and rounded once.
- Zeros and their signs, infinities, NaN and subnormal numbers are among the arguments. A GPU may take subnormal numbers
  as zero, as WGSL allows; where it does, they are left out.
- The column of the GPU was measured on llvmpipe. Division and square roots are the driver's own; WGSL allows them 2.5
  ULP, and what is built on them can be off by as much more on other drivers.

| function |"
    );
    for (_, _, title) in COLUMNS {
        let _ = write!(text, " {title} |");
    }
    let _ = write!(text, "\n|---|{}\n", "---:|".repeat(COLUMNS.len()));
    for (function, errors) in &table {
        let _ = write!(text, "| `{function}` |");
        for (dtype, device, _) in COLUMNS {
            let _ = write!(text, " {} |", errors.get(&(dtype, device)).unwrap_or(&""));
        }
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_for_each_function_has_its_errors_in_their_columns() {
        let page = document("sin\tfloat32\tcpu\t0.51\t(1)\nsin\tfloat64\tcpu\t0.60\t(2)\n", 997);
        assert!(page.contains("| `sin` | 0.51 |  | 0.60 |  |  |  |  |\n"), "{page}");
    }
}
