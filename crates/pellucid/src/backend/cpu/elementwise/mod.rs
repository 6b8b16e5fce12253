//! Elementwise programs: one pass over the data in blocks that fit the first cache.
//!
//! [`plan`] turns the program into kernel calls on block buffers; this file runs them. A kernel is a loop over one block,
//! found by function and type in the tables of [`integer`], [`float`], [`complex`] and [`cast`], and compiled for several
//! instruction sets by [`isa`]. Layouts, broadcasting and threads are settled here, so that kernels see none of them.

mod cast;
mod complex;
mod division;
mod double;
mod float;
mod integer;
mod isa;
mod math;
mod math64;
mod plan;

use std::cell::{Cell, RefCell};
use std::ops::Range;

use isa::{Kernel, Level};
use plan::{OUT, Plan, Source};

use super::copy::by_size;
use super::{In, Out, bypass, parallel, reduce};
use crate::array::Dtype;
use crate::error::Result;
use crate::op::{Func, Program, ReduceOp, UnaryOp};

/// Elements per block: the few buffers of a usual program stay in the first cache.
const BLOCK: usize = 1024;

/// Elements per block where nothing is buffered.
const LONG_BLOCK: usize = 8 * BLOCK;

thread_local! {
    /// A finished plan, kept for its memory.
    static PLAN: Cell<Option<Box<Plan>>> = const { Cell::new(None) };
    static SCRATCH: RefCell<Scratch> = const { RefCell::new(Scratch { memory: Vec::new(), blocks: Vec::new() }) };
}

/// One line of the cache, so that buffers start at one.
#[derive(Clone, Copy)]
#[repr(align(64))]
struct Line(#[allow(dead_code, reason = "only its size and alignment matter")] [u8; 64]);

struct Scratch {
    memory: Vec<Line>,
    blocks: Vec<*mut u8>,
}

/// Computes `program` for every element of `out` from `inputs` of broadcastable shapes and any strides.
///
/// # Errors
/// If an instruction does not exist for its type.
///
/// # Cost
/// One pass over inputs and output, on several cores if they are large. Small calls do not allocate.
pub(crate) fn run(program: &Program, inputs: &[In], out: &mut Out) -> Result<()> {
    run_at(Level::detect(), program, inputs, out)
}

fn run_at(level: Level, program: &Program, inputs: &[In], out: &mut Out) -> Result<()> {
    let n = out.elements();
    if n == 0 {
        return Ok(());
    }
    // Taken, not borrowed: while this thread waits for others it may run another program.
    let mut plan = PLAN.take().unwrap_or_default();
    let built = plan.build(program, inputs, out, level, true);
    if built.is_ok() {
        let size = out.dtype.size();
        let bytes = read_per_element(inputs) + size;
        // A line that was read is in the cache already; writing past it gains nothing.
        let bypasses = bypass::pays(n * size) && !plan.replaces_an_input(out);
        let (out, grain) = (&*out, if plan.band > 0 { plan.band } else { BLOCK });
        // Four operations take about as long as moving a byte.
        parallel::ranges(n, grain, bytes + plan.flops as usize / 4, |range| {
            // SAFETY: a range of the output, which belongs to this call alone.
            unsafe { execute(&plan, out.ptr().add(range.start * size), size, range, bypasses) }
        });
    }
    PLAN.set(Some(plan));
    built
}

fn read_per_element(inputs: &[In]) -> usize {
    inputs.iter().map(|x| x.dtype.size()).sum()
}

/// Computes `program` for an array of this shape and reduces its last axes, without ever holding the array: `out` has
/// the axes before them. Only for reductions that [`reduce::takes_chain`].
///
/// # Errors
/// If an instruction does not exist for its type.
pub(crate) fn run_reduced(
    program: &Program,
    inputs: &[In],
    shape: &[usize],
    op: ReduceOp,
    out: &mut Out,
) -> Result<()> {
    let (elements, outputs) = (shape.iter().product::<usize>(), out.elements());
    if outputs == 0 {
        return Ok(());
    }
    // SAFETY: a place that nothing is written to: the chain goes to wherever it is reduced.
    let whole = unsafe { Out::new(std::ptr::dangling_mut(), out.dtype, shape) };
    let mut plan = PLAN.take().unwrap_or_default();
    let built = plan.build(program, inputs, &whole, Level::detect(), false);
    let done = built.and_then(|()| {
        let chain = Chain { plan: &plan, size: out.dtype.size(), read: read_per_element(inputs) };
        reduce::reduce_chain(op, &chain, elements / outputs, out)
    });
    PLAN.set(Some(plan));
    done
}

/// A program whose results are used at once.
struct Chain<'a> {
    plan: &'a Plan,
    size: usize,
    /// Bytes read for an element.
    read: usize,
}

impl reduce::Chain for Chain<'_> {
    fn cost(&self) -> usize {
        self.read + self.plan.flops as usize / 4
    }

    unsafe fn compute(&self, range: Range<usize>, to: *mut u8) {
        // SAFETY: the caller's promise.
        unsafe { execute(self.plan, to, self.size, range, false) }
    }
}

