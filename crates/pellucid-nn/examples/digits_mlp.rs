//! Two linear layers learn to read handwritten digits: `cargo run --release -p pellucid-nn --example digits_mlp`

mod support;

use pellucid_nn::prelude::*;

const EPOCHS: u64 = 30;

#[derive(Clone, Module)]
struct Mlp {
    layers: Vec<Linear>,
    dropout: Dropout,
}

impl Mlp {
    fn new(sizes: &[usize]) -> Mlp {
        let layers = sizes.windows(2).map(|pair| Linear::new(pair[0], pair[1])).collect();
        Mlp { layers, dropout: Dropout::new(0.2) }
    }
}

impl Layer for Mlp {
    fn forward(&self, x: &Array) -> Array {
        let mut x = ops::flatten(x, 1, -1);
        for (i, layer) in self.layers.iter().enumerate() {
            if i > 0 {
                x = self.dropout.forward(&relu(&x));
            }
            x = layer.forward(&x);
        }
        x
    }
}

/// Trains from a fixed seed and returns the accuracy on digits that were not seen.
pub fn run() -> Result<f32> {
    random::seed(0);
    let [training, (images, labels)] = support::digits()?;
    let loader = DataLoader::new(training, 64).shuffle(0).drop_last();
    let steps = EPOCHS * loader.batches() as u64;

    let model = Mlp::new(&[64, 128, 10]);
    println!("{}", model.summary());
    let optimizer = AdamW::new(schedules::cosine_decay(5e-3, steps, 0.0)).weight_decay(0.05);
    let mut trainer = Trainer::new(model, optimizer, |model: &Mlp, (x, y): &(Array, Array)| {
        losses::cross_entropy(&model.forward(x), y).mean(..)
    });

    let bar = support::bar(steps);
    for epoch in 0..EPOCHS {
        for batch in loader.epoch(epoch) {
            let loss = trainer.step(&batch?)?;
            bar.set_message(format!("loss {loss:.4}"));
            bar.inc(1);
        }
    }
    bar.finish();
    let mut model = trainer.into_model();
    model.eval();
    support::accuracy(&model.forward(&images), &labels)
}

fn main() -> Result<()> {
    println!("accuracy on the test digits: {:.1} %", 100.0 * run()?);
    Ok(())
}
