//! Random expressions on the CPU and on the GPU: the same values, within what the types can hold.
//!
//! Tolerances, relative to the larger of the two values and the expression's scale: `float32` 2e-4 (functions are
//! within a few ULP each, and chains of up to thirty multiply their errors), `float16` 4e-2, `bfloat16` 2e-1;
//! integers and bool are equal.

use pellucid::{Array, Device, Dtype, Result, eval, is_available, ops, with_device};

/// xorshift64*: the same expressions in every run.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 33) as usize % sides
    }
}

const TYPES: [Dtype; 12] = [
    Dtype::Float32,
    Dtype::Float32,
    Dtype::Float16,
    Dtype::Bfloat16,
    Dtype::Int32,
    Dtype::Uint32,
    Dtype::Int64,
    Dtype::Int16,
    Dtype::Uint8,
    Dtype::Int8,
    Dtype::Bool,
    Dtype::Uint16,
];

fn source(dice: &mut Dice, shape: &[usize], dtype: Dtype) -> Array {
    let n: usize = shape.iter().product();
    let values: Vec<f32> = (0..n).map(|_| dice.roll(4001) as f32 / 1000.0 - 2.0).collect();
    let a = Array::from_slice(&values, shape.to_vec());
    let a = if dtype.is_inexact() { a } else { ops::multiply(&a, 20.0) };
    let a = if dtype.is_unsigned_integer() { ops::abs(&a) } else { a };
    ops::astype(&a, dtype)
}

/// Applies a random operation to the arrays made so far; every choice depends on the dice only.
fn grow(dice: &mut Dice, made: &[Array]) -> Array {
    let a = &made[dice.roll(made.len())];
    let same: Vec<&Array> = made.iter().filter(|b| b.shape() == a.shape()).collect();
    let b = same[dice.roll(same.len())];
    let axis = if a.ndim() > 0 { dice.roll(a.ndim()) as i64 } else { 0 };
    let real = a.dtype().is_inexact();
    match dice.roll(30) {
        0 => ops::add(a, b),
        1 => {
            ops::subtract(a, &ops::astype(b, if b.dtype() == Dtype::Bool { Dtype::Int32 } else { b.dtype() }))
        }
        2 => ops::multiply(a, b),
        3 => ops::maximum(a, b),
        4 => ops::minimum(a, b),
        5 if real => ops::tanh(a),
        6 if real => ops::sin(a),
        7 if real => ops::sigmoid(a),
        8 if real => ops::exp(&ops::minimum(a, 3.0)),
        9 if real => ops::log(&ops::add(&ops::abs(a), 1.0)),
        10 if real => ops::sqrt(&ops::abs(a)),
        11 if real => ops::erf(a),
        12 => ops::less(a, b),
        13 => ops::astype(a, TYPES[dice.roll(TYPES.len())]),
        14 => ops::where_(&ops::greater(a, b), a, b),
        15 if a.ndim() > 0 => ops::sum(a, axis, true),
        16 if a.ndim() > 0 => ops::max(a, axis, false),
        17 if a.ndim() > 0 && real => ops::softmax(a, axis, true),
        18 if a.ndim() > 1 => ops::transpose(a, None),
        19 if a.ndim() > 0 => ops::flip(a, axis),
        20 if a.ndim() > 0 && a.size() < 5000 => ops::concatenate(&[a, b], axis),
        21 if a.ndim() > 0 && !real => ops::cumsum(a, axis, dice.roll(2) == 0, dice.roll(2) == 0),
        22 if a.ndim() > 0 => ops::argmax(a, axis, false),
        23 if a.ndim() == 2 && real => ops::matmul(a, &ops::transpose(b, None)),
        24 => ops::square(&ops::clip(a, -3.0, 3.0)),
        25 => ops::logical_not(a),
        26 if a.ndim() > 0 => ops::min(a, axis, true),
        27 => ops::multiply(a, 3),
        28 if real => ops::arctan(a),
        29 if real => ops::divide(a, &ops::add(&ops::abs(b), 0.5)),
        _ => ops::abs(a),
    }
}

fn expression(seed: u64) -> Result<Vec<Array>> {
    let mut dice = Dice(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1);
    for _ in 0..8 {
        dice.roll(2);
    }
    let rank = dice.roll(4);
    let shape: Vec<usize> =
        (0..rank).map(|_| 1 + dice.roll([40, 9, 12][rank.saturating_sub(1).min(2)])).collect();
    let mut made = Vec::new();
    for _ in 0..1 + dice.roll(3) {
        let dtype = TYPES[dice.roll(TYPES.len())];
        made.push(source(&mut dice, &shape, dtype));
    }
    for _ in 0..1 + dice.roll(30) {
        let next = grow(&mut dice, &made);
        if next.size() <= 20_000 {
            made.push(next);
        }
    }
    Ok(made)
}

fn numbers(a: &Array) -> Result<Vec<f64>> {
    with_device(Device::cpu(), || ops::astype(a, Dtype::Float64).to_vec::<f64>())?
}

fn tolerance(dtype: Dtype) -> f64 {
    match dtype {
        Dtype::Float16 => 4e-2,
        Dtype::Bfloat16 => 2e-1,
        d if d.is_inexact() => 2e-4,
        _ => 0.0,
    }
}

/// What the whole expression can be expected to hold: its least exact member's tolerance.
fn compare(seed: u64, cpu: &[Array], gpu: &[Array]) -> Result<Option<String>> {
    let mut worst: f64 = 0.0;
    let mut rounded = false;
    for (i, (a, b)) in cpu.iter().zip(gpu).enumerate() {
        worst = worst.max(tolerance(a.dtype()));
        let (x, y) = (numbers(a)?, numbers(b)?);
        let scale = x.iter().filter(|v| v.is_finite()).fold(1.0f64, |m, v| m.max(v.abs()));
        let limit = worst * scale;
        let bad = x.iter().zip(&y).position(|(x, y)| {
            let same = x == y || x.is_nan() && y.is_nan();
            // What rounds to an integer or compares may fall on the other side of an edge.
            !same && (tolerance(a.dtype()) > 0.0 || !rounded) && ((x - y).is_nan() || (x - y).abs() > limit)
        });
        rounded |= a.dtype().is_inexact();
        if let Some(at) = bad {
            let (x, y) = (x[at], y[at]);
            return Ok(Some(format!(
                "seed {seed}, step {i} ({a:?}), element {at}: CPU {x}, GPU {y}, limit {limit}"
            )));
        }
    }
    Ok(None)
}

#[test]
fn five_hundred_random_expressions_agree() -> Result<()> {
    if !is_available(Device::gpu()) {
        assert!(std::env::var_os("CI").is_none_or(|v| v != "true"), "no GPU; install mesa-vulkan-drivers");
        eprintln!("skipped: there is no GPU");
        return Ok(());
    }
    let mut wrong = Vec::new();
    for seed in 1..=500 {
        let cpu = with_device(Device::cpu(), || expression(seed))??;
        let gpu = with_device(Device::gpu(), || expression(seed))??;
        eval(&cpu)?;
        // Half of them in one go, half only by the last array, so that chains are fused.
        let last = gpu.len() - 1;
        if seed % 2 == 0 {
            eval(&gpu)?
        } else {
            eval([&gpu[last]])?
        }
        wrong.extend(compare(seed, &cpu, &gpu)?);
    }
    assert!(wrong.is_empty(), "{} of 500:\n{}", wrong.len(), wrong.join("\n"));
    Ok(())
}
