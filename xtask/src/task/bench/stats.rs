//! What the times of a case say: the best, the median, ratios and shares of the machine's limits.

use serde::{Deserialize, Serialize};

use super::cases::Case;

/// What the machine can do at most, measured with all cores.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Limits {
    pub threads: usize,
    /// Bytes read plus bytes written by a copy.
    pub copy_gb_per_s: f64,
    pub read_gb_per_s: f64,
    pub peak_f32_gflop_per_s: f64,
}

/// The least of the times, or `None` if there are none.
pub fn best(times: &[f64]) -> Option<f64> {
    times.iter().copied().reduce(f64::min)
}

/// The time in the middle, or the mean of the two.
pub fn median(times: &[f64]) -> Option<f64> {
    let mut sorted = times.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    match sorted.len() {
        0 => None,
        n if n % 2 == 1 => Some(sorted[middle]),
        _ => Some((sorted[middle - 1] + sorted[middle]) / 2.0),
    }
}

/// How much of the machine's limit a time reaches: 1 means that it cannot be faster, unless the data is in a cache.
/// `None` for cases that neither memory nor arithmetic limits.
pub fn limit_share(case: &Case, ms: f64, limits: &Limits) -> Option<f64> {
    // What is only read may be faster than what is copied.
    let bandwidth = if case.written > 0.0 { limits.copy_gb_per_s } else { limits.read_gb_per_s };
    let memory = (case.read + case.written) / (bandwidth * 1e9);
    let arithmetic = case.flops / (limits.peak_f32_gflop_per_s * 1e9);
    let least = memory.max(arithmetic) * 1e3;
    (least > 0.0 && ms > 0.0).then_some(least / ms)
}

#[cfg(test)]
mod tests {
    use super::super::cases::{CASES, Device};
    use super::*;

    const LIMITS: Limits =
        Limits { threads: 2, copy_gb_per_s: 20.0, read_gb_per_s: 25.0, peak_f32_gflop_per_s: 200.0 };

    fn find(name: &str) -> &'static Case {
        CASES.iter().find(|c| c.name == name && c.device == Device::Cpu).unwrap()
    }

    #[test]
    fn the_median_is_in_the_middle_and_the_best_the_least() {
        assert_eq!((best(&[3.0, 1.0, 2.0]), median(&[3.0, 1.0, 2.0])), (Some(1.0), Some(2.0)));
        assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]), Some(2.5));
        assert_eq!((best(&[]), median(&[])), (None, None));
    }

    #[test]
    fn a_share_is_the_least_possible_time_over_the_time() {
        // 3 × 64 MiB at 20 GB/s take 10.07 ms.
        let share = limit_share(find("add"), 20.133, &LIMITS).unwrap();
        assert!((share - 0.5).abs() < 1e-3, "{share}");
        // 64 MiB are only read, at 25 GB/s: 2.68 ms.
        let share = limit_share(find("sum"), 2.6844, &LIMITS).unwrap();
        assert!((share - 1.0).abs() < 1e-3, "{share}");
        // 17.18 GFLOP at 200 per second: 85.9 ms.
        let share = limit_share(find("matmul 2048"), 171.8, &LIMITS).unwrap();
        assert!((share - 0.5).abs() < 1e-3, "{share}");
        assert_eq!(limit_share(find("sort 1M"), 5.0, &LIMITS), None);
    }
}
