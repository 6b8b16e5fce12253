//! Times a few operations on the CPU and on the GPU: `cargo run --release --example gpu_speed`.

use std::time::Instant;

use pellucid::{Array, Device, Dtype, Result, async_eval, eval, idx, ops, random, with_device};

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
        let make = |seed| random::uniform(0.0, 1.0, [n], Dtype::Float32, Some(&random::key(seed)));
        let (a, b, c) = (make(1), make(2), make(3));
        let rows = ops::reshape(&a, [256, 4096]);
        let square = ops::reshape(&a, [1024, 1024]);
        let small = ops::contiguous(&ops::reshape(&ops::index(&a, &idx![..65536]), [256, 256]));
        let (x, y) = (ops::full([16], 0.5, Dtype::Float32), ops::full([16], 0.25, Dtype::Float32));
        eval([&a, &b, &c, &rows, &square, &small, &x, &y])?;
        let one = |f: &dyn Fn() -> Array| best(|| f().eval());
        Ok(vec![
            ("add", one(&|| ops::add(&a, &b))?),
            ("tanh(a * b + c)", one(&|| ops::tanh(&ops::add(&ops::multiply(&a, &b), &c)))?),
            ("sum", one(&|| ops::sum(&a, None, false))?),
            ("softmax, rows of 4096", one(&|| ops::softmax(&rows, -1, false))?),
            ("matmul, 256 x 256", one(&|| ops::matmul(&small, &small))?),
            ("matmul, 1024 x 1024", one(&|| ops::matmul(&square, &square))?),
            (
                "1000 adds of 16 elements",
                one(&|| {
                    let mut z = x.clone();
                    for _ in 0..1000 {
                        z = ops::add(&z, &y);
                    }
                    z
                })?,
            ),
            (
                "1000 adds of 16 elements, each evaluated",
                one(&|| {
                    let mut z = x.clone();
                    for _ in 0..1000 {
                        z = ops::add(&z, &y);
                        async_eval([&z]);
                    }
                    z
                })?,
            ),
            ("sort", one(&|| ops::sort(&a, -1))?),
            ("column sum", one(&|| ops::sum(&square, 0, false))?),
            ("add transposed", one(&|| ops::add(&ops::transpose(&square, None), &square))?),
            ("argmax", one(&|| ops::argmax(&a, None, false))?),
            ("cumsum", one(&|| ops::cumsum(&a, 0, false, true))?),
        ])
    })?
}

fn main() -> Result<()> {
    let cpu = figures(Device::cpu())?;
    let gpu = figures(Device::gpu())?;
    println!("{:<42} {:>12} {:>12}", "1,048,576 float32", "CPU µs", "GPU µs");
    for ((name, cpu), (_, gpu)) in cpu.iter().zip(&gpu) {
        println!("{name:<42} {cpu:>12.0} {gpu:>12.0}");
    }
    Ok(())
}
