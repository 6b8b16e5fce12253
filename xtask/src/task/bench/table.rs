//! The figures on the terminal.

use console::{Alignment, measure_text_width, pad_str, style};

use super::cases::Device;
use super::measure::Figures;
use super::report::{Line, Report};
use super::stats::{best, median};

pub fn print(report: &Report, figures: &[Figures]) {
    let limits = &report.limits;
    println!(
        "the machine, with {} threads: copy {:.1} GB/s, read {:.1} GB/s, {:.0} GFLOP/s",
        limits.threads, limits.copy_gb_per_s, limits.read_gb_per_s, limits.peak_f32_gflop_per_s
    );
    for device in Device::ALL {
        let rows: Vec<(&Line, &Figures)> =
            report.cases.iter().zip(figures).filter(|(line, _)| line.device == device).collect();
        if !rows.is_empty() {
            println!("\n{}", if device == Device::Cpu { "CPU" } else { "GPU" });
            print!("{}", table(&rows));
        }
    }
    println!(
        "\nBest times in milliseconds, Pellucid's median in brackets. A ratio above 1: Pellucid is faster."
    );
    for figures in figures {
        for times in &figures.times {
            if let Some(why) = &times.failure {
                println!("{}, {}: {why}", figures.case.name, times.subject);
            }
        }
    }
}

fn table(rows: &[(&Line, &Figures)]) -> String {
    let peers: Vec<&str> = match rows.first() {
        Some((_, figures)) => figures.times.iter().skip(1).map(|t| t.subject.as_str()).collect(),
        None => Vec::new(),
    };
    let header = ["  case", "pellucid", "(median)"].into_iter().chain(peers.iter().copied());
    let mut lines =
        vec![header.chain(["ratio", "limit"]).map(|word| style(word).dim().to_string()).collect()];
    for (line, figures) in rows {
        let own = figures.times.first().and_then(|own| Some((best(&own.ms)?, median(&own.ms)?)));
        let mut cells = vec![
            format!("{}{}", if line.headline { "* " } else { "  " }, line.case),
            own.map_or("–".to_owned(), |(best, _)| time(best)),
            own.map_or(String::new(), |(_, median)| format!("({})", time(median))),
        ];
        cells.extend(peers.iter().map(|&peer| line.peers.get(peer).map_or("–".to_owned(), |&ms| time(ms))));
        cells.push(line.ratio_to_best_peer.map_or("–".to_owned(), ratio));
        cells.push(line.limit_share.map_or("–".to_owned(), |share| format!("{:.0} %", 100.0 * share)));
        lines.push(cells);
    }
    aligned(&lines)
}

/// The first column to the left, the others to the right.
fn aligned(lines: &[Vec<String>]) -> String {
    let columns = lines.first().map_or(0, Vec::len);
    let width = |i: usize| lines.iter().map(|cells| measure_text_width(&cells[i])).max().unwrap_or(0);
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let mut text = String::new();
    for cells in lines {
        for (i, (cell, width)) in cells.iter().zip(&widths).enumerate() {
            let side = if i == 0 { Alignment::Left } else { Alignment::Right };
            text.push_str(&pad_str(cell, *width, side, None));
            text.push_str(if i + 1 == columns { "\n" } else { "  " });
        }
    }
    text
}

fn ratio(ratio: f64) -> String {
    let text = format!("{ratio:.2}");
    if ratio >= 1.0 { style(text).green().to_string() } else { style(text).red().to_string() }
}

/// Milliseconds with three digits.
pub fn time(ms: f64) -> String {
    match ms {
        ms if ms < 0.01 => format!("{ms:.5}"),
        ms if ms < 1.0 => format!("{ms:.3}"),
        ms if ms < 10.0 => format!("{ms:.2}"),
        ms if ms < 100.0 => format!("{ms:.1}"),
        ms => format!("{ms:.0}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_aligned() {
        let line = |words: &[&str]| words.iter().map(|w| (*w).to_owned()).collect();
        let text = aligned(&[line(&["case", "ms"]), line(&["a", "12.5"])]);
        assert_eq!(text, "case    ms\na     12.5\n");
    }

    #[test]
    fn times_have_three_digits() {
        let shown: Vec<String> = [0.00123, 0.0123, 1.234, 12.34, 123.4].into_iter().map(time).collect();
        assert_eq!(shown, ["0.00123", "0.012", "1.23", "12.3", "123"]);
    }
}
