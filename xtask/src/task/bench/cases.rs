//! The cases: what is run, on which device, and how much memory and arithmetic it needs at least.

use Device::{Cpu, Gpu};
use serde::Serialize;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Device {
    Cpu,
    Gpu,
}

impl Device {
    pub const ALL: [Device; 2] = [Cpu, Gpu];
}

#[derive(Clone, Copy, Debug)]
pub struct Case {
    pub name: &'static str,
    pub device: Device,
    /// One of the cases that Pellucid promises to be fastest in.
    pub headline: bool,
    /// The operation and its sizes, as runners are asked for it.
    pub request: &'static str,
    /// Bytes that must be read and written at least.
    pub read: f64,
    pub written: f64,
    /// Floating-point operations, where they may be the limit.
    pub flops: f64,
}

/// Bytes of millions (2²⁰) of `float32`.
const fn mega(numbers: f64) -> f64 {
    numbers * 4.0 * 1048576.0
}

const fn case(
    name: &'static str,
    device: Device,
    headline: bool,
    request: &'static str,
    read: f64,
    written: f64,
) -> Case {
    Case { name, device, headline, request, read, written, flops: 0.0 }
}

/// A square product, or a batch of them, of numbers of some bytes.
const fn product(
    name: &'static str,
    device: Device,
    headline: bool,
    request: &'static str,
    batch: f64,
    n: f64,
    bytes: f64,
) -> Case {
    Case {
        name,
        device,
        headline,
        request,
        read: batch * 2.0 * n * n * bytes,
        written: batch * n * n * bytes,
        flops: batch * 2.0 * n * n * n,
    }
}

const fn layers(name: &'static str, device: Device, request: &'static str, flops: f64) -> Case {
    Case { name, device, headline: false, request, read: 0.0, written: 0.0, flops }
}

/// The arithmetic of the products of a transformer block: projections, feed-forward part, attention.
const fn block_flops(batch: f64, tokens: f64, width: f64) -> f64 {
    batch * tokens * 2.0 * 12.0 * width * width + 4.0 * batch * tokens * tokens * width
}

const fn mlp_flops(batch: f64, input: f64, hidden: f64, output: f64) -> f64 {
    2.0 * batch * (input * hidden + hidden * hidden + hidden * output)
}

