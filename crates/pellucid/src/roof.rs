//! How fast a device goes at most, measured in a moment: what the times of a capture are held against.

use std::collections::HashMap;
use std::sync::LazyLock;
use std::time::{Duration, Instant};

use parking_lot::RwLock;

use crate::array::{Array, Dtype};
use crate::device::{self, Device, DeviceType};
use crate::error::{Error, Result};
use crate::stream::with_device;
use crate::{capture, gpu, memory, ops};

/// Elements of the array that is read and written: more than caches hold.
const ELEMENTS: usize = 4 << 20;
/// A measurement shorter than this is mostly that of starting it.
const WORTH_TIMING: Duration = Duration::from_millis(1);
/// Time for each of the two rates, once everything is compiled.
const BUDGET: Duration = Duration::from_millis(15);

/// The fastest a device goes, as measured here.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Roof {
    /// Bytes read and written per second by an elementwise operation.
    pub bytes_per_second: f64,
    /// Floating-point operations per second, of float32.
    pub flops_per_second: f64,
}

static KNOWN: LazyLock<RwLock<HashMap<Device, Roof>>> = LazyLock::new(RwLock::default);

/// Measures how fast a device goes; a second call gives what the first has measured. Captures that end later hold it.
///
/// ```
/// use pellucid::{Device, roof};
/// # fn main() -> pellucid::Result<()> {
/// let cpu = roof(Device::cpu())?;
/// assert!(cpu.bytes_per_second > 1e6 && cpu.flops_per_second > 1e6);
/// assert_eq!(roof(Device::cpu())?, cpu);
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// [`Error::Device`] if there is no such device, [`Error::Argument`] while a capture runs, which it would disturb.
///
/// # Cost
/// Some 50 ms on the first call, and the compilation of three kernels on a GPU; 64 MB for that time.
pub fn roof(device: Device) -> Result<Roof> {
    device::check("roof", device)?;
    if let Some(roof) = known(device) {
        return Ok(roof);
    }
    if capture::is_capturing() {
        return Err(Error::argument("roof", "a capture runs; measure before it starts"));
    }
    let peaks = memory::peaks();
    let was_empty = memory::get_cache_memory() == 0;
    let measured = capture::uncounted(|| with_device(device, || measure(device)))??;
    if was_empty {
        memory::clear_cache();
    }
    memory::restore_peaks(peaks);
    Ok(*KNOWN.write().entry(device).or_insert(measured))
}

/// What was measured before.
pub(crate) fn known(device: Device) -> Option<Roof> {
    KNOWN.read().get(&device).copied()
}

fn measure(device: Device) -> Result<Roof> {
    let x = ops::arange(0.0, ELEMENTS as f64, 1.0, Dtype::Float32);
    x.eval()?;
    let seconds = best(|| ops::negative(&x))?;
    let bytes_per_second = (2 * ELEMENTS * Dtype::Float32.size()) as f64 / seconds;
    drop(x);
    let flops_per_second = match device.device_type() {
        DeviceType::Cpu => products()?,
        DeviceType::Gpu => multiply_adds()?,
    };
    Ok(Roof { bytes_per_second, flops_per_second })
}

/// The best time of some runs, the first of which only warms up.
fn best(mut make: impl FnMut() -> Array) -> Result<f64> {
    make().eval()?;
    let (start, mut best) = (Instant::now(), f64::INFINITY);
    while best.is_infinite() || start.elapsed() < BUDGET {
        let array = make();
        let run = Instant::now();
        array.eval()?;
        best = best.min(run.elapsed().as_secs_f64());
    }
    Ok(best.max(1e-9))
}

/// Matrix products: what comes nearest to the limit of a CPU.
fn products() -> Result<f64> {
    let size = 384;
    let a = ops::full([size, size], 0.5f32, Dtype::Float32);
    let b = ops::contiguous(&ops::add(&a, &a));
    b.eval()?;
    let seconds = best(|| ops::matmul(&b, &b))?;
    Ok(2.0 * (size as f64).powi(3) / seconds)
}

/// Multiplications and additions that need no memory, in chains of their own; as many as take a while.
fn multiply_adds() -> Result<f64> {
    const INVOCATIONS: u32 = 64 << 8;
    // Eight vectors of four, two operations each.
    const EACH: f64 = 64.0;
    let chains: String = (0..8).map(|i| format!("v{i} = fma(v{i}, m, c);\n")).collect();
    let starts: String =
        (0..8).map(|i| format!("var v{i} = vec4<f32>(f32(id.x) * 1e-7 + {i}.0);\n")).collect();
    let body = format!(
        "let m = vec4<f32>(0.999);\nlet c = vec4<f32>(0.001);\n{starts}\
         for (var i = 0u; i < rounds[0]; i++) {{\n{chains}}}\n\
         y[id.x] = dot(v0 + v1 + v2 + v3 + v4 + v5 + v6 + v7, vec4<f32>(1.0));"
    );
    let kernel = gpu::Kernel::new("roof", body).input("rounds", Dtype::Uint32).output("y", Dtype::Float32);
    let mut rounds = 64u32;
    loop {
        let count = Array::from([rounds]);
        let call = || kernel.call(&[&count], [INVOCATIONS, 1, 1], &[[INVOCATIONS as usize]]).remove(0);
        call().eval()?;
        let run = Instant::now();
        call().eval()?;
        let once = run.elapsed();
        if once >= WORTH_TIMING || rounds >= 1 << 20 {
            let seconds = if once < BUDGET { best(call)? } else { once.as_secs_f64() };
            return Ok(EACH * f64::from(rounds) * f64::from(INVOCATIONS) / seconds);
        }
        rounds *= 8;
    }
}
