//! Chosen points whose results were computed by mpmath: `tests/fixtures/accuracy.safetensors`, made by `accuracy.py`.

use std::path::Path;
use std::sync::LazyLock;

use pellucid::{Device, Result};
use safetensors::{Dtype, SafeTensors};

use crate::functions::{Binary, Unary};
use crate::ulp::{Format, Worst, error_in_units};
use crate::{computed, is_subnormal, keeps_subnormals};

static FILE: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/accuracy.safetensors");
    std::fs::read(path).expect("the fixture is part of the repository")
});

/// The numbers of that name; none if the file has no such tensor.
fn numbers(name: &str) -> Vec<f64> {
    let file = SafeTensors::deserialize(&FILE).expect("accuracy.py wrote it");
    let Ok(tensor) = file.tensor(name) else { return Vec::new() };
    let data = tensor.data();
    match tensor.dtype() {
        Dtype::F32 => {
            data.chunks_exact(4).map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]]).into()).collect()
        }
        _ => data.as_chunks().0.iter().map(|&b| f64::from_le_bytes(b)).collect(),
    }
}

fn folder(format: Format) -> &'static str {
    if format == Format::Float64 { "float64" } else { "float32" }
}

/// The worst of a function at the points of the file.
fn compared(
    name: &str,
    device: Device,
    format: Format,
    arguments: &[Vec<f64>],
    got: &[f64],
    share: impl Fn(&[f64], f64) -> f64,
) -> Result<Worst> {
    let want = numbers(&format!("{}/{name}", folder(format)));
    let rest = numbers(&format!("{}/{name}/rest", folder(format)));
    let flushes = !keeps_subnormals(device)?;
    let mut worst = Worst::default();
    for (i, (&got, &want)) in got.iter().zip(&want).enumerate() {
        let point: Vec<f64> = arguments.iter().map(|a| a[i]).collect();
        let flushed = flushes && point.iter().chain([&want]).any(|&v| is_subnormal(format, v));
        if !flushed {
            let rest = rest.get(i).copied().unwrap_or(0.0);
            let error = error_in_units(format, got, want, rest) * share(&point, want);
            worst.note(error, &point, got, want);
        }
    }
    Ok(worst)
}

pub fn unary(f: &Unary, device: Device, format: Format) -> Result<Worst> {
    let xs = numbers(&format!("{}/x", folder(format)));
    assert!(!xs.is_empty(), "no arguments");
    let got = computed(device, format.dtype(), &[&xs], |x| (f.call)(&x[0]))?;
    compared(f.name, device, format, &[xs], &got, |_, _| 1.0)
}

pub fn binary(f: &Binary, device: Device, format: Format) -> Result<Worst> {
    let (a, b) = (numbers(&format!("{}/a", folder(format))), numbers(&format!("{}/b", folder(format))));
    let got = computed(device, format.dtype(), &[&a, &b], |x| (f.call)(&x[0], &x[1]))?;
    compared(f.name, device, format, &[a, b], &got, |point, want| {
        f.share(format, device, (point[0], point[1]), want)
    })
}
