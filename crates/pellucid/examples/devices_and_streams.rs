//! Where work runs: the default device, a scope, a stream of its own.
//!
//! `cargo run --release --example devices_and_streams`

use pellucid::{
    Device, Dtype, Result, default_device, new_stream, ops, random, set_default_device, synchronize,
    with_device, with_stream,
};

fn main() -> Result<()> {
    println!("{}", default_device());

    // A block on the CPU, whatever the default device is.
    let a = with_device(Device::cpu(), || ops::ones([1024, 1024], Dtype::Float32))?;
    println!("{} on {}", a.shape_ref(), a.stream());

    // Work on a stream of its own. It begins when someone asks for the result.
    let s = new_stream(default_device())?;
    s.set_label("products");
    let b = with_stream(s, || {
        let normal = || random::normal([2048, 2048], Dtype::Float32, 0, 1, None);
        ops::matmul(&normal(), &normal())
    });
    pellucid::async_eval([&b]);

    // The default device of the process, for all operations from here on.
    set_default_device(Device::cpu())?;

    // Wait for the stream before the result is used on the host.
    synchronize(s)?;
    println!("{} on {} ({})", b.shape_ref(), b.stream(), s.label());
    Ok(())
}
