//! An autoencoder learns to write a digit of 64 pixels in 8 numbers: `cargo run --release -p pellucid-nn --example autoencoder`

mod support;

use pellucid_nn::prelude::*;

const EPOCHS: u64 = 20;

#[derive(Clone, Module)]
struct Autoencoder {
    encoder: Sequential,
    decoder: Sequential,
}

impl Layer for Autoencoder {
    fn forward(&self, x: &Array) -> Array {
        let code = self.encoder.forward(&ops::flatten(x, 1, -1));
        self.decoder.forward(&code).reshape(x.shape())
    }
}

/// Trains from a fixed seed; returns the squared error on digits that were not seen, and that of their mean digit.
pub fn run() -> Result<(f32, f32)> {
    random::seed(2);
    let [(training, _), (images, _)] = support::digits()?;
    let mean = training.mean_keepdims(0);
    let plain = losses::mse_loss(&images, &mean.broadcast_to(images.shape())).mean(..).item::<f32>()?;
    let loader = DataLoader::new(training, 64).shuffle(2).drop_last();
    let steps = EPOCHS * loader.batches() as u64;

    let model = Autoencoder {
        encoder: sequential![Linear::new(64, 48), Tanh, Linear::new(48, 8)],
        decoder: sequential![Linear::new(8, 48), Tanh, Linear::new(48, 64), Sigmoid],
    };
    println!("{}", model.summary());
    let rate = schedules::cosine_decay(5e-3, steps, 1e-4);
    let mut trainer = Trainer::new(model, Adam::new(rate), |model: &Autoencoder, x: &Array| {
        losses::mse_loss(&model.forward(x), x).mean(..)
    });

    let bar = support::bar(steps);
    for batch in loader.from_step(0).take(steps as usize) {
        let loss = trainer.step(&batch?)?;
        bar.set_message(format!("error {loss:.4}"));
        bar.inc(1);
    }
    bar.finish();
    Ok((trainer.loss(&images)?, plain))
}

fn main() -> Result<()> {
    let (error, plain) = run()?;
    println!("squared error of a pixel: {error:.4}, with the mean digit alone {plain:.4}");
    Ok(())
}