#[rustfmt::skip]
pub const CASES: &[Case] = &[
    case("add", Cpu, true, "add 16777216", mega(32.0), mega(16.0)),
    case("tanh(a*b+c)", Cpu, true, "tanh_mul_add 16777216", mega(48.0), mega(16.0)),
    case("sum", Cpu, true, "sum 16777216", mega(16.0), 0.0),
    case("softmax 4096x4096", Cpu, true, "softmax 4096 4096", mega(16.0), mega(16.0)),
    product("matmul 256", Cpu, true, "matmul 256", 1.0, 256.0, 4.0),
    product("matmul 1024", Cpu, true, "matmul 1024", 1.0, 1024.0, 4.0),
    product("matmul 2048", Cpu, true, "matmul 2048", 1.0, 2048.0, 4.0),
    case("normal", Cpu, true, "normal 16777216", 0.0, mega(16.0)),
    case("sort 1M", Cpu, true, "sort 1048576", 0.0, 0.0),
    case("1000 chained adds of 16", Cpu, true, "chain 1000 16", 0.0, 0.0),
    product("matmul f16 1024", Cpu, false, "matmul_f16 1024", 1.0, 1024.0, 2.0),
    product("matmul bf16 1024", Cpu, false, "matmul_bf16 1024", 1.0, 1024.0, 2.0),
    product("matmul batched 64x128x128", Cpu, false, "matmul_batched 64 128", 64.0, 128.0, 4.0),
    product("matmul transposed 1024", Cpu, false, "matmul_transposed 1024", 1.0, 1024.0, 4.0),
    case("add strided 4096x4096", Cpu, false, "add_strided 4096", mega(32.0), mega(16.0)),
    case("sum columns 4096x4096", Cpu, false, "sum_columns 4096 4096", mega(16.0), 0.0),
    case("argmax 4096x4096", Cpu, false, "argmax 4096 4096", mega(16.0), 0.0),
    case("cumsum 4096x4096", Cpu, false, "cumsum 4096 4096", mega(16.0), mega(16.0)),
    case("gather 1M rows of 32", Cpu, false, "gather 131072 32 1048576", mega(33.0), mega(32.0)),
    case("concatenate 4096x4096", Cpu, false, "concatenate 4096 2048", mega(16.0), mega(16.0)),
    case("layer norm 4096x4096", Cpu, false, "layer_norm 4096 4096", mega(16.0), mega(16.0)),
    layers("transformer block", Cpu, "transformer_block 8 128 512 8", block_flops(8.0, 128.0, 512.0)),
    layers("mlp 3 layers", Cpu, "mlp 256 784 1024 10", mlp_flops(256.0, 784.0, 1024.0, 10.0)),
    case("eval of one tiny op", Cpu, false, "tiny 16", 0.0, 0.0),
    case("launch on a CPU stream", Cpu, false, "launch 1000 16", 0.0, 0.0),

    case("add", Gpu, true, "add 1048576", mega(2.0), mega(1.0)),
    case("tanh(a*b+c)", Gpu, true, "tanh_mul_add 1048576", mega(3.0), mega(1.0)),
    case("sum", Gpu, true, "sum 1048576", mega(1.0), 0.0),
    case("softmax 256x4096", Gpu, true, "softmax 256 4096", mega(1.0), mega(1.0)),
    product("matmul 256", Gpu, true, "matmul 256", 1.0, 256.0, 4.0),
    product("matmul 1024", Gpu, true, "matmul 1024", 1.0, 1024.0, 4.0),
    case("1000 chained adds of 16", Gpu, true, "chain 1000 16", 0.0, 0.0),
    product("matmul batched 16x128x128", Gpu, false, "matmul_batched 16 128", 16.0, 128.0, 4.0),
    product("matmul transposed 256", Gpu, false, "matmul_transposed 256", 1.0, 256.0, 4.0),
    case("add strided 1024x1024", Gpu, false, "add_strided 1024", mega(2.0), mega(1.0)),
    case("sum columns 1024x1024", Gpu, false, "sum_columns 1024 1024", mega(1.0), 0.0),
    case("argmax 1024x1024", Gpu, false, "argmax 1024 1024", mega(1.0), 0.0),
    case("cumsum 1024x1024", Gpu, false, "cumsum 1024 1024", mega(1.0), mega(1.0)),
    case("normal", Gpu, false, "normal 1048576", 0.0, mega(1.0)),
    case("gather 65536 rows of 32", Gpu, false, "gather 8192 32 65536", mega(2.0), mega(2.0)),
    case("concatenate 1024x1024", Gpu, false, "concatenate 1024 512", mega(1.0), mega(1.0)),
    case("layer norm 1024x1024", Gpu, false, "layer_norm 1024 1024", mega(1.0), mega(1.0)),
    layers("transformer block", Gpu, "transformer_block 1 128 256 4", block_flops(1.0, 128.0, 256.0)),
    layers("mlp 3 layers", Gpu, "mlp 64 256 512 10", mlp_flops(64.0, 256.0, 512.0, 10.0)),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_case_has_one_name_for_each_device() {
        for (i, case) in CASES.iter().enumerate() {
            let same = |other: &&Case| other.name == case.name && other.device == case.device;
            assert!(!CASES[..i].iter().any(|other| same(&other)), "{}", case.name);
        }
    }

    #[test]
    fn a_product_counts_multiplications_and_additions() {
        let case = CASES.iter().find(|c| c.name == "matmul 1024").unwrap();
        assert_eq!(case.flops, 2.0 * 1024.0 * 1024.0 * 1024.0);
        assert_eq!(case.read, 2.0 * mega(1.0));
        assert_eq!(case.written, mega(1.0));
    }
}
