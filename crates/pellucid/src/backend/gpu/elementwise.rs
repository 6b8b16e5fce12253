//! A chain of elementwise operations as one kernel.
//!
//! The text depends on the program and on how its inputs are read (one element, row-major, or strided over so many axes), not
//! on sizes, offsets or constants, which are parameters: so one compiled kernel serves many launches.

use std::fmt::Write;

use smallvec::SmallVec;

use super::device::Gpu;
use super::dispatch::MOST_AXES;
use super::fallback::FallbackReason;
use super::pieces;
use super::pipeline::{Key, Pipeline};
use super::record::folded;
use super::software::VECTOR;
use super::software::pairs::Pairs;
use super::software::tiles::Tiles;
use super::software::transpose::Transposed;
use super::tensor::{Axes, Context, In, Out, position_sum, positions, share_memory, shares, window};
use super::wgsl::{self, GROUP, Text};
use crate::array::{Dtype, Shape};
use crate::backend::cpu::{element_bits, is_row_major};
use crate::error::{Error, Result};
use crate::memory::Buffer;
use crate::op::{Arg, Func, Instr, Program};

/// Elements that whole workgroups of any kernel make: arrays are cut at multiples of them.
const WHOLE: usize = VECTOR * GROUP as usize;

/// How a kernel reads an input: one element for all, in order, or by strides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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
        } else if let Some(transposed) = Transposed::of(context, x, &layout.axes, &layout.axes.strides[i]) {
            // Without room for a copy it is read where it lies.
            let copy = context.scratch(x.elements() * x.dtype.size()).ok();
            copy.as_ref().map_or(Ok(()), |copy| transposed.run(context, x, copy))?;
            copy
        } else {
            None
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
        && let Some(transposed) = Transposed::of(context, x, &axes, &axes.strides[0])
    {
        return transposed.run(context, x, out.buffer);
    }
    near(context, inputs, out, |inputs, layout| run_near(context, program, layout, inputs, out))
}

fn run_near(context: &Context, program: &Program, layout: &Layout, inputs: &[In], out: &Out) -> Result<()> {
    let constants: SmallVec<[u32; 8]> = program
        .consts
        .iter()
        .flat_map(|&(value, dtype)| {
            let bits = element_bits(value, dtype);
            [bits as u32, (bits >> 32) as u32].into_iter().take(words_of(dtype))
        })
        .collect();
    let tiles = Tiles::of(context, program, layout, inputs, out);
    let done = tiles.as_ref().map_or(0, |tiles| tiles.elements(out));
    if done < out.elements() {
        run_rest(context, program, layout, inputs, out, &constants, done)?;
    }
    // Last, because a capture shows the kernel that was launched last.
    tiles.map_or(Ok(()), |tiles| tiles.run(context, program, layout, inputs, out, &constants))
}

/// Runs a program over all elements but the first `done`.
fn run_rest(
    context: &Context,
    program: &Program,
    layout: &Layout,
    inputs: &[In],
    out: &Out,
    constants: &[u32],
    done: usize,
) -> Result<()> {
    let shared = shares(inputs, out.buffer);
    let pairs = Pairs::of(context.gpu, layout, inputs, out);
    let mut key = key(program, layout, out.dtype, shared);
    if let Some(pairs) = &pairs {
        key.words.extend(pairs.key());
        key.family = "pairs";
    }
    let pipeline = context.pipeline_by(key, || {
        let text = match &pairs {
            Some(pairs) => pairs.text(program, layout, out.dtype, shared),
            None => text(program, layout, out.dtype, shared),
        };
        (name(program), text)
    })?;
    let together = pairs.map_or_else(|| wgsl::per_word(out.dtype), |pairs| pairs.elements());
    launch(context, &pipeline, layout, inputs, out, constants, Part { together, done })
}

/// Runs a formula of `x0`, `x1`, … (the inputs' elements) over all elements of `out`; `name` stands for the formula.
pub(super) fn formula(
    context: &Context,
    name: &'static str,
    inputs: &[In],
    out: &Out,
    formula: &str,
) -> Result<()> {
    near(context, inputs, out, |inputs, layout| formula_near(context, name, layout, inputs, out, formula))
}

