//! The cases on burn: its CPU backend `flex`, and `wgpu`.

use bench_protocol::{Case, Work, timed, uniform};
use burn_tensor::activation::{gelu_approximate, relu, softmax};
use burn_tensor::module::{attention, layer_norm};
use burn_tensor::{Device, DeviceKind, Distribution, FloatDType, Int, Tensor, TensorData};

pub fn build_flex(case: &Case) -> Result<Option<Work>, String> {
    build(case, Device::flex())
}

pub fn build_wgpu(case: &Case) -> Result<Option<Work>, String> {
    build(case, Device::wgpu(DeviceKind::DefaultDevice))
}

/// Runs until the result is computed: burn's `sync` waits for the device.
fn work<T: 'static>(device: &Device, f: impl Fn() -> T + 'static) -> Work {
    let device = device.clone();
    timed(move || {
        let result = f();
        device.sync().map_err(|e| format!("{e:?}"))?;
        Ok::<_, String>(result)
    })
}

fn numbers<const D: usize>(shape: [usize; D], seed: u64, device: &Device) -> Tensor<D> {
    let data = TensorData::new(uniform(shape.iter().product(), seed), shape);
    let tensor = Tensor::from_data(data, device);
    // Uploaded before the clock starts. A failure shows in the first run.
    let _ = device.sync();
    tensor
}

fn build(case: &Case, device: Device) -> Result<Option<Work>, String> {
    let d = &device;
    let work = match case.operation.as_str() {
        "add" | "tiny" => {
            let [n] = case.sizes()?;
            let (a, b) = (numbers([n], 1, d), numbers([n], 2, d));
            work(d, move || a.clone() + b.clone())
        }
        "tanh_mul_add" => {
            let [n] = case.sizes()?;
            let (a, b, c) = (numbers([n], 1, d), numbers([n], 2, d), numbers([n], 3, d));
            work(d, move || (a.clone() * b.clone() + c.clone()).tanh())
        }
        "sum" => {
            let [n] = case.sizes()?;
            let a = numbers([n], 1, d);
            work(d, move || a.clone().sum())
        }
        "softmax" => rows(case.sizes()?, d, |a| softmax(a, 1)),
        "sum_columns" => rows(case.sizes()?, d, |a| a.sum_dim(0)),
        "argmax" => rows(case.sizes()?, d, |a| a.argmax(1)),
        "cumsum" => rows(case.sizes()?, d, |a| a.cumsum(1)),
        "normal" => {
            let [n] = case.sizes()?;
            let own = device.clone();
            work(d, move || Tensor::<1>::random([n], Distribution::Normal(0.0, 1.0), &own))
        }
        "sort" => {
            let [n] = case.sizes()?;
            let a = numbers([n], 1, d);
            work(d, move || a.clone().sort(0))
        }
        "matmul" => matmul(case.sizes()?, FloatDType::F32, d),
        "matmul_f16" => matmul(case.sizes()?, FloatDType::F16, d),
        "matmul_bf16" => matmul(case.sizes()?, FloatDType::BF16, d),
        "matmul_batched" => {
            let [batch, n] = case.sizes()?;
            let (a, b) = (numbers([batch, n, n], 1, d), numbers([batch, n, n], 2, d));
            work(d, move || a.clone().matmul(b.clone()))
        }
        "matmul_transposed" => {
            let [n] = case.sizes()?;
            let (a, b) = (numbers([n, n], 1, d), numbers([n, n], 2, d));
            work(d, move || a.clone().matmul(b.clone().transpose()))
        }
        "add_strided" => {
            let [n] = case.sizes()?;
            let (a, b) = (numbers([n, n], 1, d), numbers([n, n], 2, d));
            work(d, move || a.clone() + b.clone().transpose())
        }
        "gather" => {
            let [table, width, count] = case.sizes()?;
            let rows = numbers([table, width], 1, d);
            let indices: Vec<i32> = uniform(count, 2).iter().map(|x| (x * table as f32) as i32).collect();
            let indices = Tensor::<1, Int>::from_data(TensorData::new(indices, [count]), d);
            work(d, move || rows.clone().select(0, indices.clone()))
        }
        "concatenate" => {
            let [rows, columns] = case.sizes()?;
            let (a, b) = (numbers([rows, columns], 1, d), numbers([rows, columns], 2, d));
            work(d, move || Tensor::cat(vec![a.clone(), b.clone()], 1))
        }
        "layer_norm" => {
            let [rows, columns] = case.sizes()?;
            let a = numbers([rows, columns], 1, d);
            let (weight, bias) = (numbers([columns], 2, d), numbers([columns], 3, d));
            work(d, move || layer_norm(a.clone(), weight.clone(), Some(bias.clone()), 1e-5))
        }
        "mlp" => {
            let [batch, input, hidden, output] = case.sizes()?;
            let layers =
                [Linear::new(input, hidden, d), Linear::new(hidden, hidden, d), Linear::new(hidden, output, d)];
            let x = numbers([batch, input], 9, d);
            work(d, move || {
                let x = relu(layers[0].forward(x.clone()));
                let x = relu(layers[1].forward(x));
                layers[2].forward(x)
            })
        }
        "transformer_block" => {
            let [batch, tokens, width, heads] = case.sizes()?;
            let block = Block::new(width, heads, d);
            let x = numbers([batch, tokens, width], 9, d);
            work(d, move || block.forward(x.clone()))
        }
        "chain" => {
            let [links, n] = case.sizes()?;
            let (a, b) = (numbers([n], 1, d), numbers([n], 2, d));
            work(d, move || (0..links).fold(a.clone(), |x, _| x + b.clone()))
        }
        _ => return Ok(None),
    };
    Ok(Some(work))
}

