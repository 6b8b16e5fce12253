//! The cases on candle's CPU backend.

use bench_protocol::{Case, Work, timed, uniform};
use candle_core::{D, DType, Device, Result, Tensor};
use candle_nn::ops;

pub fn build(case: &Case) -> std::result::Result<Option<Work>, String> {
    make(case).unwrap_or_else(|e| Err(e.to_string()))
}

fn numbers(shape: &[usize], seed: u64) -> Result<Tensor> {
    Tensor::from_vec(uniform(shape.iter().product(), seed), shape, &Device::Cpu)
}

fn make(case: &Case) -> Result<std::result::Result<Option<Work>, String>> {
    macro_rules! sizes {
        () => {
            match case.sizes() {
                Ok(sizes) => sizes,
                Err(why) => return Ok(Err(why)),
            }
        };
    }
    let work = match case.operation.as_str() {
        "add" | "tiny" => {
            let [n] = sizes!();
            let (a, b) = (numbers(&[n], 1)?, numbers(&[n], 2)?);
            timed(move || &a + &b)
        }
        "tanh_mul_add" => {
            let [n] = sizes!();
            let (a, b, c) = (numbers(&[n], 1)?, numbers(&[n], 2)?, numbers(&[n], 3)?);
            timed(move || ((&a * &b)? + &c)?.tanh())
        }
        "sum" => {
            let [n] = sizes!();
            let a = numbers(&[n], 1)?;
            timed(move || a.sum_all())
        }
        "softmax" => rows(sizes!(), ops::softmax_last_dim)?,
        "sum_columns" => rows(sizes!(), |a| a.sum(0))?,
        "argmax" => rows(sizes!(), |a| a.argmax(D::Minus1))?,
        "cumsum" => rows(sizes!(), |a| a.cumsum(D::Minus1))?,
        "normal" => {
            let [n] = sizes!();
            timed(move || Tensor::randn(0f32, 1f32, n, &Device::Cpu))
        }
        "sort" => {
            let [n] = sizes!();
            let a = numbers(&[n], 1)?;
            timed(move || a.sort_last_dim(true))
        }
        "matmul" => matmul(sizes!(), DType::F32)?,
        "matmul_f16" => matmul(sizes!(), DType::F16)?,
        "matmul_bf16" => matmul(sizes!(), DType::BF16)?,
        "matmul_batched" => {
            let [batch, n] = sizes!();
            let (a, b) = (numbers(&[batch, n, n], 1)?, numbers(&[batch, n, n], 2)?);
            timed(move || a.matmul(&b))
        }
        "matmul_transposed" => {
            let [n] = sizes!();
            let (a, b) = (numbers(&[n, n], 1)?, numbers(&[n, n], 2)?);
            timed(move || a.matmul(&b.t()?))
        }
        "add_strided" => {
            let [n] = sizes!();
            let (a, b) = (numbers(&[n, n], 1)?, numbers(&[n, n], 2)?);
            timed(move || &a + &b.t()?)
        }
        "gather" => {
            let [table, width, count] = sizes!();
            let rows = numbers(&[table, width], 1)?;
            let indices: Vec<u32> = uniform(count, 2).iter().map(|x| (x * table as f32) as u32).collect();
            let indices = Tensor::from_vec(indices, count, &Device::Cpu)?;
            timed(move || rows.index_select(&indices, 0))
        }
        "concatenate" => {
            let [rows, columns] = sizes!();
            let (a, b) = (numbers(&[rows, columns], 1)?, numbers(&[rows, columns], 2)?);
            timed(move || Tensor::cat(&[&a, &b], 1))
        }
        "layer_norm" => {
            let [rows, columns] = sizes!();
            let a = numbers(&[rows, columns], 1)?;
            let (weight, bias) = (numbers(&[columns], 2)?, numbers(&[columns], 3)?);
            timed(move || ops::layer_norm(&a, &weight, &bias, 1e-5))
        }
        "mlp" => {
            let [batch, input, hidden, output] = sizes!();
            let layers =
                [Linear::new(input, hidden)?, Linear::new(hidden, hidden)?, Linear::new(hidden, output)?];
            let x = numbers(&[batch, input], 9)?;
            timed(move || {
                let x = layers[0].forward(&x)?.relu()?;
                let x = layers[1].forward(&x)?.relu()?;
                layers[2].forward(&x)
            })
        }
        "transformer_block" => {
            let [batch, tokens, width, heads] = sizes!();
            let block = Block::new(width, heads)?;
            let x = numbers(&[batch, tokens, width], 9)?;
            timed(move || block.forward(&x))
        }
        "chain" => {
            let [links, n] = sizes!();
            let (a, b) = (numbers(&[n], 1)?, numbers(&[n], 2)?);
            timed(move || (0..links).try_fold(a.clone(), |x, _| &x + &b))
        }
        _ => return Ok(Ok(None)),
    };
    Ok(Ok(Some(work)))
}

