//! Text for people: sizes, times, shares, tables and headings. Colour only on a terminal.

use std::io::{self, Write};

use comfy_table::{CellAlignment, ContentArrangement, Table, presets};

/// A size, in units of 1024.
pub fn bytes(n: u64) -> String {
    const UNITS: [&str; 5] = ["KiB", "MiB", "GiB", "TiB", "PiB"];
    if n < 1024 {
        return format!("{n} B");
    }
    let mut value = n as f64 / 1024.0;
    let mut unit = 0;
    while value >= 1023.95 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    format!("{value:.1} {}", UNITS[unit])
}

/// A time in nanoseconds, with three digits or more.
pub fn time(ns: i64) -> String {
    let magnitude = ns.unsigned_abs();
    let sign = if ns < 0 { "-" } else { "" };
    let (value, unit) = match magnitude {
        0..1000 => return format!("{sign}{magnitude} ns"),
        1000..1_000_000 => (magnitude as f64 / 1e3, "µs"),
        1_000_000..1_000_000_000 => (magnitude as f64 / 1e6, "ms"),
        _ => (magnitude as f64 / 1e9, "s"),
    };
    let digits = if value < 10.0 { 2 } else { 1 };
    format!("{sign}{value:.digits$} {unit}")
}

/// A time that cannot be negative.
pub fn span(ns: u64) -> String {
    time(i64::try_from(ns).unwrap_or(i64::MAX))
}

/// A number with its thousands apart.
pub fn count(n: u64) -> String {
    let digits = n.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// `1 launch`, `2 launches`: the plural of regular words.
pub fn counted(n: u64, word: &str) -> String {
    let ending = match word {
        _ if n == 1 => "",
        _ if word.ends_with("ch") || word.ends_with('s') => "es",
        _ => "s",
    };
    format!("{} {word}{ending}", count(n))
}

/// A part of a whole.
pub fn share(part: f64) -> String {
    format!("{:.1} %", 100.0 * part)
}

/// A rate; nothing if it is nothing.
pub fn rate(value: f64) -> String {
    match value {
        v if v <= 0.0 || !v.is_finite() => "–".to_owned(),
        v if v < 10.0 => format!("{v:.2}"),
        v => format!("{v:.1}"),
    }
}

/// The fastest a device goes.
pub fn roof(bytes_per_second: f64, flops_per_second: f64) -> String {
    format!("{} GB/s and {} GFLOP/s", rate(bytes_per_second / 1e9), rate(flops_per_second / 1e9))
}

/// An element or a figure, short but with every digit that tells something apart.
pub fn value(v: f64) -> String {
    if v == 0.0 || (1e-3..1e7).contains(&v.abs()) {
        let text = format!("{v:.6}");
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else if v.is_finite() {
        format!("{v:.6e}")
    } else {
        v.to_string()
    }
}

/// A shape as the library writes it.
pub fn shape(dims: &[u64]) -> String {
    let dims: Vec<String> = dims.iter().map(u64::to_string).collect();
    format!("[{}]", dims.join(", "))
}

/// The text, cut in the middle if it is longer than `most` characters: both ends of names and paths tell something.
pub fn short(text: &str, most: usize) -> String {
    let length = text.chars().count();
    // What a file says is never trusted to a terminal.
    let clean = |c: char| if c.is_control() { '\u{fffd}' } else { c };
    if length <= most {
        return text.chars().map(clean).collect();
    }
    let head = (most - 1) / 3;
    let tail = most - 1 - head;
    let start = text.chars().take(head);
    start.chain(std::iter::once('…')).chain(text.chars().skip(length - tail)).map(clean).collect()
}

/// A heading with an empty line before it.
pub fn heading(out: &mut impl Write, text: &str) -> io::Result<()> {
    writeln!(out, "\n{}", console::style(text).bold())
}

/// What is wrong, so that it is seen.
pub fn bad(text: &str) -> String {
    console::style(text).red().bold().to_string()
}

/// What is right.
pub fn good(text: &str) -> String {
    console::style(text).green().to_string()
}

/// Which side a column is aligned to.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// Text.
    Left,
    /// Numbers.
    Right,
}

/// Prints rows under headers, as wide as they are.
pub fn table(out: &mut impl Write, headers: &[(&str, Side)], rows: Vec<Vec<String>>) -> io::Result<()> {
    let mut table = Table::new();
    table.load_preset(presets::NOTHING).set_content_arrangement(ContentArrangement::Disabled);
    table.set_header(headers.iter().map(|(name, _)| console::style(*name).dim().to_string()));
    table.add_rows(rows);
    for (column, (_, side)) in table.column_iter_mut().zip(headers) {
        column.set_padding((0, 2));
        column.set_cell_alignment(match side {
            Side::Left => CellAlignment::Left,
            Side::Right => CellAlignment::Right,
        });
    }
    for line in table.lines() {
        writeln!(out, "  {}", line.trim_end())?;
    }
    Ok(())
}

/// Prints a value as JSON for programs.
pub fn json(out: &mut impl Write, value: &impl serde::Serialize) -> Result<(), Box<dyn std::error::Error>> {
    serde_json::to_writer_pretty(&mut *out, value)?;
    writeln!(out)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_change_where_the_number_would_get_long() {
        assert_eq!(
            [0, 1023, 1024, 1536, 1 << 20, 5 << 30].map(bytes).join(" "),
            "0 B 1023 B 1.0 KiB 1.5 KiB 1.0 MiB 5.0 GiB"
        );
        assert_eq!(bytes(u64::MAX), "16384.0 PiB");
        assert_eq!(
            [0, 999, 1000, 12_345, 1_500_000, -2_000_000_000].map(time).join(" "),
            "0 ns 999 ns 1.00 µs 12.3 µs 1.50 ms -2.00 s"
        );
        assert_eq!(time(i64::MIN), "-9223372036.9 s");
        assert_eq!([0, 999, 1000, 1_234_567].map(count).join(" "), "0 999 1,000 1,234,567");
        assert_eq!(
            counted(1, "launch") + &counted(2, "launch") + &counted(0, "op"),
            "1 launch2 launches0 ops"
        );
        assert_eq!([0.0, 0.5, 1e-9, -123.25, f64::NAN].map(value).join(" "), "0 0.5 1.000000e-9 -123.25 NaN");
    }

    #[test]
    fn long_names_keep_both_ends_and_cannot_steer_the_terminal() {
        assert_eq!(short("abcdefghijkl", 7), "ab…ijkl");
        assert_eq!(short("a\u{1b}[31m", 10), "a\u{fffd}[31m");
    }
}