fn rows<T: 'static>(
    [rows, columns]: [usize; 2],
    device: &Device,
    f: impl Fn(Tensor<2>) -> T + 'static,
) -> Work {
    let a = numbers([rows, columns], 1, device);
    work(device, move || f(a.clone()))
}

fn matmul([n]: [usize; 1], dtype: FloatDType, device: &Device) -> Work {
    let a = numbers([n, n], 1, device).cast(dtype);
    let b = numbers([n, n], 2, device).cast(dtype);
    let _ = device.sync();
    work(device, move || a.clone().matmul(b.clone()))
}

struct Linear {
    weight: Tensor<2>,
    bias: Tensor<2>,
}

impl Linear {
    fn new(input: usize, output: usize, device: &Device) -> Linear {
        let weight = numbers([input, output], 1, device) / input as f32;
        Linear { weight, bias: numbers([1, output], 2, device) }
    }

    fn forward(&self, x: Tensor<2>) -> Tensor<2> {
        x.matmul(self.weight.clone()) + self.bias.clone()
    }
}

struct Block {
    heads: usize,
    norms: [(Tensor<1>, Tensor<1>); 2],
    qkv: Linear,
    out: Linear,
    up: Linear,
    down: Linear,
}

impl Block {
    fn new(width: usize, heads: usize, device: &Device) -> Block {
        let norm = || (numbers([width], 3, device), numbers([width], 4, device));
        Block {
            heads,
            norms: [norm(), norm()],
            qkv: Linear::new(width, 3 * width, device),
            out: Linear::new(width, width, device),
            up: Linear::new(width, 4 * width, device),
            down: Linear::new(4 * width, width, device),
        }
    }

    /// The tokens of all sequences as rows: one product instead of a batch of them.
    fn forward(&self, x: Tensor<3>) -> Tensor<3> {
        let [batch, tokens, width] = x.dims();
        let head = width / self.heads;
        let norm = |x: Tensor<2>, i: usize| {
            layer_norm(x, self.norms[i].0.clone(), Some(self.norms[i].1.clone()), 1e-5)
        };
        let x = x.reshape([batch * tokens, width]);
        let parts = self.qkv.forward(norm(x.clone(), 0)).reshape([batch, tokens, 3, self.heads, head]);
        let part = |i: usize| {
            let part: Tensor<4> = parts.clone().narrow(2, i, 1).squeeze_dim(2);
            part.swap_dims(1, 2)
        };
        let mixed = attention(part(0), part(1), part(2), None, None, Default::default());
        let mixed = mixed.swap_dims(1, 2).reshape([batch * tokens, width]);
        let x = x + self.out.forward(mixed);
        let hidden = gelu_approximate(self.up.forward(norm(x.clone(), 1)));
        (x + self.down.forward(hidden)).reshape([batch, tokens, width])
    }
}
