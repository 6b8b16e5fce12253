//! A chain of elementwise operations as one kernel.
//!
//! The text depends on the program and on how its inputs are read (one element, row-major, or strided over so many axes), not
//! on sizes, offsets or constants, which are parameters: so one compiled kernel serves many launches.

use std::fmt::{Debug, Write};
use std::hash::Hash;

use smallvec::SmallVec;

use super::device::Gpu;
use super::dispatch::MOST_AXES;
use super::kernel::Kernel;
use super::pipeline::Pipeline;
use super::record::folded;
use super::tensor::{Axes, Context, In, Out, position_sum, positions, share_memory, shares, window};
use super::wgsl::{self, GROUP, Text};
use super::{pieces, software};
use crate::array::{Dtype, Shape};
use crate::backend::FallbackReason;
use crate::backend::cpu::{element_bits, is_row_major};
use crate::error::{Error, Result};
use crate::memory::Buffer;
use crate::op::{Arg, Func, Instr, Program};

/// Arrays are cut at multiples of so many elements: whole workgroups of every kernel make them.
pub(super) const WHOLE: usize = 8 * GROUP as usize;

/// How a kernel reads an input: one element for all, in order, or by strides.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Access {
    /// The same element everywhere.
    One,
    /// Row-major.
    Flat,
    Strided,
}

/// Whether the instruction has a WGSL expression.
pub(super) fn has_expression(func: Func, compute: Dtype) -> bool {
    match func {
        Func::Unary(op) => wgsl::unary(op, compute, "x").is_some(),
        Func::Binary(op) => wgsl::binary(op, compute, "x", "y").is_some(),
        Func::Select | Func::Cast => true,
    }
}

/// A program that copies elements.
pub(super) fn copy_program(dtype: Dtype) -> Program {
    let instr = Instr { func: Func::Cast, compute: dtype, result: dtype, args: [Arg::Input(0); 3] };
    let mut program = Program::default();
    program.instrs.push(instr);
    program.inputs.push(dtype);
    program
}

pub(super) struct Layout {
    pub axes: Axes,
    pub access: SmallVec<[Access; 4]>,
}

impl Layout {
    fn new(inputs: &[In], out: &Out) -> Layout {
        let missing = |x: &In| out.shape.len() - x.shape.len();
        let strides: SmallVec<[SmallVec<[isize; 6]>; 4]> = inputs
            .iter()
            .map(|x| {
                let stride = |d: usize| match d.checked_sub(missing(x)) {
                    Some(i) if x.shape[i] == out.shape[d] => x.strides[i],
                    _ => 0,
                };
                (0..out.shape.len()).map(stride).collect()
            })
            .collect();
        let lists: SmallVec<[&[isize]; 4]> = strides.iter().map(SmallVec::as_slice).collect();
        let axes = Axes::new(out.shape, &lists);
        let access_of = |s: &SmallVec<[isize; 6]>| {
            if axes.shape.iter().zip(s).all(|(&d, &s)| s == 0 || d == 1) {
                Access::One
            } else if is_row_major(&axes.shape, s) {
                Access::Flat
            } else {
                Access::Strided
            }
        };
        let access = axes.strides.iter().map(access_of).collect();
        Layout { axes, access }
    }

    pub fn is_strided(&self) -> bool {
        self.access.contains(&Access::Strided)
    }
}

/// Whether an input reaches further than one binding in a way that windows cannot follow.
fn is_far(gpu: &Gpu, x: &In, access: Access) -> bool {
    let (low, high) = x.reach();
    access == Access::Strided && ((high - low + 1) * x.dtype.size()) as u64 + 256 > gpu.largest_binding()
}

/// Whether the kernel can reach these arrays, or why not: flat ones of any size by windows, others within one binding
/// or by a copy.
pub(super) fn reaches(gpu: &Gpu, inputs: &[In], out: &Out) -> Result<(), FallbackReason> {
    let layout = Layout::new(inputs, out);
    let reached = |x: &In, access: Access| {
        !is_far(gpu, x, access) || x.elements() == out.elements() && pieces::copies(gpu, x)
    };
    if layout.is_strided() && layout.axes.rank() > MOST_AXES {
        return Err(FallbackReason::TooManyAxes);
    }
    let all = out.elements() <= u32::MAX as usize / 2
        && inputs.iter().zip(&layout.access).all(|(x, &access)| reached(x, access));
    if all { Ok(()) } else { Err(FallbackReason::TooLarge) }
}

