//! A tiny Llama learns a task with LoRA: all weights are frozen and quantised, and small matrices beside them learn.
//! `cargo run --release -p pellucid-nn --example lora_llama`

mod support;

use pellucid::fast::{Mask, scaled_dot_product_attention};
use pellucid::ops::Packing;
use pellucid_nn::prelude::*;

const TOKENS: usize = 32;
const LENGTH: usize = 12;
const STEPS: u64 = 120;

/// Paths of parameters are those of Llama checkpoints for MLX.
#[derive(Clone, Module)]
struct Attention {
    q_proj: AnyLinear,
    k_proj: AnyLinear,
    v_proj: AnyLinear,
    o_proj: AnyLinear,
    rope: Rope,
    heads: usize,
    kv_heads: usize,
}

impl Attention {
    fn new(dims: usize, heads: usize, kv_heads: usize) -> Attention {
        let size = dims / heads;
        let linear = |outputs: usize| Linear::without_bias(dims, outputs).into();
        Attention {
            q_proj: linear(dims),
            k_proj: linear(kv_heads * size),
            v_proj: linear(kv_heads * size),
            o_proj: linear(dims),
            rope: Rope::new(size),
            heads,
            kv_heads,
        }
    }

    fn forward(&self, x: &Array) -> Array {
        let split = |x: Array, heads: usize| x.unflatten(-1, (heads as i64, -1)).transpose((0, 2, 1, 3));
        let q = self.rope.forward(&split(self.q_proj.forward(x), self.heads));
        let k = self.rope.forward(&split(self.k_proj.forward(x), self.kv_heads));
        let v = split(self.v_proj.forward(x), self.kv_heads);
        let scale = (q.shape().last().copied().unwrap_or(1) as f64).powf(-0.5);
        let seen = scaled_dot_product_attention(&q, &k, &v, scale, Mask::Causal, None);
        self.o_proj.forward(&ops::flatten(&seen.transpose((0, 2, 1, 3)), -2, -1))
    }
}

#[derive(Clone, Module)]
struct Mlp {
    gate_proj: AnyLinear,
    up_proj: AnyLinear,
    down_proj: AnyLinear,
}

impl Mlp {
    fn new(dims: usize, inner: usize) -> Mlp {
        Mlp {
            gate_proj: Linear::without_bias(dims, inner).into(),
            up_proj: Linear::without_bias(dims, inner).into(),
            down_proj: Linear::without_bias(inner, dims).into(),
        }
    }

    fn forward(&self, x: &Array) -> Array {
        self.down_proj.forward(&(silu(&self.gate_proj.forward(x)) * self.up_proj.forward(x)))
    }
}

#[derive(Clone, Module)]
struct Block {
    self_attn: Attention,
    mlp: Mlp,
    input_layernorm: RmsNorm,
    post_attention_layernorm: RmsNorm,
}

#[derive(Clone, Module)]
struct Body {
    embed_tokens: AnyEmbedding,
    layers: Vec<Block>,
    norm: RmsNorm,
}

/// A model with the paths of a checkpoint of the Llama family.
#[derive(Clone, Module)]
pub struct Llama {
    model: Body,
    lm_head: AnyLinear,
}

impl Llama {
    fn new(layers: usize, dims: usize) -> Llama {
        let block = || Block {
            self_attn: Attention::new(dims, 4, 2),
            mlp: Mlp::new(dims, 2 * dims),
            input_layernorm: RmsNorm::new(dims),
            post_attention_layernorm: RmsNorm::new(dims),
        };
        Llama {
            model: Body {
                embed_tokens: Embedding::new(TOKENS, dims).into(),
                layers: (0..layers).map(|_| block()).collect(),
                norm: RmsNorm::new(dims),
            },
            lm_head: Linear::without_bias(dims, TOKENS).into(),
        }
    }
}

impl Layer for Llama {
    fn forward(&self, tokens: &Array) -> Array {
        let mut x = self.model.embed_tokens.forward(tokens);
        for block in &self.model.layers {
            x = &x + block.self_attn.forward(&block.input_layernorm.forward(&x));
            x = &x + block.mlp.forward(&block.post_attention_layernorm.forward(&x));
        }
        self.lm_head.forward(&self.model.norm.forward(&x))
    }
}

/// The task: each token is the one before it, plus three.
fn batch(size: usize) -> Array {
    let first = random::randint(0, TOKENS as i64, [size, 1], Dtype::Int32, None);
    (first + 3 * ops::arange(0, LENGTH as i64 + 1, 1, Dtype::Int32)) % TOKENS as i64
}

/// What LoRA did.
pub struct Report {
    /// The loss before and after.
    pub losses: (f32, f32),
    /// How many numbers there are, and how many of them are learnt.
    pub counts: (usize, usize),
    /// The largest difference of scores after the small matrices were added to the weights.
    pub fused: f32,
}

/// Trains from a fixed seed.
pub fn run() -> Result<Report> {
    random::seed(0);
    let mut model = Llama::new(2, 64);
    quantize(&mut model, Packing::affine().group_size(32).bits(8), |path| path != "lm_head");
    let lora = Lora { rank: 8, scale: 4.0, dropout: 0.0 };
    add_lora(&mut model, lora, |path| {
        path == "lm_head" || path.contains("self_attn") || path.contains("mlp")
    });
    println!("{}", model.summary());
    let counts = (model.summary().count(false), model.summary().count(true));

    let loss = |model: &Llama, tokens: &Array| {
        let scores = model.forward(&tokens.i((.., ..LENGTH)));
        losses::cross_entropy(&scores, &tokens.i((.., 1..))).mean(..)
    };
    let mut trainer = Trainer::new(model, Adam::new(5e-3), loss);
    let bar = support::bar(STEPS);
    let mut history = Vec::new();
    for _ in 0..STEPS {
        let loss = trainer.step(&batch(16))?;
        history.push(loss);
        bar.set_message(format!("loss {loss:.3}"));
        bar.inc(1);
    }
    bar.finish();

    let tokens = batch(4).i((.., ..LENGTH));
    let mut model = trainer.into_model();
    let before = model.forward(&tokens);
    fuse_lora(&mut model);
    let fused = (model.forward(&tokens) - before).abs().max(..).item::<f32>()?;
    Ok(Report { losses: (history[0], history[history.len() - 1]), counts, fused })
}

fn main() -> Result<()> {
    let Report { losses: (first, last), counts: (all, learnt), fused } = run()?;
    println!("loss {first:.3} to {last:.3} with {learnt} of {all} numbers learnt");
    println!("after the small matrices were added to the weights, scores differ by at most {fused:.1e}");
    Ok(())
}
