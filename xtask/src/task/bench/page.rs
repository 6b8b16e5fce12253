//! The figures as a page that needs nothing from the network: plots as inline SVG, and the table.

use std::fmt::Write;

use super::cases::Device;
use super::measure::Figures;
use super::report::{Line, Report};
use super::stats::{best, median};
use super::table::time;

const STYLE: &str = include_str!("page.css");
/// A colour for each subject; Pellucid's is the first and strongest.
const COLOURS: [&str; 7] = ["#d6336c", "#1c7ed6", "#f08c00", "#2f9e44", "#7048e8", "#0c8599", "#868e96"];

const LABEL: f64 = 230.0;
const PLOT: f64 = 620.0;
const ROW: f64 = 24.0;

pub fn html(report: &Report, figures: &[Figures]) -> String {
    let mut page = format!(
        "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width\">\n<title>Pellucid: benchmark</title>\n\
         <style>{STYLE}</style>\n<h1>Pellucid beside its peers</h1>\n"
    );
    page.push_str(&machine(report));
    for device in Device::ALL {
        let rows: Vec<(&Line, &Figures)> =
            report.cases.iter().zip(figures).filter(|(line, _)| line.device == device).collect();
        if rows.is_empty() {
            continue;
        }
        let name = if device == Device::Cpu { "CPU" } else { "GPU" };
        let _ = write!(page, "<h2>{name}: ratio to the best peer</h2>\n{}", ratios(&rows));
        let _ = write!(page, "<h2>{name}: times</h2>\n{}{}", legend(&rows), times(&rows));
        let _ = write!(page, "<h2>{name}: figures</h2>\n{}", table(&rows));
    }
    page.push_str("</html>\n");
    page
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

fn machine(report: &Report) -> String {
    let text = |key: &str| match report.machine.get(key) {
        Some(serde_json::Value::String(text)) => escape(text),
        _ => String::new(),
    };
    let limits = &report.limits;
    let mut out = format!(
        "<p>{} ({}), {} threads. Copy {:.1} GB/s, read {:.1} GB/s, {:.0} GFLOP/s in float32, measured with all \
         threads. A {} run: best of all turns, in milliseconds.</p>\n",
        text("processor"),
        text("architecture"),
        limits.threads,
        limits.copy_gb_per_s,
        limits.read_gb_per_s,
        limits.peak_f32_gflop_per_s,
        text("run"),
    );
    if let Some(versions) = report.machine.get("versions").and_then(|v| v.as_object()) {
        let versions =
            versions.iter().map(|(name, v)| escape(&format!("{name} {}", v.as_str().unwrap_or("?"))));
        let _ = writeln!(out, "<p>{}</p>", versions.collect::<Vec<_>>().join(" · "));
    }
    out
}

/// A logarithmic scale: where values go between two ends, and the ticks of 1, 2 and 5.
struct Scale {
    low: f64,
    high: f64,
}

impl Scale {
    fn around(values: impl Iterator<Item = f64>) -> Scale {
        let (low, high) =
            values.filter(|v| *v > 0.0).fold((f64::MAX, f64::MIN), |(l, h), v| (l.min(v), h.max(v)));
        if low > high { Scale { low: 0.5, high: 2.0 } } else { Scale { low: low / 1.3, high: high * 1.3 } }
    }

    fn x(&self, value: f64) -> f64 {
        LABEL + PLOT * (value / self.low).ln() / (self.high / self.low).ln()
    }

    fn ticks(&self) -> Vec<f64> {
        let decades = (self.high / self.low).log10();
        let steps: &[f64] = if decades > 4.0 { &[1.0] } else { &[1.0, 2.0, 5.0] };
        let first = self.low.log10().floor() as i32;
        let last = self.high.log10().ceil() as i32;
        let ticks = (first..=last).flat_map(|power| steps.iter().map(move |step| step * 10f64.powi(power)));
        ticks.filter(|t| (self.low..=self.high).contains(t)).collect()
    }
}

fn svg(scale: &Scale, rows: usize, unit: &str, inner: &str) -> String {
    let (width, height) = (LABEL + PLOT + 70.0, ROW * rows as f64 + 30.0);
    let mut out = format!("<svg viewBox=\"0 0 {width} {height}\" role=\"img\">\n");
    for tick in scale.ticks() {
        let (x, end) = (scale.x(tick), height - 22.0);
        let text = if tick >= 1.0 { format!("{tick:.0}") } else { format!("{tick}") };
        let _ = writeln!(
            out,
            "<line class=\"grid\" x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"0\" y2=\"{end}\"/>\
             <text class=\"tick\" x=\"{x:.1}\" y=\"{}\">{text}{unit}</text>",
            height - 6.0
        );
    }
    out + inner + "</svg>\n"
}

fn name(line: &Line, y: f64) -> String {
    let class = if line.headline { "headline" } else { "case" };
    format!(
        "<text class=\"{class}\" x=\"{}\" y=\"{:.1}\">{}</text>",
        LABEL - 10.0,
        y + 4.0,
        escape(line.case)
    )
}

fn ratios(rows: &[(&Line, &Figures)]) -> String {
    let with: Vec<(&Line, f64)> =
        rows.iter().filter_map(|(l, _)| Some((*l, l.ratio_to_best_peer?))).collect();
    let scale = Scale::around(with.iter().map(|(_, ratio)| *ratio).chain([0.8, 1.25]));
    let mut inner = String::new();
    let one = scale.x(1.0);
    for (i, (line, ratio)) in with.iter().enumerate() {
        let y = ROW * (i as f64 + 0.5);
        let x = scale.x(*ratio);
        let class = if *ratio >= 1.0 { "faster" } else { "slower" };
        let _ = writeln!(
            inner,
            "{}<rect class=\"{class}\" x=\"{:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"14\"><title>{} against {}</title>\
             </rect><text class=\"value\" x=\"{:.1}\" y=\"{:.1}\">{ratio:.2}</text>",
            name(line, y),
            x.min(one),
            y - 7.0,
            (x - one).abs(),
            escape(line.case),
            line.best_peer.as_deref().unwrap_or("nobody"),
            x.max(one) + 5.0,
            y + 4.0
        );
    }
    let end = ROW * with.len() as f64;
    let _ = writeln!(inner, "<line class=\"one\" x1=\"{one:.1}\" x2=\"{one:.1}\" y1=\"0\" y2=\"{end:.1}\"/>");
    svg(&scale, with.len(), "×", &inner)
}

fn subjects<'a>(rows: &[(&'a Line, &'a Figures)]) -> Vec<&'a str> {
    rows.first().map_or(Vec::new(), |(_, f)| f.times.iter().map(|t| t.subject.as_str()).collect())
}

fn legend(rows: &[(&Line, &Figures)]) -> String {
    let mut out = String::from("<p class=\"legend\">");
    for (subject, colour) in subjects(rows).iter().zip(COLOURS) {
        let _ = write!(out, "<span><i style=\"background:{colour}\"></i>{}</span>", escape(subject));
    }
    out + "<span>dot: best, line: to the median</span></p>\n"
}

fn times(rows: &[(&Line, &Figures)]) -> String {
    let all = rows.iter().flat_map(|(_, f)| &f.times).flat_map(|t| [best(&t.ms), median(&t.ms)]).flatten();
    let scale = Scale::around(all);
    let mut inner = String::new();
    for (i, (line, figures)) in rows.iter().enumerate() {
        let y = ROW * (i as f64 + 0.5);
        let _ = writeln!(inner, "{}", name(line, y));
        // Pellucid is drawn last, over the others.
        for (times, colour) in figures.times.iter().zip(COLOURS).rev() {
            let Some((best, median)) = best(&times.ms).zip(median(&times.ms)) else { continue };
            let (x, end) = (scale.x(best), scale.x(median));
            let _ = writeln!(
                inner,
                "<line stroke=\"{colour}\" stroke-width=\"2\" x1=\"{x:.1}\" x2=\"{end:.1}\" y1=\"{y}\" y2=\"{y}\"/>\
                 <circle fill=\"{colour}\" cx=\"{x:.1}\" cy=\"{y}\" r=\"5\"><title>{}: best {} ms, median {} ms</title>\
                 </circle>",
                escape(&times.subject),
                time(best),
                time(median)
            );
        }
    }
    svg(&scale, rows.len(), " ms", &inner)
}

fn table(rows: &[(&Line, &Figures)]) -> String {
    let mut out = String::from("<table><tr><th>case</th>");
    for subject in subjects(rows) {
        let _ = write!(out, "<th>{}</th>", escape(subject));
    }
    out.push_str("<th>ratio</th><th>share of the limit</th></tr>\n");
    for (line, figures) in rows {
        let _ = write!(out, "<tr><td>{}{}</td>", if line.headline { "★ " } else { "" }, escape(line.case));
        for times in &figures.times {
            match best(&times.ms).zip(median(&times.ms)) {
                Some((best, median)) => {
                    let _ = write!(out, "<td>{} <small>{}</small></td>", time(best), time(median));
                }
                None => out.push_str("<td>–</td>"),
            }
        }
        let ratio = line.ratio_to_best_peer.map_or("–".to_owned(), |r| format!("{r:.2}"));
        let class = if line.ratio_to_best_peer.is_some_and(|r| r < 1.0) { " class=\"slower\"" } else { "" };
        let share = line.limit_share.map_or("–".to_owned(), |s| format!("{:.0} %", 100.0 * s));
        let _ = writeln!(out, "<td{class}>{ratio}</td><td>{share}</td></tr>");
    }
    out + "</table>\n<p>Best, and small the median, in milliseconds. ★: a case of the headline table.</p>\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_scale_is_logarithmic_and_has_round_ticks() {
        let scale = Scale { low: 0.1, high: 10.0 };
        assert_eq!(scale.x(0.1), LABEL);
        assert!((scale.x(1.0) - (LABEL + PLOT / 2.0)).abs() < 1e-9);
        let ticks = scale.ticks();
        assert_eq!(ticks.len(), 7, "{ticks:?}");
        assert!((ticks[1] - 0.2).abs() < 1e-12 && ticks[6] == 10.0, "{ticks:?}");
    }

    #[test]
    fn text_cannot_break_the_page() {
        assert_eq!(escape("<a & \"b\">"), "&lt;a &amp; &quot;b&quot;&gt;");
    }
}