/// Runs the plan for a range of elements of this size, which starts with a band if there are bands.
///
/// # Safety
/// There must be room for them at `to`.
unsafe fn execute(plan: &Plan, to: *mut u8, size: usize, range: Range<usize>, bypasses: bool) {
    let block = range.len().min(if plan.buffers == 0 && !bypasses { LONG_BLOCK } else { BLOCK });
    let lines = (block * plan.widest).div_ceil(size_of::<Line>());
    let band_lines = (plan.band * plan.widest).div_ceil(size_of::<Line>());
    let buffers = plan.buffers + usize::from(bypasses);
    SCRATCH.with_borrow_mut(|scratch| {
        let needed = lines * buffers + band_lines * plan.bands;
        if scratch.memory.len() < needed {
            scratch.memory.resize(needed, Line([0; 64]));
        }
        let first = plan.first_buffer();
        let memory = scratch.memory.as_mut_ptr();
        let band_of = |number: usize| memory.wrapping_add(lines * buffers + band_lines * number).cast::<u8>();
        let blocks = &mut scratch.blocks;
        blocks.clear();
        blocks.resize(first, std::ptr::null_mut());
        blocks.extend((0..buffers).map(|b| memory.wrapping_add(b * lines).cast::<u8>()));
        for (i, source) in plan.sources.iter().enumerate() {
            match *source {
                Source::Direct { .. } | Source::Transposed { .. } => {}
                Source::Filled { bits, size, buffer } => {
                    blocks[1 + i] = blocks[first + buffer];
                    by_size!(size, T => {
                        // SAFETY: a buffer holds `block` elements of the widest type.
                        unsafe { std::slice::from_raw_parts_mut(blocks[1 + i].cast::<T>(), block) }.fill(bits as T);
                    });
                }
                Source::Gathered { buffer, .. } => blocks[1 + i] = blocks[first + buffer],
            }
        }
        if bypasses {
            blocks[OUT as usize] = blocks[first + plan.buffers];
        }
        let band = if plan.band > 0 { plan.band } else { range.len() };
        let mut start = range.start;
        while start < range.end {
            let end = (start + band).min(range.end);
            for source in &plan.sources {
                if let Source::Transposed { ptr, size, transpose, number } = source {
                    by_size!(*size, T => {
                        // SAFETY: ranges start with bands, so this is one of the input's; its buffer is large enough.
                        unsafe { transpose.gather_band(ptr.cast::<T>(), start / band, band_of(*number).cast::<T>()) }
                    });
                }
            }
            // SAFETY: the caller's promise, for a part of the range.
            unsafe {
                let to = to.add((start - range.start) * size);
                run_blocks(plan, to, size, blocks, start..end, block, bypasses, &band_of);
            }
            start = end;
        }
    });
    if bypasses {
        bypass::fence();
    }
}

/// Runs the plan block by block, for elements whose bands are gathered.
///
/// # Safety
/// As [`execute`].
#[allow(clippy::too_many_arguments, reason = "the innermost loop, which has no state of its own")]
unsafe fn run_blocks(
    plan: &Plan,
    to: *mut u8,
    size: usize,
    blocks: &mut [*mut u8],
    range: Range<usize>,
    block: usize,
    bypasses: bool,
    band_of: &dyn Fn(usize) -> *mut u8,
) {
    let mut start = range.start;
    while start < range.end {
        let n = block.min(range.end - start);
        // SAFETY: `start` is below the number of elements of the output and of every input stretched to its shape.
        let place = unsafe { to.add((start - range.start) * size) };
        if !bypasses {
            blocks[OUT as usize] = place;
        }
        for (i, source) in plan.sources.iter().enumerate() {
            // SAFETY: as above.
            unsafe {
                match source {
                    Source::Direct { ptr, size } => blocks[1 + i] = ptr.add(start * size).cast_mut(),
                    Source::Filled { .. } => {}
                    Source::Gathered { ptr, size, layout, .. } => by_size!(*size, T => {
                        layout.gather(ptr.cast::<T>(), start, blocks[1 + i].cast::<T>(), n);
                    }),
                    Source::Transposed { size, number, .. } => {
                        blocks[1 + i] = band_of(*number).add((start - range.start) * size);
                    }
                }
            }
        }
        for step in &plan.steps {
            let dst = blocks[step.dst as usize];
            let [a, b, c] = step.args;
            let block = |i: u32| blocks[i as usize].cast_const();
            let args = [block(a), block(b), block(c)];
            // SAFETY: `Plan::build` checked the types; every block holds `n` elements; no step writes what it reads.
            unsafe { (step.kernel)(dst, args, n) };
        }
        if bypasses {
            // SAFETY: the block of the output, computed in a buffer of its size.
            unsafe { bypass::copy(blocks[OUT as usize], place, n * size) };
        }
        start += n;
    }
}

/// The kernel for a function on arguments of type `compute`. The 16-bit floats have kernels only for being moved.
fn kernel(func: Func, compute: Dtype, result: Dtype, level: Level) -> Option<Kernel> {
    match func {
        Func::Unary(op) => match compute {
            Dtype::Float32 => float::unary_f32(op, level),
            Dtype::Float64 => float::unary_f64(op, level),
            Dtype::Complex64 => complex::unary(op, level),
            _ => integer::unary(op, compute, level),
        },
        Func::Binary(op) => match compute {
            Dtype::Float32 => float::binary_f32(op, level),
            Dtype::Float64 => float::binary_f64(op, level),
            Dtype::Complex64 => complex::binary(op, level),
            _ => integer::binary(op, compute, level),
        },
        Func::Select => cast::select(compute.size(), level),
        Func::Cast if compute != result => cast::cast(compute, result, level),
        // A bool is made 0 or 1, whatever its memory held.
        Func::Cast if compute == Dtype::Bool => integer::unary(UnaryOp::Real, compute, level),
        Func::Cast => cast::copy(compute.size(), level),
    }
}

#[cfg(test)]
mod tests;
