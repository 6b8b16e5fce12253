//! Points find the nearest of a few centres, centres move to the middle of their points, until nothing changes.
//!
//! `cargo run --release --example k_means`

use pellucid::prelude::*;

/// Squared distances of all points to all centres, without a loop: `|p − c|²` by broadcasting.
fn distances(points: &Array, centres: &Array) -> Array {
    (points.i((.., NewAxis, ..)) - centres.i((NewAxis, .., ..))).square().sum(-1)
}

/// Runs the example.
pub fn main() -> Result<()> {
    random::seed(7);
    // Three clouds around these places.
    let places = array![[0.0, 0.0], [4.0, 0.0], [0.0, 4.0]];
    let (clouds, each) = (places.dim(0), 100);
    let noise = random::normal([clouds * each, 2], Dtype::Float32, 0, 0.5, None);
    let points = places.repeat(each, 0) + noise;

    // The first point of each cloud is a fair start.
    let mut centres = points.take(&array![0, 100, 200], 0);
    let mut nearest = distances(&points, &centres).argmin(1);
    for round in 1.. {
        // A row of zeros and a one for each point: products with it are sums over the points of a centre.
        let member = nearest.i((.., NewAxis)).equal(Array::arange(clouds as i64)).astype(Dtype::Float32);
        let count = member.sum(0).i((.., NewAxis));
        centres = member.t().matmul(&points) / count.maximum(1);
        let now = distances(&points, &centres).argmin(1);
        let moved = now.not_equal(&nearest).sum(..).item::<i32>()?;
        println!("round {round}: {moved} points have moved");
        nearest = now;
        if moved == 0 {
            break;
        }
    }
    println!("{centres}");
    let off = centres.sub(&places).abs().max(..).item::<f32>()?;
    assert!(off < 0.3, "a centre is {off} away from its cloud");
    Ok(())
}
