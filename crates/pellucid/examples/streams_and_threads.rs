//! Several threads, each with a stream of its own, on arrays that they share; and one that gathers what they made.
//!
//! `cargo run --release --example streams_and_threads`

use std::thread;

use pellucid::prelude::*;
use pellucid::{async_eval, default_device, new_stream, synchronize};

const WORKERS: usize = 4;

/// Runs the example.
pub fn main() -> Result<()> {
    // Arrays are handles: cheap to clone, and safe to use from any thread.
    let shared = Array::arange(256 * 256).reshape((256, 256)).astype(Dtype::Float32) / (256.0 * 256.0);

    let parts: Vec<Array> = thread::scope(|scope| {
        let work = |number: usize| {
            let shared = shared.clone();
            scope.spawn(move || {
                let stream = new_stream(default_device())?;
                stream.set_label(format!("worker {number}"));
                let part = with_stream(stream, || {
                    let turned = &shared * (number + 1);
                    turned.matmul(&shared).sum(..)
                });
                // Begins now and goes on when this thread has ended.
                async_eval([&part]);
                Ok::<_, Error>(part)
            })
        };
        let threads: Vec<_> = (0..WORKERS).map(work).collect();
        threads.into_iter().map(|thread| thread.join().expect("no worker panics")).collect::<Result<_>>()
    })?;

    // The sum waits for the four streams, and only for what it reads of them.
    let total = ops::stack(&parts, 0).sum(..);
    let total = total.item::<f32>()?;
    let one = shared.matmul(&shared).sum(..).item::<f32>()?;
    println!("{WORKERS} workers: {total}, one: {one}");
    assert!((total / one - 10.0).abs() < 1e-3, "1 + 2 + 3 + 4 times the one");

    // Nothing is left to do on the stream of this thread.
    synchronize(None)?;
    Ok(())
}
