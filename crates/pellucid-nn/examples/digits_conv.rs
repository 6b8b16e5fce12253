//! A convolutional network learns to read handwritten digits: `cargo run --release -p pellucid-nn --example digits_conv`

mod support;

use pellucid_nn::prelude::*;

const EPOCHS: u64 = 12;

#[derive(Clone, Module)]
struct ConvNet {
    conv1: Conv2d,
    conv2: Conv2d,
    pool: MaxPool2d,
    dropout: Dropout,
    linear: Linear,
}

impl ConvNet {
    fn new() -> ConvNet {
        ConvNet {
            conv1: Conv2d::new(1, 16, 3).padding(1),
            conv2: Conv2d::new(16, 32, 3).padding(1),
            pool: MaxPool2d::new(2),
            dropout: Dropout::new(0.3),
            linear: Linear::new(4 * 4 * 32, 10),
        }
    }
}

impl Layer for ConvNet {
    fn forward(&self, x: &Array) -> Array {
        let x = x.expand_dims(-1);
        let x = self.pool.forward(&relu(&self.conv1.forward(&x)));
        let x = relu(&self.conv2.forward(&x));
        self.linear.forward(&self.dropout.forward(&ops::flatten(&x, 1, -1)))
    }
}

/// Trains from a fixed seed and returns the accuracy on digits that were not seen.
pub fn run() -> Result<f32> {
    random::seed(1);
    let [training, (images, labels)] = support::digits()?;
    let loader = DataLoader::new(training, 64).shuffle(1).drop_last();
    let steps = EPOCHS * loader.batches() as u64;

    let model = ConvNet::new();
    println!("{}", model.summary());
    let optimizer = AdamW::new(schedules::cosine_decay(4e-3, steps, 0.0)).weight_decay(0.05);
    let mut trainer = Trainer::new(model, optimizer, |model: &ConvNet, (x, y): &(Array, Array)| {
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
