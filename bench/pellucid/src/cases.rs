//! The cases of the benchmark in Pellucid's words.

use std::time::Instant;

use bench_protocol::{Case, Work, milliseconds, timed, uniform};
use pellucid::{Array, Device, Dtype, Result, async_eval, eval, ops, random, set_fusion, synchronize};

use crate::model;

/// The work of a case, or `None` if there is no such case.
pub fn build(case: &Case, device: Device) -> std::result::Result<Option<Work>, String> {
    set_fusion(true);
    make(case, device).unwrap_or_else(|e| Err(e.to_string()))
}

/// An array of numbers from 0 to 1.
pub fn numbers(shape: &[usize], seed: u64) -> Array {
    Array::from_vec(uniform(shape.iter().product(), seed), shape)
}

/// Runs until the result of the graph is computed, on the GPU too.
fn work(graph: impl Fn() -> Array + 'static) -> Work {
    timed(move || {
        let result = graph();
        result.eval()?;
        synchronize(None)?;
        Ok::<_, pellucid::Error>(result)
    })
}

type Made = std::result::Result<Option<Work>, String>;

/// The outer error is Pellucid's, the inner one of the case's numbers.
fn make(case: &Case, device: Device) -> Result<Made> {
    macro_rules! sizes {
        () => {
            match case.sizes() {
                Ok(sizes) => sizes,
                Err(why) => return Ok(Err(why)),
            }
        };
    }
    let work = match case.operation.as_str() {
        "add" => {
            let [n] = sizes!();
            let (a, b) = (numbers(&[n], 1), numbers(&[n], 2));
            work(move || ops::add(&a, &b))
        }
        "tanh_mul_add" => {
            let [n] = sizes!();
            let (a, b, c) = (numbers(&[n], 1), numbers(&[n], 2), numbers(&[n], 3));
            work(move || ops::tanh(&ops::add(&ops::multiply(&a, &b), &c)))
        }
        "sum" => {
            let [n] = sizes!();
            let a = numbers(&[n], 1);
            work(move || ops::sum(&a, None, false))
        }
        "softmax" => rows(sizes!(), |a| ops::softmax(a, -1, false))?,
        "sum_columns" => rows(sizes!(), |a| ops::sum(a, 0, false))?,
        "argmax" => rows(sizes!(), |a| ops::argmax(a, -1, false))?,
        "cumsum" => rows(sizes!(), |a| ops::cumsum(a, -1, false, true))?,
        "normal" => {
            let [n] = sizes!();
            work(move || random::normal([n], Dtype::Float32, 0.0, 1.0, None))
        }
        "sort" => {
            let [n] = sizes!();
            let a = numbers(&[n], 1);
            work(move || ops::sort(&a, -1))
        }
        "matmul" => matmul(sizes!(), Dtype::Float32)?,
        "matmul_f16" => matmul(sizes!(), Dtype::Float16)?,
        "matmul_bf16" => matmul(sizes!(), Dtype::Bfloat16)?,
        "matmul_batched" => {
            let [batch, n] = sizes!();
            let (a, b) = (numbers(&[batch, n, n], 1), numbers(&[batch, n, n], 2));
            work(move || ops::matmul(&a, &b))
        }
        "matmul_transposed" => {
            let [n] = sizes!();
            let (a, b) = (numbers(&[n, n], 1), numbers(&[n, n], 2));
            work(move || ops::matmul(&a, &b.T()))
        }
        "add_strided" => {
            let [n] = sizes!();
            let (a, b) = (numbers(&[n, n], 1), numbers(&[n, n], 2));
            work(move || ops::add(&a, &b.T()))
        }
        "gather" => gather(sizes!())?,
        "concatenate" => {
            let [rows, columns] = sizes!();
            let (a, b) = (numbers(&[rows, columns], 1), numbers(&[rows, columns], 2));
            work(move || ops::concatenate(&[&a, &b], 1))
        }
        "layer_norm" => {
            let [rows, columns] = sizes!();
            let a = numbers(&[rows, columns], 1);
            let (weight, bias) = (numbers(&[columns], 2), numbers(&[columns], 3));
            work(move || model::layer_norm(&a, &weight, &bias))
        }
        "mlp" => {
            let [batch, input, hidden, output] = sizes!();
            let mlp = model::Mlp::new(&[input, hidden, hidden, output])?;
            let x = numbers(&[batch, input], 9);
            work(move || mlp.forward(&x))
        }
        "transformer_block" => {
            let [batch, tokens, width, heads] = sizes!();
            let block = model::Block::new(width, heads)?;
            let x = numbers(&[batch, tokens, width], 9);
            work(move || block.forward(&x))
        }
        "chain" => {
            let [links, n] = sizes!();
            let (a, b) = (numbers(&[n], 1), numbers(&[n], 2));
            work(move || chain(&a, &b, links))
        }
        "tiny" => {
            let [n] = sizes!();
            let (a, b) = (numbers(&[n], 1), numbers(&[n], 2));
            timed(move || {
                let sum = ops::add(&a, &b);
                sum.eval()?;
                Ok::<_, pellucid::Error>(sum)
            })
        }
        "launch" if device == Device::cpu() => launch(sizes!())?,
        _ => return Ok(Ok(None)),
    };
    Ok(Ok(Some(work)))
}

fn rows([rows, columns]: [usize; 2], f: impl Fn(&Array) -> Array + 'static) -> Result<Work> {
    let a = numbers(&[rows, columns], 1);
    Ok(work(move || f(&a)))
}

fn matmul([n]: [usize; 1], dtype: Dtype) -> Result<Work> {
    let a = ops::astype(&numbers(&[n, n], 1), dtype);
    let b = ops::astype(&numbers(&[n, n], 2), dtype);
    eval([&a, &b])?;
    Ok(work(move || ops::matmul(&a, &b)))
}

fn gather([table, width, count]: [usize; 3]) -> Result<Work> {
    let rows = numbers(&[table, width], 1);
    let indices: Vec<i32> = uniform(count, 2).iter().map(|x| (x * table as f32) as i32).collect();
    let indices = Array::from_vec(indices, [count]);
    eval([&rows, &indices])?;
    Ok(work(move || ops::take(&rows, &indices, 0)))
}

fn chain(a: &Array, b: &Array, links: usize) -> Array {
    let mut x = a.clone();
    for _ in 0..links {
        x = ops::add(&x, b);
    }
    x
}

/// The time of one launch on a CPU stream: a chain without fusion, built before the clock starts.
fn launch([links, n]: [usize; 2]) -> Result<Work> {
    let (a, b) = (numbers(&[n], 1), numbers(&[n], 2));
    set_fusion(false);
    let run = move || -> Result<f64> {
        let x = chain(&a, &b, links);
        let start = Instant::now();
        async_eval([&x]);
        x.eval()?;
        Ok(milliseconds(start.elapsed()) / links as f64)
    };
    Ok(Box::new(move || run().map_err(|e| e.to_string())))
}
