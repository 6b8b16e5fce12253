//! A chain of elementwise operations as one straight-line program, the unit the backends compile or interpret.
//!
//! A single elementwise operation is a program of one instruction, so fused and unfused evaluation share every
//! kernel and agree bit for bit.

use smallvec::SmallVec;

use super::{BinaryOp, Op, Scalar, UnaryOp};
use crate::array::Dtype;

/// What one instruction computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Func {
    /// A function of one argument.
    Unary(UnaryOp),
    /// A function of two arguments of one type.
    Binary(BinaryOp),
    /// The second argument where the first (bool) holds, else the third.
    Select,
    /// Conversion from `compute` to `result`.
    Cast,
}

/// Where an argument comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Arg {
    /// An input array of the program.
    Input(u16),
    /// The result of an earlier instruction.
    Instr(u16),
    /// A constant of the program.
    Const(u16),
}

/// One elementwise step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Instr {
    pub func: Func,
    /// Type of the arguments (of the last two, for `Select`).
    pub compute: Dtype,
    /// Type of the result.
    pub result: Dtype,
    /// As many as the function takes; the others repeat the first.
    pub args: [Arg; 3],
}

impl Instr {
    /// The arguments in use.
    pub fn args(&self) -> &[Arg] {
        match self.func {
            Func::Unary(_) | Func::Cast => &self.args[..1],
            Func::Binary(_) => &self.args[..2],
            Func::Select => &self.args,
        }
    }

    /// The type of argument `i`.
    pub fn arg_dtype(&self, i: usize) -> Dtype {
        if self.func == Func::Select && i == 0 { Dtype::Bool } else { self.compute }
    }
}

/// Instructions in order; the last one's result is the program's output.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Program {
    pub instrs: SmallVec<[Instr; 4]>,
    /// Constants, each with the type it is used as.
    pub consts: SmallVec<[(Scalar, Dtype); 4]>,
    /// Types of the input arrays.
    pub inputs: SmallVec<[Dtype; 4]>,
}

/// The programs of [`Op::Divmod`]: quotient and remainder of two inputs of a type.
pub(crate) fn divmod(dtype: Dtype) -> [Program; 2] {
    [BinaryOp::FloorDivide, BinaryOp::Remainder].map(|op| {
        let args = [Arg::Input(0), Arg::Input(1), Arg::Input(0)];
        let instr = Instr { func: Func::Binary(op), compute: dtype, result: op.result_dtype(dtype), args };
        let inputs = SmallVec::from_slice(&[dtype, dtype]);
        Program { instrs: SmallVec::from_slice(&[instr]), consts: SmallVec::new(), inputs }
    })
}

impl Func {
    /// The function of an elementwise operation; `None` for others.
    pub fn of(op: &Op) -> Option<Func> {
        match op {
            Op::Unary(op) => Some(Func::Unary(*op)),
            Op::Binary(op) => Some(Func::Binary(*op)),
            Op::Select => Some(Func::Select),
            Op::Cast { .. } => Some(Func::Cast),
            _ => None,
        }
    }

    /// Operations per element.
    pub fn flops(self) -> u64 {
        match self {
            Func::Unary(op) => op.flops(),
            Func::Binary(op) => op.flops(),
            Func::Select | Func::Cast => 1,
        }
    }

    /// The name shown in kernel labels.
    pub fn name(self) -> &'static str {
        match self {
            Func::Unary(op) => op.name(),
            Func::Binary(op) => op.name(),
            Func::Select => "where",
            Func::Cast => "astype",
        }
    }
}

impl std::fmt::Display for Arg {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Arg::Input(i) => write!(f, "in{i}"),
            Arg::Instr(i) => write!(f, "r{i}"),
            Arg::Const(i) => write!(f, "const{i}"),
        }
    }
}
