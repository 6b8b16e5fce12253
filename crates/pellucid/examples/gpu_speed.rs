//! Times a few operations on the CPU and on the GPU: `cargo run --release --example gpu_speed`.

use std::time::Instant;

use pellucid::{Array, Device, Dtype, Result, eval, ops, random, with_device};

/// The best of several runs, in microseconds; the first one compiles.
fn best(mut run: impl FnMut() -> Result<()>) -> Result<f64> {
    run()?;
    let mut best = f64::INFINITY;
    for _ in 0..9 {
        let start = Instant::now();
        run()?;
        best = best.min(start.elapsed().as_secs_f64() * 1e6);
    }
    Ok(best)
}

fn figures(device: Device) -> Result<Vec<(&'static str, f64)>> {
    with_device(device, || {
        let n = 1 << 20;
        let make = |seed| random::uniform(0.0, 1.0, [n], Dtype::Float32, Some(&random::key(seed)?));
        let (a, b, c) = (make(1)?, make(2)?, make(3)?);
        let square = ops::reshape(&a, [1024, 1024])?;
        eval([&a, &b, &c, &square])?;
        let one = |f: &dyn Fn() -> Result<Array>| best(|| f()?.eval());
        Ok(vec![
            ("add", one(&|| ops::add(&a, &b))?),
            ("tanh(a * b + c)", one(&|| ops::tanh(&ops::add(&ops::multiply(&a, &b)?, &c)?))?),
            ("sum", one(&|| ops::sum(&a, None, false))?),
            ("softmax, rows of 1024", one(&|| ops::softmax(&square, -1, false))?),
            ("matmul, 1024 x 1024", one(&|| ops::matmul(&square, &square))?),
            (
                "1000 adds, fused where possible",
                one(&|| {
                    let mut x = a.clone();
                    for _ in 0..1000 {
                        x = ops::add(&x, &b)?;
                    }
                    Ok(x)
                })?,
            ),
        ])
    })?
}

fn main() -> Result<()> {
    let cpu = figures(Device::cpu())?;
    let gpu = figures(Device::gpu())?;
    println!("{:<36} {:>12} {:>12}", "1,048,576 float32", "CPU µs", "GPU µs");
    for ((name, cpu), (_, gpu)) in cpu.iter().zip(&gpu) {
        println!("{name:<36} {cpu:>12.0} {gpu:>12.0}");
    }
    Ok(())
}
