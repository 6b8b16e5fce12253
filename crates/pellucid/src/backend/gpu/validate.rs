//! `PELLUCID_VALIDATE=1`: every launch runs on the CPU as well, and the results are compared.

use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;

use super::pipeline::validating;
use crate::array::{Dtype, HostView, Value};
use crate::call_site::CallSite;
use crate::error::Result;
use crate::gpu::ValidationReport;
use crate::op::{Scalar, Spec};

static LAUNCHES: AtomicU64 = AtomicU64::new(0);
static MISMATCHES: AtomicU64 = AtomicU64::new(0);
static FIRST: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// More than this many are counted, not described.
const MOST: usize = 16;

/// What was found so far.
pub(crate) fn report() -> ValidationReport {
    ValidationReport {
        enabled: validating(),
        launches: LAUNCHES.load(Ordering::Relaxed),
        mismatches: MISMATCHES.load(Ordering::Relaxed),
        first: FIRST.lock().clone(),
    }
}

/// Relative to the largest element: functions differ by a few ULP, sums by their order.
fn tolerance(dtype: Dtype) -> f64 {
    match dtype {
        Dtype::Float16 => 4e-3,
        Dtype::Bfloat16 => 3e-2,
        d if d.is_inexact() => 2e-5,
        _ => 0.0,
    }
}

/// Compares what the GPU made of an operation with what the CPU makes of it.
///
/// # Errors
/// Those of copying from the GPU.
pub(crate) fn compare(name: &str, site: CallSite, spec: &Spec, gpu: &Value, cpu: &Value) -> Result<()> {
    let Spec { shape, dtype } = spec;
    let (gpu, cpu) = (HostView::of(gpu, shape, *dtype)?, HostView::of(cpu, shape, *dtype)?);
    LAUNCHES.fetch_add(1, Ordering::Relaxed);
    let mut index = vec![0; shape.len()];
    let (mut scale, mut worst, mut at) = (1.0f64, 0.0f64, 0);
    for flat in 0..shape.elements() {
        let mut rest = flat;
        for (i, &d) in index.iter_mut().zip(shape.iter()).rev() {
            *i = rest % d;
            rest /= d;
        }
        let (a, b) = (gpu.element(&index), cpu.element(&index));
        let size = magnitude(b);
        if size.is_finite() {
            scale = scale.max(size);
        }
        let distance = distance(a, b);
        if distance > worst {
            (worst, at) = (distance, flat);
        }
    }
    if worst > tolerance(*dtype) * scale {
        MISMATCHES.fetch_add(1, Ordering::Relaxed);
        let text =
            format!("{name}, {dtype} of {shape}, requested at {site}: element {at} differs by {worst}");
        eprintln!("pellucid: the GPU and the CPU disagree: {text}");
        let mut first = FIRST.lock();
        if first.len() < MOST {
            first.push(text);
        }
    }
    Ok(())
}

fn magnitude(v: Scalar) -> f64 {
    match v {
        Scalar::Complex(re, im) => re.abs().max(im.abs()),
        other => other.to_f64().abs(),
    }
}

/// How far two elements are apart; the same infinity and any two NaN are not.
fn distance(a: Scalar, b: Scalar) -> f64 {
    let apart = |a: f64, b: f64| match (a.is_nan(), b.is_nan()) {
        (true, true) => 0.0,
        (false, false) if a == b => 0.0,
        (false, false) => (a - b).abs(),
        _ => f64::INFINITY,
    };
    match (a, b) {
        (Scalar::Complex(a, b), Scalar::Complex(c, d)) => apart(a, c).max(apart(b, d)),
        (Scalar::Int(a), Scalar::Int(b)) => a.abs_diff(b) as f64,
        (Scalar::Uint(a), Scalar::Uint(b)) => a.abs_diff(b) as f64,
        (a, b) => apart(a.to_f64(), b.to_f64()),
    }
}
