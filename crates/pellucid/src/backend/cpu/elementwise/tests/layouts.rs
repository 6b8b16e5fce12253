//! Shapes, strides, sizes, fusion and reuse in place.

use super::*;

fn ramp(n: usize) -> Tensor {
    Tensor::of(&(0..n).map(|i| (i % 1000) as f32 * 0.25 - 100.0).collect::<Vec<_>>())
}

/// Element `i` of the row-major walk over `x` stretched to `shape`, by the definition of broadcasting.
fn at(x: &Tensor, shape: &[usize], mut i: usize) -> f32 {
    let skip = shape.len() - x.shape.len();
    let mut offset = x.offset as isize;
    for axis in (0..shape.len()).rev() {
        let index = i % shape[axis];
        i /= shape[axis];
        if axis >= skip && x.shape[axis - skip] != 1 {
            offset += index as isize * x.strides[axis - skip];
        }
    }
    bytemuck::cast_slice::<u64, f32>(&x.memory)[offset as usize]
}

fn assert_adds(a: &Tensor, b: &Tensor, shape: &[usize]) {
    let program = single(Func::Binary(BinaryOp::Add), Dtype::Float32, Dtype::Float32, &[Dtype::Float32; 2]);
    let sum = run_program(&program, &[a, b], shape).to_vec::<f32>();
    for (i, s) in sum.into_iter().enumerate() {
        assert_eq!(s, at(a, shape, i) + at(b, shape, i), "element {i} of {:?} + {:?}", a.shape, b.shape);
    }
}

#[test]
fn every_size_is_computed_to_its_last_element() {
    for n in [0, 1, 7, 15, 1023, 1024, 1025, 8191, 8192, 8193, 100_000] {
        assert_adds(&ramp(n), &ramp(n), &[n]);
    }
}

#[test]
fn inputs_are_stretched_and_read_along_any_strides() {
    let x = ramp(40 * 50 * 3);
    let shape = [40, 50, 3];
    let whole = x.view(&shape, &[150, 3, 1], 0);
    let cases = [
        x.view(&[], &[], 17),
        x.view(&[1], &[1], 5),
        x.view(&[3], &[1], 5),
        x.view(&[50, 1], &[1, 1], 5),
        x.view(&[40, 1, 1], &[7, 0, 0], 5),
        x.view(&[40, 1, 3], &[7, 9, 1], 5),
        x.view(&[1, 50, 3], &[0, 3, 1], 5),
        x.view(&[40, 50, 3], &[1, 40, 2000], 0),
        x.view(&[40, 50, 3], &[-150, -3, -1], 5999),
        x.view(&[40, 50, 3], &[150, 3, -1], 2),
        x.view(&[40, 50, 3], &[0, 0, 0], 9),
        x.view(&[40, 50, 3], &[75, 1, 0], 9),
    ];
    for case in &cases {
        assert_adds(&whole, case, &shape);
        assert_adds(case, &whole, &shape);
        assert_adds(case, case, &shape);
    }
}

#[test]
fn large_strided_inputs_are_split_over_the_cores() {
    let x = ramp(400 * 500);
    let flat = x.view(&[500, 400], &[400, 1], 0);
    let turned = x.view(&[500, 400], &[1, 500], 0);
    let row = x.view(&[400], &[1], 0);
    let column = x.view(&[500, 1], &[1, 1], 0);
    assert_adds(&flat, &turned, &[500, 400]);
    assert_adds(&turned, &row, &[500, 400]);
    assert_adds(&column, &row, &[500, 400]);
}

/// Inputs 0 and 1, then a mix of functions, each on the two results before it.
fn chain(dtype: Dtype, len: usize) -> Program {
    use BinaryOp::*;
    let ops = [Add, Multiply, Subtract, Maximum, Divide, Minimum];
    let arg = |i: usize| if i < 2 { Arg::Input(i as u16) } else { Arg::Instr(i as u16 - 2) };
    Program {
        instrs: (0..len)
            .map(|i| match i % 7 {
                6 => instr(Func::Unary(UnaryOp::Tanh), dtype, dtype, &[arg(i + 1)]),
                k => instr(Func::Binary(ops[k]), dtype, dtype, &[arg(i), arg(i + 1)]),
            })
            .collect(),
        inputs: [dtype; 2].into_iter().collect(),
        ..Program::default()
    }
}

#[test]
fn a_fused_chain_gives_bit_for_bit_what_its_instructions_give_one_by_one() {
    for dtype in [Dtype::Float32, Dtype::Float16, Dtype::Bfloat16, Dtype::Float64] {
        let program = chain(dtype, 60);
        let a = cast(&ramp(3000), dtype);
        let b = unary(UnaryOp::Sin, &a);
        let fused = run_program(&program, &[&a, &b], &[3000]);
        let mut values = vec![a, b];
        for step in &program.instrs {
            let [x, y, _] = step.args.map(|arg| match arg {
                Arg::Instr(i) => i as usize + 2,
                Arg::Input(i) | Arg::Const(i) => i as usize,
            });
            values.push(match step.func {
                Func::Unary(op) => unary(op, &values[x]),
                Func::Binary(op) => binary(op, &values[x], &values[y]),
                _ => unreachable!("not in the chain"),
            });
        }
        let last = values.last().expect("the chain is not empty");
        let bytes = 3000 * dtype.size();
        let raw = |x: &Tensor| bytemuck::cast_slice::<u64, u8>(&x.memory)[..bytes].to_vec();
        assert_eq!(raw(&fused), raw(last), "{dtype}");
    }
}

