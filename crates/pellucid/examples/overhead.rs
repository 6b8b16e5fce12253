//! What the runtime itself costs: building, planning and launching tiny operations, and a few large ones.
//!
//! Run with `cargo run --release -p pellucid --example overhead`.

use std::time::Instant;

use pellucid::{Axes, Dtype, Result, eval, ops};

fn best(rounds: usize, mut f: impl FnMut() -> Result<()>) -> Result<f64> {
    let mut best = f64::MAX;
    for _ in 0..rounds {
        let start = Instant::now();
        f()?;
        best = best.min(start.elapsed().as_secs_f64() * 1e6);
    }
    Ok(best)
}

fn main() -> Result<()> {
    let (a, b) = (ops::ones([16], Dtype::Float32), ops::ones([16], Dtype::Float32));
    eval(&[&a, &b])?;
    let chain = |n: usize| {
        let mut x = a.clone();
        for _ in 0..n {
            x = ops::add(&x, &b);
        }
        Ok(x)
    };
    let build = best(200, || chain(1000).map(drop))?;
    let whole = best(200, || chain(1000)?.eval())?;
    println!("1,000 chained adds of 16: build and drop {build:.1} µs, with evaluation {whole:.1} µs");
    let scalar = best(200, || {
        let mut x = a.clone();
        for _ in 0..1000 {
            x = ops::add(&x, 1.0);
        }
        x.eval()
    })?;
    println!("1,000 chained adds of a number: {scalar:.1} µs");
    pellucid::set_fusion(false);
    let unfused = best(50, || chain(1000)?.eval())?;
    pellucid::set_fusion(true);
    println!("the same without fusion: {:.3} µs per launch", unfused / 1000.0);
    println!("one tiny operation: {:.2} µs", best(2000, || ops::add(&a, &b).eval())?);

    let n = 1 << 24;
    let (x, y, z) =
        (ops::ones([n], Dtype::Float32), ops::ones([n], Dtype::Float32), ops::ones([n], Dtype::Float32));
    eval(&[&x, &y, &z])?;
    println!("a + b, 16M: {:.2} ms", best(20, || ops::add(&x, &y).eval())? / 1e3);
    println!("tanh(a·b + c), 16M: {:.2} ms", best(10, || ops::tanh(&(&x * &y + &z)).eval())? / 1e3);
    println!("sum, 16M: {:.2} ms", best(20, || ops::sum(&x, Axes::All, false).eval())? / 1e3);
    let m = ops::reshape(&x, [4096, 4096]);
    println!("softmax 4096²: {:.2} ms", best(10, || ops::softmax(&m, -1, false).eval())? / 1e3);
    for n in [256, 1024, 2048] {
        let p = ops::ones([n, n], Dtype::Float32);
        p.eval()?;
        println!("matmul {n}: {:.3} ms", best(20, || ops::matmul(&p, &p).eval())? / 1e3);
    }
    println!(
        "normal, 16M: {:.2} ms",
        best(5, || { pellucid::random::normal([n], Dtype::Float32, 0.0, 1.0, None).eval() })? / 1e3
    );
    let r = pellucid::random::uniform(0.0, 1.0, [1 << 20], Dtype::Float32, None);
    r.eval()?;
    println!("sort 1M: {:.2} ms", best(20, || ops::sort(&r, -1).eval())? / 1e3);
    Ok(())
}