fn rows([rows, columns]: [usize; 2], f: impl Fn(&Tensor) -> Result<Tensor> + 'static) -> Result<Work> {
    let a = numbers(&[rows, columns], 1)?;
    Ok(timed(move || f(&a)))
}

fn matmul([n]: [usize; 1], dtype: DType) -> Result<Work> {
    let (a, b) = (numbers(&[n, n], 1)?.to_dtype(dtype)?, numbers(&[n, n], 2)?.to_dtype(dtype)?);
    Ok(timed(move || a.matmul(&b)))
}

struct Linear {
    weight: Tensor,
    bias: Tensor,
}

impl Linear {
    fn new(input: usize, output: usize) -> Result<Linear> {
        let weight = (numbers(&[input, output], 1)? / input as f64)?;
        Ok(Linear { weight, bias: numbers(&[output], 2)? })
    }

    fn forward(&self, x: &Tensor) -> Result<Tensor> {
        x.broadcast_matmul(&self.weight)?.broadcast_add(&self.bias)
    }
}

struct Block {
    heads: usize,
    norms: [(Tensor, Tensor); 2],
    qkv: Linear,
    out: Linear,
    up: Linear,
    down: Linear,
}

impl Block {
    fn new(width: usize, heads: usize) -> Result<Block> {
        let norm = || Ok::<_, candle_core::Error>((numbers(&[width], 3)?, numbers(&[width], 4)?));
        Ok(Block {
            heads,
            norms: [norm()?, norm()?],
            qkv: Linear::new(width, 3 * width)?,
            out: Linear::new(width, width)?,
            up: Linear::new(width, 4 * width)?,
            down: Linear::new(4 * width, width)?,
        })
    }

    /// The tokens of all sequences as rows: one product instead of a batch of them.
    fn forward(&self, x: &Tensor) -> Result<Tensor> {
        let (batch, tokens, width) = x.dims3()?;
        let head = width / self.heads;
        let x = x.reshape((batch * tokens, width))?;
        let normal = ops::layer_norm(&x, &self.norms[0].0, &self.norms[0].1, 1e-5)?;
        let parts = self.qkv.forward(&normal)?.reshape((batch, tokens, 3, self.heads, head))?;
        let part = |i| parts.narrow(2, i, 1)?.squeeze(2)?.transpose(1, 2)?.contiguous();
        let (q, k, v): (Tensor, Tensor, Tensor) = (part(0)?, part(1)?, part(2)?);
        let scores = (q.matmul(&k.t()?)? / (head as f64).sqrt())?;
        let mixed = ops::softmax_last_dim(&scores)?.matmul(&v)?;
        let mixed = mixed.transpose(1, 2)?.reshape((batch * tokens, width))?;
        let x = (x + self.out.forward(&mixed)?)?;
        let normal = ops::layer_norm(&x, &self.norms[1].0, &self.norms[1].1, 1e-5)?;
        let hidden = self.up.forward(&normal)?.gelu()?;
        (x + self.down.forward(&hidden)?)?.reshape((batch, tokens, width))
    }
}