#[test]
fn a_long_chain_needs_few_buffers() {
    let mut program = chain(Dtype::Float32, 1000);
    program.instrs.push(instr(Func::Cast, Dtype::Float32, Dtype::Float16, &[Arg::Instr(999)]));
    let (a, b) = (ramp(16), ramp(16));
    let mut out = Tensor::zeros(Dtype::Float16, &[16]);
    let mut plan = Plan::default();
    plan.build(&program, &[a.input(), b.input()], &out.out(), Level::detect(), true).expect("valid");
    assert!(plan.buffers <= 4, "{} buffers", plan.buffers);
}

#[test]
fn constants_and_selection_take_part_in_programs() {
    // where(x > 10, x, 2·x) + 1
    let f = Dtype::Float32;
    let program = Program {
        instrs: [
            instr(Func::Binary(BinaryOp::Greater), f, Dtype::Bool, &[Arg::Input(0), Arg::Const(0)]),
            instr(Func::Binary(BinaryOp::Multiply), f, f, &[Arg::Input(0), Arg::Const(1)]),
            instr(Func::Select, f, f, &[Arg::Instr(0), Arg::Input(0), Arg::Instr(1)]),
            instr(Func::Binary(BinaryOp::Add), f, f, &[Arg::Instr(2), Arg::Const(2)]),
        ]
        .into_iter()
        .collect(),
        consts: [(Scalar::Int(10), f), (Scalar::Float(2.0), f), (Scalar::Int(1), f)].into_iter().collect(),
        inputs: [f].into_iter().collect(),
    };
    let x = ramp(5000);
    let y = run_program(&program, &[&x], &[5000]).to_vec::<f32>();
    for (x, y) in x.to_vec::<f32>().into_iter().zip(y) {
        assert_eq!(y, if x > 10.0 { x } else { 2.0 * x } + 1.0);
    }
}

#[test]
fn selection_keeps_elements_of_every_size() {
    let c = Tensor::of(&(0..2000).map(|i| i % 3 == 0).collect::<Vec<_>>());
    for dtype in Dtype::ALL {
        let a = cast(&ramp(2000), dtype);
        let b = cast(&unary(UnaryOp::Negative, &ramp(2000)), dtype);
        let program = single(Func::Select, dtype, dtype, &[Dtype::Bool, dtype, dtype]);
        let y = run_program(&program, &[&c, &a, &b], &[2000]).values();
        let (a, b) = (a.values(), b.values());
        for i in 0..2000 {
            assert_eq!(y[i], if i % 3 == 0 { a[i] } else { b[i] }, "{dtype} {i}");
        }
    }
}

#[test]
fn the_output_may_be_the_memory_of_an_input() {
    for n in [1, 16, 5000, 200_000] {
        for (op, len) in [(BinaryOp::Add, 1), (BinaryOp::Add, 9)] {
            let (mut a, b) = (ramp(n), ramp(n));
            let program = if len == 1 {
                single(Func::Binary(op), Dtype::Float32, Dtype::Float32, &[Dtype::Float32; 2])
            } else {
                chain(Dtype::Float32, len)
            };
            let bits = |x: &Tensor| x.to_vec::<f32>().into_iter().map(f32::to_bits).collect::<Vec<_>>();
            let expected = bits(&run_program(&program, &[&a, &b], &[n]));
            let (ptr, shape) = (a.memory.as_mut_ptr().cast::<u8>(), [n]);
            // SAFETY: the memory is that of `a`, used through these two alone.
            let (x, mut out) = unsafe {
                (In::new(ptr, Dtype::Float32, &shape, &[1]), Out::new(ptr, Dtype::Float32, &shape))
            };
            run(&program, &[x, b.input()], &mut out).expect("valid");
            assert!(bits(&a) == expected, "{n} elements, {len} instructions");
        }
    }
}

#[test]
fn a_program_that_does_not_fit_is_an_error() {
    let x = ramp(4);
    let mut out = Tensor::zeros(Dtype::Float32, &[4]);
    let wrong = single(Func::Unary(UnaryOp::Exp), Dtype::Float64, Dtype::Float64, &[Dtype::Float64]);
    assert!(run(&wrong, &[x.input()], &mut out.out()).is_err());
    assert!(run(&Program::default(), &[], &mut out.out()).is_err());
    let c = Tensor::zeros(Dtype::Complex64, &[4]);
    let mut out = Tensor::zeros(Dtype::Complex64, &[4]);
    let remainder =
        single(Func::Binary(BinaryOp::Remainder), Dtype::Complex64, Dtype::Complex64, &[Dtype::Complex64; 2]);
    let error = run(&remainder, &[c.input(), c.input()], &mut out.out()).expect_err("not defined");
    assert_eq!(
        error.to_string(),
        "[remainder] complex64 is not supported; convert the argument with astype first"
    );
}
