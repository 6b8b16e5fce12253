//! The figures of a run, as `report.json` keeps them.

use std::collections::BTreeMap;
use std::process::Command;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::cases::Device;
use super::install::{self, Installed};
use super::measure::Figures;
use super::stats::{Limits, best, limit_share};
use crate::process::{Failure, Result};

#[derive(Debug, Serialize)]
pub struct Report {
    pub machine: Map<String, Value>,
    pub limits: Limits,
    pub cases: Vec<Line>,
}

/// One case. Times are the best of all turns, in milliseconds.
#[derive(Debug, Serialize)]
pub struct Line {
    pub case: &'static str,
    pub device: Device,
    pub headline: bool,
    pub pellucid_ms: Option<f64>,
    pub peers: BTreeMap<String, f64>,
    pub best_peer: Option<String>,
    /// Above 1 if Pellucid is faster.
    pub ratio_to_best_peer: Option<f64>,
    pub limit_share: Option<f64>,
}

#[derive(Deserialize)]
struct Machine {
    machine: Map<String, Value>,
    limits: Limits,
}

/// What the machine is and what it can do at most.
pub fn machine(installed: &Installed) -> Result<(Map<String, Value>, Limits)> {
    let runner =
        install::runner(installed).ok_or_else(|| Failure::failed("Pellucid's runner is not built"))?;
    let output = Command::new(&runner.path)
        .arg("machine")
        .output()
        .map_err(|e| Failure::failed(format!("cannot start {}: {e}", runner.path.display())))?;
    let load = load_average();
    let Machine { mut machine, limits } = serde_json::from_slice(&output.stdout).map_err(|e| {
        let said = String::from_utf8_lossy(&output.stderr);
        Failure::failed(format!("the machine could not be measured: {e} {said}"))
    })?;
    machine.insert("load_average".to_owned(), Value::from(load));
    Ok((machine, limits))
}

/// How many threads wanted to run in the last minute, where the system says so.
pub fn load_average() -> Option<f64> {
    let text = std::fs::read_to_string("/proc/loadavg").ok()?;
    text.split_whitespace().next()?.parse().ok()
}

impl Report {
    pub fn new(
        mut machine: Map<String, Value>,
        limits: Limits,
        versions: &[(String, String)],
        quick: bool,
        figures: &[Figures],
    ) -> Report {
        let versions = versions.iter().map(|(name, version)| (name.clone(), Value::from(version.as_str())));
        machine.insert("versions".to_owned(), Value::Object(versions.collect()));
        machine.insert("run".to_owned(), Value::from(if quick { "quick" } else { "full" }));
        // The limits are the processor's; they mean something for a GPU only if it is the processor.
        let software =
            machine.get("gpu").and_then(|gpu| gpu.get("type")).is_some_and(|kind| kind == "software");
        let lines = figures.iter().map(|f| Line::new(f, &limits, f.case.device == Device::Cpu || software));
        let cases = lines.collect();
        Report { machine, limits, cases }
    }

    pub fn json(&self) -> Result<String> {
        let text = serde_json::to_string_pretty(self);
        text.map(|text| text + "\n").map_err(|e| Failure::failed(format!("cannot write the report: {e}")))
    }
}

impl Line {
    fn new(figures: &Figures, limits: &Limits, has_limit: bool) -> Line {
        let best_of =
            |times: &super::measure::Times| Some((times.subject.clone(), rounded(best(&times.ms)?)));
        let (own, peers) = match figures.times.split_first() {
            Some((own, peers)) => (best_of(own), peers),
            None => (None, &[][..]),
        };
        let pellucid_ms = own.map(|(_, ms)| ms);
        let peers: BTreeMap<String, f64> = peers.iter().filter_map(best_of).collect();
        let best_peer = peers.iter().min_by(|a, b| a.1.total_cmp(b.1));
        let ratio = best_peer.zip(pellucid_ms).map(|((_, peer), own)| rounded(peer / own));
        let share = pellucid_ms.filter(|_| has_limit).and_then(|ms| limit_share(figures.case, ms, limits));
        Line {
            case: figures.case.name,
            device: figures.case.device,
            headline: figures.case.headline,
            pellucid_ms,
            best_peer: best_peer.map(|(name, _)| name.clone()),
            ratio_to_best_peer: ratio,
            limit_share: share.map(rounded),
            peers,
        }
    }
}

/// Five digits: no clock here knows more.
fn rounded(value: f64) -> f64 {
    if value == 0.0 || !value.is_finite() {
        return value;
    }
    let scale = 10f64.powi(4 - value.abs().log10().floor() as i32);
    (value * scale).round() / scale
}

#[cfg(test)]
mod tests {
    use super::super::cases::CASES;
    use super::super::measure::Times;
    use super::*;

    const LIMITS: Limits =
        Limits { threads: 2, copy_gb_per_s: 20.0, read_gb_per_s: 25.0, peak_f32_gflop_per_s: 200.0 };

    fn times(subject: &str, ms: &[f64]) -> Times {
        Times { subject: subject.to_owned(), ms: ms.to_vec(), failure: None }
    }

    fn report(times: Vec<Times>) -> Value {
        let figures = [Figures { case: &CASES[0], times }];
        let versions = [("pellucid".to_owned(), "0.1.0".to_owned())];
        let report = Report::new(Map::new(), LIMITS, &versions, true, &figures);
        serde_json::from_str(&report.json().unwrap()).unwrap()
    }

    #[test]
    fn the_report_has_the_promised_fields_and_no_others() {
        let report = report(vec![
            times("pellucid", &[12.0, 10.0]),
            times("numpy", &[15.0, 16.0]),
            times("torch", &[]),
            times("mlx", &[54.0]),
        ]);
        let mut keys: Vec<&str> = report.as_object().unwrap().keys().map(String::as_str).collect();
        keys.sort_unstable();
        assert_eq!(keys, ["cases", "limits", "machine"]);
        assert_eq!(
            report["cases"][0],
            serde_json::json!({
                "case": "add", "device": "cpu", "headline": true, "pellucid_ms": 10.0,
                "peers": {"numpy": 15.0, "mlx": 54.0}, "best_peer": "numpy", "ratio_to_best_peer": 1.5,
                "limit_share": 1.0066
            })
        );
    }

    #[test]
    fn a_case_without_peers_has_no_ratio() {
        let report = report(vec![times("pellucid", &[10.0]), times("numpy", &[])]);
        let case = &report["cases"][0];
        assert_eq!((&case["best_peer"], &case["ratio_to_best_peer"]), (&Value::Null, &Value::Null));
        assert_eq!(case["peers"], serde_json::json!({}));
    }

    #[test]
    fn five_digits_are_kept() {
        assert_eq!(rounded(1234.5678), 1234.6);
        assert_eq!(rounded(0.000123456), 0.00012346);
        assert_eq!(rounded(0.0), 0.0);
    }
}