/// Runs `work` on inputs that kernels read well: copies take the place of those that are far, or transposed.
fn near(
    context: &Context,
    inputs: &[In],
    out: &Out,
    work: impl FnOnce(&[In], &Layout) -> Result<()>,
) -> Result<()> {
    let layout = Layout::new(inputs, out);
    let mut copies: SmallVec<[Option<Buffer>; 4]> = SmallVec::new();
    for (i, x) in inputs.iter().enumerate() {
        copies.push(if is_far(context.gpu, x, layout.access[i]) {
            Some(pieces::row_major(context, x)?)
        } else {
            software::transposed_copy(context, x, &layout.axes, &layout.axes.strides[i])?
        });
    }
    if copies.iter().all(Option::is_none) {
        return work(inputs, &layout);
    }
    let strides = Shape::from(out.shape).row_major();
    let near: SmallVec<[In; 4]> = inputs
        .iter()
        .zip(&copies)
        .map(|(x, copy)| match copy {
            Some(buffer) => In { buffer, dtype: x.dtype, shape: out.shape, strides: &strides, offset: 0 },
            None => x.clone(),
        })
        .collect();
    let layout = Layout::new(&near, out);
    work(&near, &layout)
}

/// Runs a program over all elements of `out`.
pub(super) fn run(context: &Context, program: &Program, inputs: &[In], out: &Out) -> Result<()> {
    if let [x] = inputs
        && *program == copy_program(x.dtype)
        && !share_memory(x.buffer, out.buffer)
        && let Layout { axes, .. } = Layout::new(inputs, out)
        && let Some(done) = software::transpose(context, x, &axes, &axes.strides[0], out.buffer)
    {
        return done;
    }
    near(context, inputs, out, |inputs, layout| run_near(context, program, layout, inputs, out))
}

/// The arrays of a kernel, and how it reads its inputs.
#[derive(Clone, Copy)]
pub(super) struct Arrays<'a> {
    pub layout: &'a Layout,
    pub inputs: &'a [In<'a>],
    pub out: &'a Out<'a>,
}

/// A program to be run over arrays.
pub(super) struct Work<'a> {
    pub program: &'a Program,
    pub arrays: Arrays<'a>,
    /// The parameter words of the program's constants.
    pub constants: SmallVec<[u32; 8]>,
}

/// What the text of an elementwise kernel depends on besides what it computes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Operands {
    pub inputs: SmallVec<[(Dtype, Access); 4]>,
    pub out: Dtype,
    /// Axes of the strided inputs; 0 without any.
    pub rank: usize,
    pub shared: bool,
}

impl Operands {
    pub fn new(layout: &Layout, inputs: impl Iterator<Item = Dtype>, out: Dtype, shared: bool) -> Operands {
        let inputs = inputs.zip(layout.access.iter().copied()).collect();
        Operands { inputs, out, rank: if layout.is_strided() { layout.axes.rank() } else { 0 }, shared }
    }

    pub fn is_strided(&self) -> bool {
        self.inputs.iter().any(|x| x.1 == Access::Strided)
    }
}

/// The steps of a program, without the values of its constants, which are parameters.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Steps {
    instrs: SmallVec<[Instr; 8]>,
    consts: SmallVec<[Dtype; 4]>,
}

impl Steps {
    pub fn of(program: &Program) -> Steps {
        Steps {
            instrs: SmallVec::from_slice(&program.instrs),
            consts: program.consts.iter().map(|&(_, dtype)| dtype).collect(),
        }
    }

    pub fn label(&self) -> String {
        let names: Vec<&str> = self.instrs.iter().take(4).map(|i| i.func.name()).collect();
        let more = self.instrs.len().saturating_sub(names.len());
        if more > 0 { format!("{}_and_{more}_more", names.join("_")) } else { names.join("_") }
    }

