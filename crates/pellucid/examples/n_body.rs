//! Bodies that attract each other: all pairs at once by broadcasting, and a step of time that keeps the energy.
//!
//! `cargo run --release --example n_body`

use pellucid::prelude::*;
use pellucid::transform::compile;

/// Distances below this do not pull harder: bodies are no points.
const SOFT: f64 = 0.05;

/// The vectors from every body to every other, and the square of their lengths.
fn between(place: &Array) -> (Array, Array) {
    let way = place.i((NewAxis, .., ..)) - place.i((.., NewAxis, ..));
    let square = way.square().sum_keepdims(-1) + SOFT * SOFT;
    (way, square)
}

/// What pulls at each body: the sum of m · way / |way|³ over all others.
fn acceleration(place: &Array, mass: &Array) -> Array {
    let (way, square) = between(place);
    (way * square.power(-1.5) * mass.i((NewAxis, .., NewAxis))).sum(1)
}

fn energy(place: &Array, speed: &Array, mass: &Array) -> Result<f32> {
    let motion = (speed.square().sum(-1) * mass * 0.5).sum(..);
    let (_, square) = between(place);
    let pairs = mass.i((.., NewAxis)) * mass.i((NewAxis, ..)) * square.squeeze(-1).rsqrt();
    // Every pair is there twice; a body and itself are none.
    let potential = pairs.triu(1).sum(..);
    (motion - potential).item::<f32>()
}

/// Runs the example.
pub fn main() -> Result<()> {
    random::seed(11);
    let n = 64;
    let mass = Array::full(n, 1.0 / n as f32);
    let place = random::normal([n, 3], Dtype::Float32, 0, 1, None);
    let speed = random::normal([n, 3], Dtype::Float32, 0, 0.3, None);

    let dt = 0.01;
    let pull = mass.clone();
    // Half a kick, a drift, half a kick: recorded once and then called.
    let step = compile(move |(place, speed): &(Array, Array)| {
        let speed = speed + acceleration(place, &pull) * (dt / 2.0);
        let place = place + &speed * dt;
        let speed = &speed + acceleration(&place, &pull) * (dt / 2.0);
        (place, speed)
    });

    let before = energy(&place, &speed, &mass)?;
    let mut state = (place, speed);
    for _ in 0..100 {
        state = step.call(&state)?;
        eval([&state.0, &state.1])?;
    }
    let after = energy(&state.0, &state.1, &mass)?;
    let drift = (state.1 * mass.i((.., NewAxis))).sum(0);
    println!("energy {before:.5} before, {after:.5} after; momentum {drift}");
    assert!((after - before).abs() < 0.02 * before.abs(), "energy is lost");
    Ok(())
}
