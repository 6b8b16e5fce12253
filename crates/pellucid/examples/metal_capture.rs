//! Captures a few additions in a loop, then a product and a softmax on streams of their own, and a chain of both.
//! `PELLUCID_DEVICE=gpu` runs it on the GPU.
//!
//! `cargo run --example metal_capture -- adds.pltrace`, then `pellucid summary adds.pltrace`.

use pellucid::{Axes, Dtype, default_device, eval, metal, new_stream, ops, random, synchronize, with_stream};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args().nth(1).unwrap_or_else(|| "metal_capture.pltrace".to_owned());
    let keys = random::split(&random::key(1), 2);
    let a = random::uniform(0.0, 1.0, [512, 512], Dtype::Float32, Some(&keys.get(0)));
    let b = random::uniform(0.0, 1.0, [512, 512], Dtype::Float32, Some(&keys.get(1)));
    eval([&a, &b])?;
    a.label("a");
    b.label("b");

    // The file must not exist yet.
    metal::start_capture(&path)?;
    for _ in 0..10 {
        eval([&ops::add(&a, &b)])?;
    }
    let (products, weights) = (new_stream(default_device())?, new_stream(default_device())?);
    products.set_label("products");
    weights.set_label("weights");
    let product = with_stream(products, || ops::matmul(&a, &b));
    let softmax = with_stream(weights, || ops::softmax(&a, -1, false));
    // Both streams meet on the default one: a chain that runs as one kernel, and a sum over its rows.
    let chain = ops::tanh(&ops::add(ops::multiply(&softmax, 2.0), &product));
    eval([&ops::sum(&chain, Axes::from(0), false)])?;
    synchronize(products)?;
    synchronize(weights)?;
    let summary = metal::stop_capture()?;
    println!("{}: {} operations, {} launches", summary.path.display(), summary.ops, summary.launches);
    Ok(())
}