    /// WGSL from the inputs' elements `x0`, `x1`, … to the value that is returned.
    pub fn body(&self, text: &mut Text) -> String {
        let mut body = String::new();
        for (i, &dtype) in self.consts.iter().enumerate() {
            let at = text.take(words_of(dtype));
            let _ = writeln!(body, "    let k{i} = {};", wgsl::parameter(dtype, at));
        }
        for (i, instr) in self.instrs.iter().enumerate() {
            let arg = |n: usize| match instr.args[n] {
                Arg::Input(i) => format!("x{i}"),
                Arg::Instr(i) => format!("t{i}"),
                Arg::Const(i) => format!("k{i}"),
            };
            let expression = match instr.func {
                Func::Unary(op) => wgsl::unary(op, instr.compute, &arg(0)),
                Func::Binary(op) => wgsl::binary(op, instr.compute, &arg(0), &arg(1)),
                Func::Select => Some(format!("select({}, {}, {})", arg(2), arg(1), arg(0))),
                Func::Cast => Some(wgsl::cast(instr.compute, instr.result, &arg(0))),
            };
            // Checked before with `has_expression`.
            let expression = expression.unwrap_or_else(|| arg(0));
            let _ = writeln!(body, "    let t{i} = {expression};");
        }
        let last = self.instrs.len().saturating_sub(1);
        let _ = writeln!(body, "    return t{last};");
        body
    }
}

/// A program over elements one by one.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Elementwise {
    steps: Steps,
    operands: Operands,
}

impl Kernel for Elementwise {
    fn label(&self) -> String {
        self.steps.label()
    }

    fn text(&self) -> Text {
        let (mut text, mut body) = self.operands.start();
        body.push_str(&self.steps.body(&mut text));
        self.operands.finish(text, &body)
    }
}

fn run_near(context: &Context, program: &Program, layout: &Layout, inputs: &[In], out: &Out) -> Result<()> {
    let constants = program
        .consts
        .iter()
        .flat_map(|&(value, dtype)| {
            let bits = element_bits(value, dtype);
            [bits as u32, (bits >> 32) as u32].into_iter().take(words_of(dtype))
        })
        .collect();
    let work = Work { program, arrays: Arrays { layout, inputs, out }, constants };
    software::elementwise(context, &work, |done| run_rest(context, &work, done))
}

/// Runs a program over all elements but the first `done`.
fn run_rest(context: &Context, work: &Work, done: usize) -> Result<()> {
    let Arrays { layout, inputs, out } = work.arrays;
    let types = work.program.inputs.iter().copied();
    let operands = Operands::new(layout, types, out.dtype, shares(inputs, out.buffer));
    let pipeline = context.pipeline(&Elementwise { steps: Steps::of(work.program), operands })?;
    let part = Part { together: wgsl::per_word(out.dtype), done };
    launch(context, &pipeline, &work.arrays, &work.constants, part)
}

/// A formula of the inputs' elements.
pub(super) trait Expression: Clone + Debug + Eq + Hash + Send + Sync + 'static {
    fn label(&self) -> &'static str;

    /// WGSL of the value that `x0`, `x1`, … give.
    fn value(&self, operands: &Operands) -> String;
}

/// The element in the type of the output.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Convert;

impl Expression for Convert {
    fn label(&self) -> &'static str {
        "convert"
    }

    fn value(&self, operands: &Operands) -> String {
        wgsl::cast(operands.inputs[0].0, operands.out, "x0")
    }
}

/// An expression over elements one by one.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Mapped<E> {
    expression: E,
    operands: Operands,
}

impl<E: Expression> Kernel for Mapped<E> {
    fn label(&self) -> String {
        self.expression.label().to_owned()
    }

    fn text(&self) -> Text {
        let (text, mut body) = self.operands.start();
        let _ = writeln!(body, "    return {};", self.expression.value(&self.operands));
        self.operands.finish(text, &body)
    }
}

/// Computes an expression over all elements of `out`.
pub(super) fn map<E: Expression>(context: &Context, expression: E, inputs: &[In], out: &Out) -> Result<()> {
    near(context, inputs, out, |inputs, layout| {
        let types = inputs.iter().map(|x| x.dtype);
        let operands = Operands::new(layout, types, out.dtype, shares(inputs, out.buffer));
        let pipeline = context.pipeline(&Mapped { expression, operands })?;
        let part = Part { together: wgsl::per_word(out.dtype), done: 0 };
        launch(context, &pipeline, &Arrays { layout, inputs, out }, &[], part)
    })
}