fn formula_near(
    context: &Context,
    name: &'static str,
    layout: &Layout,
    inputs: &[In],
    out: &Out,
    formula: &str,
) -> Result<()> {
    let shared = shares(inputs, out.buffer);
    let dtypes: SmallVec<[Dtype; 4]> = inputs.iter().map(|x| x.dtype).collect();
    let mut words: SmallVec<[u32; 24]> = SmallVec::new();
    let rank = if layout.is_strided() { layout.axes.rank() as u32 } else { 0 };
    words.push(u32::from(shared) | (out.dtype as u32) << 1 | rank << 8);
    words.extend(
        layout.access.iter().zip(&dtypes).map(|(&access, &dtype)| access as u32 | (dtype as u32) << 8),
    );
    let pipeline = context.pipeline_by(Key { family: name, words }, || {
        let (mut text, mut body) = inputs_text(layout, &dtypes, out.dtype, shared);
        let _ = writeln!(body, "    return {formula};");
        finish(&mut text, out.dtype, &body);
        (name.to_owned(), text)
    })?;
    let together = wgsl::per_word(out.dtype);
    launch(context, &pipeline, layout, inputs, out, &[], Part { together, done: 0 })
}

/// The part of the output that a kernel makes.
struct Part {
    /// Elements that an invocation makes.
    together: u32,
    /// Elements that are made already.
    done: usize,
}

/// Launches a kernel over parts of the arrays that bindings reach.
fn launch(
    context: &Context,
    pipeline: &Pipeline,
    layout: &Layout,
    inputs: &[In],
    out: &Out,
    constants: &[u32],
    part: Part,
) -> Result<()> {
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

pub(super) fn key(program: &Program, layout: &Layout, out: Dtype, shared: bool) -> Key {
    let mut words: SmallVec<[u32; 24]> = SmallVec::new();
    let rank = if layout.is_strided() { layout.axes.rank() as u32 } else { 0 };
    words.push(u32::from(shared) | (out as u32) << 1 | rank << 8 | (program.instrs.len() as u32) << 16);
    for (access, &dtype) in layout.access.iter().zip(&program.inputs) {
        words.push(*access as u32 | (dtype as u32) << 8);
    }
    words.push(u32::MAX);
    words.extend(program.consts.iter().map(|&(_, dtype)| dtype as u32));
    words.push(u32::MAX);
    for instr in &program.instrs {
        let func = match instr.func {
            Func::Unary(op) => op as u32,
            Func::Binary(op) => 256 + op as u32,
            Func::Select => 512,
            Func::Cast => 513,
        };
        words.push(func | (instr.compute as u32) << 16 | (instr.result as u32) << 24);
        words.extend(instr.args().iter().map(|arg| match *arg {
            Arg::Input(i) => u32::from(i),
            Arg::Instr(i) => 1 << 16 | u32::from(i),
            Arg::Const(i) => 2 << 16 | u32::from(i),
        }));
    }
    Key { family: "elementwise", words }
}

pub(super) fn name(program: &Program) -> String {
    let names: Vec<&str> = program.instrs.iter().take(4).map(|i| i.func.name()).collect();
    let more = program.instrs.len().saturating_sub(names.len());
    if more > 0 { format!("{}_and_{more}_more", names.join("_")) } else { names.join("_") }
}

/// Declares output and inputs, and reads each input's element as `x0`, `x1`, ….
fn inputs_text(layout: &Layout, inputs: &[Dtype], out: Dtype, shared: bool) -> (Text, String) {
    let mut text = Text::new(shared);
    text.output(out);
    text.take(2);
    let (rank, strided) = (layout.axes.rank(), layout.is_strided());
    let sizes = if strided { text.take(rank - 1) } else { 0 };
    let mut body = String::new();
    if strided {
        positions(&mut body, "c", "i + p.p1", rank, sizes);
    }
    for (&access, &dtype) in layout.access.iter().zip(inputs) {
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

fn finish(text: &mut Text, out: Dtype, body: &str) {
    let _ = write!(text.body, "fn value(i: u32) -> {} {{\n{body}}}\n", wgsl::scalar(out));
    text.map_entry(out);
}

fn text(program: &Program, layout: &Layout, out: Dtype, shared: bool) -> Text {
    let (mut text, mut body) = inputs_text(layout, &program.inputs, out, shared);
    body.push_str(&instructions(program, &mut text));
    finish(&mut text, out, &body);
    text
}

/// The program's steps, from the inputs' elements `x0`, `x1`, … to the value that is returned.
pub(super) fn instructions(program: &Program, text: &mut Text) -> String {
    let mut body = String::new();
    for (i, &(_, dtype)) in program.consts.iter().enumerate() {
        let at = text.take(words_of(dtype));
        let _ = writeln!(body, "    let k{i} = {};", wgsl::parameter(dtype, at));
    }
    for (i, instr) in program.instrs.iter().enumerate() {
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
    let last = program.instrs.len().saturating_sub(1);
    let _ = writeln!(body, "    return t{last};");
    body
}
