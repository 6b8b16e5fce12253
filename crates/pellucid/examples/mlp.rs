//! A small neural network learns a function that no line can: whether two numbers have the same sign.
//!
//! `cargo run --release --example mlp`

use pellucid::prelude::*;
use pellucid::transform::{Tree, compile, value_and_grad};

/// One layer: `x · weight + bias`.
#[derive(Clone, Tree)]
struct Layer {
    weight: Array,
    bias: Array,
}

impl Layer {
    fn new(inputs: usize, outputs: usize) -> Layer {
        let scale = (2.0 / inputs as f32).sqrt();
        let weight = random::normal([inputs, outputs], Dtype::Float32, 0, scale, None);
        Layer { weight, bias: Array::zeros(outputs) }
    }

    fn call(&self, x: &Array) -> Array {
        x.matmul(&self.weight).add(&self.bias)
    }
}

/// All layers, with a rectifier between them. A tree of arrays: so are its gradients.
#[derive(Clone, Tree)]
struct Mlp {
    layers: Vec<Layer>,
}

impl Mlp {
    fn new(sizes: &[usize]) -> Mlp {
        Mlp { layers: sizes.windows(2).map(|pair| Layer::new(pair[0], pair[1])).collect() }
    }

    fn call(&self, x: &Array) -> Array {
        let (last, hidden) = self.layers.split_last().expect("a network has layers");
        last.call(&hidden.iter().fold(x.clone(), |x, layer| layer.call(&x).relu()))
    }
}

/// Trains the network until it tells the quadrants apart.
pub fn main() -> Result<()> {
    random::seed(3);
    let x = random::uniform(-1.0, 1.0, [512, 2], Dtype::Float32, None);
    let same = x.i((.., 0)).mul(x.i((.., 1))).greater(0).astype(Dtype::Float32);

    // The logistic loss: log(1 + exp(z)) where the answer is no, log(1 + exp(-z)) where it is yes.
    let loss = |model: &Mlp| {
        let z = model.call(&x).squeeze(1);
        z.logaddexp(0).sub(&z * &same).mean(..)
    };
    // Recorded once; later rounds run no code of the model.
    let step = compile(|model: &Mlp| {
        let (loss, gradient) = match value_and_grad(loss)(model) {
            Ok(both) => both,
            Err(error) => return (Array::from(error), model.clone()),
        };
        let moved = model.to_leaves().into_iter().zip(gradient.to_leaves()).map(|(w, g)| w - g * 0.5);
        (loss, model.with_leaves(moved))
    });

    let mut model = Mlp::new(&[2, 32, 32, 1]);
    for round in 0..300 {
        let (loss, better) = step.call(&model)?;
        model = better;
        eval(model.to_leaves())?;
        if round % 100 == 0 {
            println!("round {round:3}: loss {:.4}", loss.item::<f32>()?);
        }
    }
    let right = model.call(&x).squeeze(1).greater(0).equal(same.greater(0));
    let share = right.astype(Dtype::Float32).mean(..).item::<f32>()?;
    println!("{:.1} % are right", 100.0 * share);
    assert!(share > 0.95, "it has learned too little");
    Ok(())
}
