//! Timings, printed on demand: `cargo test --release -p pellucid elementwise::tests::speed -- --ignored --nocapture`.

use std::time::Instant;

use super::*;

fn best(times: usize, mut f: impl FnMut()) -> f64 {
    (0..times)
        .map(|_| {
            let start = Instant::now();
            f();
            start.elapsed().as_secs_f64()
        })
        .fold(f64::INFINITY, f64::min)
}

fn tensor(n: usize) -> Tensor {
    Tensor::of(&(0..n).map(|i| (i % 2000) as f32 * 0.002 - 2.0).collect::<Vec<_>>())
}

#[test]
#[ignore = "prints timings"]
fn timings() {
    const N: usize = 1 << 24;
    let f = Dtype::Float32;
    let (a, b, c) = (tensor(N), tensor(N), tensor(N));
    let mut out = Tensor::zeros(f, &[N]);
    let report = |name: &str, bytes: usize, t: f64| {
        println!("{name:28} {:9.3} ms {:7.2} GB/s", t * 1e3, bytes as f64 / t / 1e9);
    };
    let add = single(Func::Binary(BinaryOp::Add), f, f, &[f; 2]);
    let t = best(10, || run(&add, &[a.input(), b.input()], &mut out.out()).expect("valid"));
    report("a + b", 12 * N, t);
    let fused = Program {
        instrs: [
            instr(Func::Binary(BinaryOp::Multiply), f, f, &[Arg::Input(0), Arg::Input(1)]),
            instr(Func::Binary(BinaryOp::Add), f, f, &[Arg::Instr(0), Arg::Input(2)]),
            instr(Func::Unary(UnaryOp::Tanh), f, f, &[Arg::Instr(1)]),
        ]
        .into_iter()
        .collect(),
        inputs: [f; 3].into_iter().collect(),
        ..Program::default()
    };
    let t = best(10, || run(&fused, &[a.input(), b.input(), c.input()], &mut out.out()).expect("valid"));
    report("tanh(a * b + c)", 16 * N, t);
    let row = a.view(&[4096], &[1], 0);
    let square = a.view(&[4096, 4096], &[4096, 1], 0);
    let turned = b.view(&[4096, 4096], &[1, 4096], 0);
    out.shape = vec![4096, 4096];
    let t = best(10, || run(&add, &[square.input(), row.input()], &mut out.out()).expect("valid"));
    report("a + row", 8 * N, t);
    let t = best(10, || run(&add, &[square.input(), turned.input()], &mut out.out()).expect("valid"));
    report("a + b.T", 12 * N, t);
    let t = best(10, || crate::backend::cpu::copy::copy(&turned.input(), &mut out.out()));
    report("copy b.T", 8 * N, t);

    const M: usize = 1 << 20;
    let (x, y) = (tensor(M), tensor(M));
    let mut z = Tensor::zeros(f, &[M]);
    for &op in UnaryOp::ALL.iter().filter(|o| o.compute_dtype(f) == Some(f) && o.result_dtype(f) == f) {
        let p = single(Func::Unary(op), f, f, &[f]);
        let t = best(10, || run(&p, &[x.input()], &mut z.out()).expect("valid"));
        println!("{:12} {:6.3} ns per element", op.name(), t * 1e9 / M as f64);
    }
    for op in [BinaryOp::Power, BinaryOp::Remainder, BinaryOp::Arctan2, BinaryOp::Logaddexp] {
        let p = single(Func::Binary(op), f, f, &[f; 2]);
        let t = best(10, || run(&p, &[x.input(), y.input()], &mut z.out()).expect("valid"));
        println!("{:12} {:6.3} ns per element", op.name(), t * 1e9 / M as f64);
    }
    for dtype in [Dtype::Float16, Dtype::Bfloat16] {
        let (x, y) = (cast(&x, dtype), cast(&y, dtype));
        let mut z = Tensor::zeros(dtype, &[M]);
        let p = single(Func::Binary(BinaryOp::Add), dtype, dtype, &[dtype; 2]);
        let t = best(10, || run(&p, &[x.input(), y.input()], &mut z.out()).expect("valid"));
        println!("{dtype} add {:6.3} ns per element", t * 1e9 / M as f64);
    }

    let small = tensor(16);
    let mut out = Tensor::zeros(f, &[16]);
    let inputs = [small.input(), small.input()];
    let mut out = out.out();
    let t = best(20, || {
        for _ in 0..1000 {
            run(&add, &inputs, &mut out).expect("valid");
        }
    });
    println!("one add of 16: {:.1} ns", t * 1e6);
    let chain = Program {
        instrs: (0..1000u16)
            .map(|i| {
                let before = if i == 0 { Arg::Input(0) } else { Arg::Instr(i - 1) };
                instr(Func::Binary(BinaryOp::Add), f, f, &[before, Arg::Input(1)])
            })
            .collect(),
        inputs: [f; 2].into_iter().collect(),
        ..Program::default()
    };
    let t = best(100, || run(&chain, &inputs, &mut out).expect("valid"));
    println!("1000 chained adds of 16: {:.2} us", t * 1e6);
}
