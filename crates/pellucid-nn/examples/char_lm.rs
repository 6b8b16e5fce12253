//! A small transformer learns to write, one character after the other:
//! `cargo run --release -p pellucid-nn --example char_lm`

mod support;

use pellucid::fast::Mask;
use pellucid_nn::data::from_fn;
use pellucid_nn::prelude::*;

const TEXT: &str = include_str!("data/text.txt");
const CONTEXT: usize = 32;
const STEPS: u64 = 150;

/// The characters of the text, and numbers for them.
struct Alphabet(Vec<char>);

impl Alphabet {
    fn of(text: &str) -> Alphabet {
        let mut characters: Vec<char> = text.chars().collect();
        characters.sort_unstable();
        characters.dedup();
        Alphabet(characters)
    }

    fn encode(&self, text: &str) -> Vec<i32> {
        text.chars().filter_map(|c| self.0.binary_search(&c).ok()).map(|place| place as i32).collect()
    }
}

#[derive(Clone, Module)]
struct LanguageModel {
    tokens: Embedding,
    positions: Embedding,
    encoder: TransformerEncoder,
}

impl LanguageModel {
    fn new(characters: usize, dims: usize) -> LanguageModel {
        LanguageModel {
            tokens: Embedding::new(characters, dims),
            positions: Embedding::new(CONTEXT, dims),
            encoder: TransformerEncoder::new(2, &TransformerSettings::new(dims, 4)),
        }
    }
}

impl Layer for LanguageModel {
    /// The scores of all characters after each of `[B, T]`.
    fn forward(&self, x: &Array) -> Array {
        let steps = x.shape().last().copied().unwrap_or(0);
        let places = ops::arange(0, steps as i64, 1, Dtype::Int32);
        let x = self.tokens.forward(x) + self.positions.forward(&places);
        self.tokens.as_linear(&self.encoder.forward(&x, &Mask::Causal))
    }
}

/// Trains from a fixed seed; returns the first and the last loss, and what the model writes after some words.
pub fn run() -> Result<(f32, f32, String)> {
    random::seed(0);
    let alphabet = Alphabet::of(TEXT);
    let text = alphabet.encode(TEXT);
    let samples = text.len() - CONTEXT - 1;
    let source = text.clone();
    let data = from_fn(samples, move |numbers: &[usize]| {
        let windows: Vec<i32> = numbers.iter().flat_map(|&n| source[n..n + CONTEXT + 1].to_vec()).collect();
        let windows = Array::from_vec(windows, [numbers.len(), CONTEXT + 1]);
        (windows.i((.., ..CONTEXT)), windows.i((.., 1..)))
    });
    let loader = DataLoader::new(data, 16).shuffle(0).drop_last();

    let model = LanguageModel::new(alphabet.0.len(), 32);
    println!("{}", model.summary());
    let rate = schedules::join(
        schedules::linear(0.0, 5e-3, 20),
        [(20, schedules::cosine_decay(5e-3, STEPS - 20, 5e-4))],
    );
    let mut trainer =
        Trainer::new(model, AdamW::new(rate), |model: &LanguageModel, (x, y): &(Array, Array)| {
            losses::cross_entropy(&model.forward(x), y).mean(..)
        })
        .clip_grad_norm(1.0);

    let bar = support::bar(STEPS);
    let mut history = Vec::new();
    for batch in loader.from_step(0).take(STEPS as usize) {
        let loss = trainer.step(&batch?)?;
        history.push(loss);
        bar.set_message(format!("loss {loss:.3}"));
        bar.inc(1);
    }
    bar.finish();

    let mut model = trainer.into_model();
    model.eval();
    let mut written = alphabet.encode("The river ");
    for _ in 0..60 {
        let seen = &written[written.len().saturating_sub(CONTEXT)..];
        let scores = model.forward(&Array::from_slice(seen, [1, seen.len()]));
        written.push(scores.i((0, -1)).argmax(..).item::<u32>()? as i32);
    }
    let text = written.iter().map(|&token| alphabet.0[token as usize]).collect();
    Ok((history[0], history[history.len() - 1], text))
}

fn main() -> Result<()> {
    let (first, last, text) = run()?;
    println!("loss {first:.3} to {last:.3}\n{text}");
    Ok(())
}
