//! The elementwise kernels against plain scalar definitions.

mod accuracy;
mod functions;
mod layouts;
mod speed;

use half::{bf16, f16};
use num_complex::{Complex32, Complex64};

use super::*;
use crate::array::Element;
use crate::op::{Arg, BinaryOp, Instr, Scalar};

/// An array with its memory.
#[derive(Clone, Debug)]
pub(super) struct Tensor {
    /// Eight bytes of room per element keep every type aligned.
    memory: Vec<u64>,
    dtype: Dtype,
    shape: Vec<usize>,
    strides: Vec<isize>,
    offset: usize,
}

impl Tensor {
    fn zeros(dtype: Dtype, shape: &[usize]) -> Tensor {
        let mut strides = vec![1; shape.len()];
        for i in (1..shape.len()).rev() {
            strides[i - 1] = strides[i] * shape[i] as isize;
        }
        let n: usize = shape.iter().product();
        Tensor { memory: vec![0; n + 1], dtype, shape: shape.to_vec(), strides, offset: 0 }
    }

    fn of<T: Element>(values: &[T]) -> Tensor {
        let mut x = Tensor::zeros(T::DTYPE, &[values.len()]);
        for (d, &v) in x.out().as_mut_slice::<T>().iter_mut().zip(values) {
            *d = v.to_stored();
        }
        x
    }

    /// `values` converted by the rules of casts.
    fn cast_of(values: &[Scalar], dtype: Dtype) -> Tensor {
        let mut x = Tensor::zeros(dtype, &[values.len()]);
        for (i, &v) in values.iter().enumerate() {
            let bytes = crate::backend::cpu::fill::element_bits(v, dtype).to_le_bytes();
            let all: &mut [u8] = bytemuck::cast_slice_mut(&mut x.memory);
            all[i * dtype.size()..][..dtype.size()].copy_from_slice(&bytes[..dtype.size()]);
        }
        x
    }

    fn view(&self, shape: &[usize], strides: &[isize], offset: usize) -> Tensor {
        Tensor { shape: shape.to_vec(), strides: strides.to_vec(), offset, ..self.clone() }
    }

    fn input(&self) -> In<'_> {
        let ptr = self.memory.as_ptr().cast::<u8>().wrapping_add(self.offset * self.dtype.size());
        // SAFETY: tests only make views inside their memory.
        unsafe { In::new(ptr, self.dtype, &self.shape, &self.strides) }
    }

    fn out(&mut self) -> Out<'_> {
        // SAFETY: the memory has eight bytes for each element.
        unsafe { Out::new(self.memory.as_mut_ptr().cast(), self.dtype, &self.shape) }
    }

    fn to_vec<T: Element>(&self) -> Vec<T> {
        let n: usize = self.shape.iter().product();
        let all: &[T::Stored] = bytemuck::cast_slice(&self.memory);
        all[self.offset..][..n].iter().map(|&v| T::from_stored(v)).collect()
    }

    /// Every element of a row-major array as a complex `f64`, which holds all but long 64-bit integers.
    fn values(&self) -> Vec<Complex64> {
        macro_rules! each {
            ($($D:ident $T:ty, $f:expr;)*) => {
                match self.dtype { $(Dtype::$D => self.to_vec::<$T>().into_iter().map($f).collect(),)* }
            };
        }
        let re = |v: f64| Complex64::new(v, 0.0);
        each! {
            Bool bool, |v| re(f64::from(u8::from(v)));
            Uint8 u8, |v| re(v.into());
            Uint16 u16, |v| re(v.into());
            Uint32 u32, |v| re(v.into());
            Uint64 u64, |v| re(v as f64);
            Int8 i8, |v| re(v.into());
            Int16 i16, |v| re(v.into());
            Int32 i32, |v| re(v.into());
            Int64 i64, |v| re(v as f64);
            Float16 f16, |v| re(v.into());
            Bfloat16 bf16, |v| re(v.into());
            Float32 f32, |v| re(v.into());
            Float64 f64, re;
            Complex64 Complex32, |v| Complex64::new(v.re.into(), v.im.into());
        }
    }
}

pub(super) fn instr(func: Func, compute: Dtype, result: Dtype, args: &[Arg]) -> Instr {
    let mut all = [args[0]; 3];
    all[..args.len()].copy_from_slice(args);
    Instr { func, compute, result, args: all }
}

/// A program of one function on its inputs.
pub(super) fn single(func: Func, compute: Dtype, result: Dtype, inputs: &[Dtype]) -> Program {
    let args: Vec<Arg> = (0..inputs.len() as u16).map(Arg::Input).collect();
    Program {
        instrs: [instr(func, compute, result, &args)].into_iter().collect(),
        inputs: inputs.iter().copied().collect(),
        ..Program::default()
    }
}

pub(super) fn run_program(program: &Program, inputs: &[&Tensor], shape: &[usize]) -> Tensor {
    let ins: Vec<In> = inputs.iter().map(|x| x.input()).collect();
    let dtype = program.instrs.last().expect("a program has instructions").result;
    let mut out = Tensor::zeros(dtype, shape);
    run(program, &ins, &mut out.out()).expect("the function takes this type");
    out
}

pub(super) fn unary(op: UnaryOp, x: &Tensor) -> Tensor {
    let program = single(Func::Unary(op), x.dtype, op.result_dtype(x.dtype), &[x.dtype]);
    run_program(&program, &[x], &x.shape)
}

pub(super) fn binary(op: BinaryOp, a: &Tensor, b: &Tensor) -> Tensor {
    let program = single(Func::Binary(op), a.dtype, op.result_dtype(a.dtype), &[a.dtype, b.dtype]);
    run_program(&program, &[a, b], &a.shape)
}

pub(super) fn cast(x: &Tensor, to: Dtype) -> Tensor {
    run_program(&single(Func::Cast, x.dtype, to, &[x.dtype]), &[x], &x.shape)
}
