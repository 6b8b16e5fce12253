//! How far float functions are off, on every device: over all exponents against the system's mathematical library in
//! double precision, and at chosen points against mpmath. `cargo xtask accuracy` runs this with many more arguments
//! and writes what it finds to `docs/accuracy.md`.

mod functions;
mod published;
mod samples;
mod table;
mod ulp;

use functions::{BINARY, Binary, UNARY, Unary};
use half::{bf16, f16};
use pellucid::{Array, Device, Dtype, Result, is_available, ops, with_device};
use table::Table;
use ulp::{Format, Worst, error_in_units};

/// The devices that are here.
fn devices() -> Vec<Device> {
    let gpu = is_available(Device::gpu());
    let needed = std::env::var_os("CI").is_some_and(|v| v == "true");
    assert!(gpu || !needed, "no GPU; install mesa-vulkan-drivers");
    if gpu { vec![Device::cpu(), Device::gpu()] } else { vec![Device::cpu()] }
}

/// Results as doubles, computed on a device from arguments of a type that holds them exactly.
fn computed(
    device: Device,
    dtype: Dtype,
    arguments: &[&[f64]],
    f: impl Fn(&[Array]) -> Array,
) -> Result<Vec<f64>> {
    let arrays = with_device(Device::cpu(), || {
        let exact = |values: &&[f64]| ops::astype(&Array::from_slice(values, [values.len()]), dtype);
        arguments.iter().map(exact).collect::<Vec<Array>>()
    })?;
    let result = with_device(device, || f(&arrays))?;
    with_device(Device::cpu(), || ops::astype(&result, Dtype::Float64).to_vec::<f64>())?
}

/// Whether the device computes with subnormal numbers; WGSL allows it to take them as zero.
fn keeps_subnormals(device: Device) -> Result<bool> {
    let tiny = f64::from(f32::from_bits(0x0000_4000));
    Ok(computed(device, Dtype::Float32, &[&[tiny]], |x| ops::multiply(&x[0], 2.0))? == [2.0 * tiny])
}

fn is_subnormal(format: Format, value: f64) -> bool {
    value != 0.0 && value.abs() < format.smallest_normal()
}

fn unary_worst(f: &Unary, device: Device, format: Format, xs: &[f64]) -> Result<Worst> {
    let flushes = !keeps_subnormals(device)?;
    let got = computed(device, format.dtype(), &[xs], |x| (f.call)(&x[0]))?;
    let mut worst = Worst::default();
    for (&x, got) in xs.iter().zip(got) {
        let want = (f.exact)(x);
        if !(flushes && (is_subnormal(format, x) || is_subnormal(format, want))) {
            worst.note(error_in_units(format, got, want, 0.0), &[x], got, want);
        }
    }
    Ok(worst)
}

fn binary_worst(f: &Binary, device: Device, format: Format, pairs: &[(f64, f64)]) -> Result<Worst> {
    let flushes = !keeps_subnormals(device)?;
    let (a, b): (Vec<f64>, Vec<f64>) = pairs.iter().copied().unzip();
    let got = computed(device, format.dtype(), &[&a, &b], |x| (f.call)(&x[0], &x[1]))?;
    let mut worst = Worst::default();
    for (&(a, b), got) in pairs.iter().zip(got) {
        let want = (f.exact)(a, b);
        if !(flushes && [a, b, want].iter().any(|&v| is_subnormal(format, v))) {
            let share = f.share(format, device, (a, b), want);
            worst.note(error_in_units(format, got, want, 0.0) * share, &[a, b], got, want);
        }
    }
    Ok(worst)
}

#[test]
fn float32_functions_stay_within_their_bounds_over_all_exponents() -> Result<()> {
    let xs = samples::float32();
    let pairs = samples::float32_pairs();
    let mut table = Table::default();
    for device in devices() {
        for f in UNARY {
            let mut worst = unary_worst(f, device, Format::Float32, &xs)?;
            worst.merge(published::unary(f, device, Format::Float32)?);
            table.add(f.name, Format::Float32, device, &worst, f.bound(Format::Float32, device));
        }
        for f in BINARY {
            let mut worst = binary_worst(f, device, Format::Float32, &pairs)?;
            worst.merge(published::binary(f, device, Format::Float32)?);
            table.add(f.name, Format::Float32, device, &worst, f.bound(Format::Float32, device));
        }
    }
    table.settle("float32")
}

#[test]
fn float64_functions_stay_within_their_bounds_over_all_exponents() -> Result<()> {
    let mut table = Table::default();
    let specials = samples::specials();
    for f in UNARY {
        let mut worst = published::unary(f, Device::cpu(), Format::Float64)?;
        worst.merge(unary_worst(f, Device::cpu(), Format::Float64, &specials)?);
        table.add(f.name, Format::Float64, Device::cpu(), &worst, f.bound(Format::Float64, Device::cpu()));
    }
    let pairs: Vec<(f64, f64)> =
        specials.iter().flat_map(|&a| specials.iter().map(move |&b| (a, b))).collect();
    for f in BINARY {
        let mut worst = published::binary(f, Device::cpu(), Format::Float64)?;
        worst.merge(binary_worst(f, Device::cpu(), Format::Float64, &pairs)?);
        table.add(f.name, Format::Float64, Device::cpu(), &worst, f.bound(Format::Float64, Device::cpu()));
    }
    table.settle("float64")
}

#[test]
fn functions_of_every_16_bit_float_are_rounded_once() -> Result<()> {
    let mut table = Table::default();
    for format in [Format::Float16, Format::Bfloat16] {
        let value = |bits: u16| match format {
            Format::Float16 => f16::from_bits(bits).to_f64(),
            _ => bf16::from_bits(bits).to_f64(),
        };
        let xs: Vec<f64> = (0..=u16::MAX).map(value).collect();
        for device in devices() {
            for f in UNARY {
                let worst = unary_worst(f, device, format, &xs)?;
                table.add(f.name, format, device, &worst, f.bound(format, device));
            }
        }
    }
    table.settle("16 bits")
}
