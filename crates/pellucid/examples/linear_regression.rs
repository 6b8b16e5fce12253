//! A line through noisy points, found twice: by gradient descent, and at once by solving the normal equations.
//!
//! `cargo run --release --example linear_regression`

use pellucid::linalg;
use pellucid::prelude::*;
use pellucid::transform::{Tree, value_and_grad};

/// What is learned. Its gradient is a `Line` too.
#[derive(Clone, Tree)]
struct Line {
    slope: Array,
    offset: Array,
}

/// Runs the example.
pub fn main() -> Result<()> {
    random::seed(1);
    let n = 200;
    let x = random::uniform(-1.0, 1.0, [n], Dtype::Float32, None);
    let noise = random::normal([n], Dtype::Float32, 0, 0.1, None);
    let y = &x * 3.0 - 0.5 + noise;

    let loss = |line: &Line| (&x * &line.slope + &line.offset - &y).square().mean(..);
    let step = value_and_grad(loss);
    let mut line = Line { slope: Array::from(0.0f32), offset: Array::from(0.0f32) };
    for round in 0..100 {
        let (loss, gradient) = step(&line)?;
        line.slope = &line.slope - gradient.slope * 0.3;
        line.offset = &line.offset - gradient.offset * 0.3;
        // Without this the graph of all rounds would be evaluated at the end.
        eval([&line.slope, &line.offset])?;
        if round % 20 == 0 {
            println!("round {round:3}: loss {:.4}", loss.item::<f32>()?);
        }
    }
    let (slope, offset) = (line.slope.item::<f32>()?, line.offset.item::<f32>()?);
    println!("by gradient descent:  y = {slope:.3} x + {offset:.3}");

    // The same from (AᵀA) w = Aᵀy, where A has a column of x and one of ones.
    let a = ops::stack((&x, &x.ones_like()), 1);
    let w = linalg::solve(&a.t().matmul(&a), &a.t().matmul(&y));
    let w = w.to_vec::<f32>()?;
    println!("by normal equations:  y = {:.3} x + {:.3}", w[0], w[1]);

    assert!((slope - w[0]).abs() < 0.01 && (offset - w[1]).abs() < 0.01, "the two ways disagree");
    Ok(())
}
