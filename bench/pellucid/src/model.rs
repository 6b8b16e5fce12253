//! Small parts of neural networks, written with the public operations as a user would.

use pellucid::{Array, Result, ops};

use crate::cases::numbers;

/// Normalises the last axis to mean 0 and variance 1, then scales and shifts it.
pub fn layer_norm(x: &Array, weight: &Array, bias: &Array) -> Array {
    let mean = ops::mean(x, -1, true);
    let spread = ops::rsqrt(&ops::add(ops::var(x, -1, true, 0), 1e-5));
    let normal = ops::multiply(ops::subtract(x, &mean), &spread);
    ops::add(ops::multiply(&normal, weight), bias)
}

/// The approximation with tanh, which every peer has.
fn gelu(x: &Array) -> Array {
    let cube = ops::multiply(ops::multiply(x, x), x);
    let inner = ops::multiply(ops::add(x, ops::multiply(&cube, 0.044715)), 0.797_884_56);
    ops::multiply(ops::multiply(x, 0.5), ops::add(ops::tanh(&inner), 1.0))
}

struct Linear {
    weight: Array,
    bias: Array,
}

impl Linear {
    fn new(input: usize, output: usize, seed: u64) -> Result<Linear> {
        // Small enough that sums over the inputs stay around one.
        let scale = 1.0 / input as f64;
        let weight = ops::multiply(numbers(&[input, output], seed), scale);
        weight.eval()?;
        Ok(Linear { weight, bias: numbers(&[output], seed + 1) })
    }

    fn forward(&self, x: &Array) -> Array {
        ops::add(ops::matmul(x, &self.weight), &self.bias)
    }
}

/// Linear layers with ReLU between them.
pub struct Mlp {
    layers: Vec<Linear>,
}

impl Mlp {
    pub fn new(widths: &[usize]) -> Result<Mlp> {
        let layer = |(i, pair): (usize, &[usize])| Linear::new(pair[0], pair[1], 10 * i as u64);
        Ok(Mlp { layers: widths.windows(2).enumerate().map(layer).collect::<Result<_>>()? })
    }

    pub fn forward(&self, x: &Array) -> Array {
        let mut x = x.clone();
        for (i, layer) in self.layers.iter().enumerate() {
            x = layer.forward(&x);
            if i + 1 < self.layers.len() {
                x = ops::maximum(&x, 0.0);
            }
        }
        x
    }
}

/// A transformer block: attention and a feed-forward part, each after a layer norm and added to its input.
pub struct Block {
    heads: usize,
    norms: [(Array, Array); 2],
    qkv: Linear,
    out: Linear,
    up: Linear,
    down: Linear,
}

impl Block {
    pub fn new(width: usize, heads: usize) -> Result<Block> {
        let norm = |seed| Ok((numbers(&[width], seed), numbers(&[width], seed + 1)));
        Ok(Block {
            heads,
            norms: [norm(100)?, norm(110)?],
            qkv: Linear::new(width, 3 * width, 120)?,
            out: Linear::new(width, width, 130)?,
            up: Linear::new(width, 4 * width, 140)?,
            down: Linear::new(4 * width, width, 150)?,
        })
    }

    pub fn forward(&self, x: &Array) -> Array {
        let [(weight1, bias1), (weight2, bias2)] = &self.norms;
        let x = ops::add(x, self.attention(&layer_norm(x, weight1, bias1)));
        let hidden = gelu(&self.up.forward(&layer_norm(&x, weight2, bias2)));
        ops::add(&x, self.down.forward(&hidden))
    }

    fn attention(&self, x: &Array) -> Array {
        let [batch, tokens, width] = [0, 1, 2].map(|axis| x.shape()[axis]);
        let head = width / self.heads;
        let split = [batch, tokens, 3, self.heads, head].map(|d| d as i64);
        let parts = ops::reshape(&self.qkv.forward(x), split);
        // [3, batch, heads, tokens, head]
        let parts = ops::transpose(&parts, pellucid::Axes::from([2, 0, 3, 1, 4]));
        let (q, k, v) = (parts.get(0), parts.get(1), parts.get(2));
        let scores = ops::matmul(&q, &k.mT());
        let scores = ops::softmax(&ops::multiply(&scores, 1.0 / (head as f64).sqrt()), -1, false);
        let mixed = ops::swapaxes(&ops::matmul(&scores, &v), 1, 2);
        self.out.forward(&ops::reshape(&mixed, [batch, tokens, width].map(|d| d as i64)))
    }
}