/// The part of the output that a kernel makes.
pub(super) struct Part {
    /// Elements that an invocation makes.
    pub together: u32,
    /// Elements that are made already.
    pub done: usize,
}

/// Launches a kernel over parts of the arrays that bindings reach.
pub(super) fn launch(
    context: &Context,
    pipeline: &Pipeline,
    arrays: &Arrays,
    constants: &[u32],
    part: Part,
) -> Result<()> {
    let &Arrays { layout, inputs, out } = arrays;
    let widest = inputs.iter().map(|x| x.dtype.size()).chain([out.dtype.size()]).max().unwrap_or(8);
    let (all, most) = (out.elements(), context.gpu.largest_binding() as usize / 2 / widest / WHOLE * WHOLE);
    let fits = all * widest + 256 <= context.gpu.largest_binding() as usize;
    let step = if fits { all } else { most.max(WHOLE) };
    let mut first = part.done;
    while first < all {
        let count = step.min(all - first);
        let mut params: SmallVec<[u32; 32]> = SmallVec::from_slice(&[count as u32, first as u32]);
        if layout.is_strided() {
            params.extend(layout.axes.shape.iter().skip(1).map(|&d| d as u32));
        }
        let target = window(context.gpu, out.buffer, out.dtype, first, first + count - 1);
        let mut binds: SmallVec<[_; 8]> = SmallVec::new();
        binds.push(target.ok_or_else(too_large)?.bind);
        for (i, x) in inputs.iter().enumerate() {
            let (low, high) = match layout.access[i] {
                Access::One => (x.offset, x.offset),
                Access::Flat => (x.offset + first, x.offset + first + count - 1),
                Access::Strided => x.reach(),
            };
            let window = window(context.gpu, x.buffer, x.dtype, low, high).ok_or_else(too_large)?;
            binds.push(window.bind);
            let start = if layout.access[i] == Access::Flat { low } else { x.offset };
            params.push((start - window.skipped) as u32);
            if layout.access[i] == Access::Strided {
                params.extend(layout.axes.strides[i].iter().map(|&s| s as i32 as u32));
            }
        }
        params.extend_from_slice(constants);
        let words = count.div_ceil(part.together as usize);
        context.launch(pipeline, &binds, &params, folded((words as u64).div_ceil(u64::from(GROUP))))?;
        first += count;
    }
    Ok(())
}

pub(super) fn too_large() -> Error {
    Error::internal("gpu", "an array outside the limits of bindings was not sent to the CPU")
}

/// Parameter words of a constant.
fn words_of(dtype: Dtype) -> usize {
    if dtype.size() == 8 { 2 } else { 1 }
}

impl Operands {
    /// Declares output and inputs, and reads each input's element as `x0`, `x1`, ….
    fn start(&self) -> (Text, String) {
        let mut text = Text::new(self.shared);
        text.output(self.out);
        text.take(2);
        let (rank, strided) = (self.rank, self.is_strided());
        let sizes = if strided { text.take(rank - 1) } else { 0 };
        let mut body = String::new();
        if strided {
            positions(&mut body, "c", "i + p.p1", rank, sizes);
        }
        for &(dtype, access) in &self.inputs {
            let n = text.input(dtype);
            let offset = text.take(1);
            let at = match access {
                Access::One => format!("p.p{offset}"),
                Access::Flat => format!("p.p{offset} + i"),
                Access::Strided => {
                    let strides = text.take(rank);
                    position_sum(&format!("p.p{offset}"), "c", rank, strides)
                }
            };
            let _ = writeln!(body, "    let x{n} = ld{n}({at});");
        }
        (text, body)
    }

    fn finish(&self, mut text: Text, body: &str) -> Text {
        let _ = write!(text.body, "fn value(i: u32) -> {} {{\n{body}}}\n", wgsl::scalar(self.out));
        text.map_entry(self.out);
        text
    }
}
