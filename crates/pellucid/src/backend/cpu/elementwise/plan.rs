//! From a program to a list of kernel calls on numbered blocks.
//!
//! Results live in block buffers that are given back after their last use, so a long chain needs only a few of them.

use super::cast;
use super::isa::{Kernel, Level};
use super::kernel;
use crate::array::Dtype;
use crate::backend::cpu::copy::{Layout, Transpose, by_size};
use crate::backend::cpu::fill::element_bits;
use crate::backend::cpu::{In, Out};
use crate::error::{Error, Result};
use crate::op::{Arg, Func, Instr, Program};

/// The block every step can name: where the output goes.
pub(super) const OUT: u32 = 0;

/// Bytes of a band that a core keeps in its caches while it is used.
const LARGEST_BAND: usize = 1 << 20;

/// One kernel call. Blocks are numbered: the output, the sources, the buffers.
#[derive(Clone, Copy)]
pub(super) struct Step {
    pub kernel: Kernel,
    pub dst: u32,
    pub args: [u32; 3],
}

/// How the blocks of an input or a constant come about.
pub(super) enum Source {
    /// Read where it lies.
    Direct { ptr: *const u8, size: usize },
    /// One element everywhere: a buffer filled once.
    Filled { bits: u64, size: usize, buffer: usize },
    /// Collected into a buffer block by block.
    Gathered { ptr: *const u8, size: usize, layout: Layout, buffer: usize },
    /// Collected into a long buffer of its own, a band of rows at a time.
    Transposed { ptr: *const u8, size: usize, transpose: Transpose, number: usize },
}

/// The steps for one block, and what they work on.
#[derive(Default)]
pub(super) struct Plan {
    pub steps: Vec<Step>,
    pub sources: Vec<Source>,
    pub buffers: usize,
    /// Elements of a band of rows, zero if no source is transposed; and the number of buffers for bands.
    pub band: usize,
    pub bands: usize,
    /// Bytes of the widest element any block holds.
    pub widest: usize,
    /// Operations per element.
    pub flops: u64,
    consts: Vec<u32>,
    results: Vec<u32>,
    last_use: Vec<u32>,
    free: Vec<u32>,
    /// Blocks for the `float32` form of 16-bit arguments and results.
    wide: [Option<u32>; 4],
}

// SAFETY: the pointers are those of `In`s, which may be read from any thread while the call that made the plan lasts.
unsafe impl Sync for Plan {}

impl Plan {
    /// Makes the plan for one call, reusing this one's memory. Without `bands`, it can begin at any element.
    pub fn build(
        &mut self,
        program: &Program,
        inputs: &[In],
        out: &Out,
        level: Level,
        bands: bool,
    ) -> Result<()> {
        self.steps.clear();
        self.sources.clear();
        self.consts.clear();
        self.results.clear();
        self.last_use.clear();
        self.free.clear();
        self.wide = [None; 4];
        self.buffers = 0;
        (self.band, self.bands) = (0, 0);
        self.widest = 1;
        self.flops = 0;
        check(program, inputs, out)?;

        for x in inputs {
            self.add_input(x, out.shape, bands);
        }
        for &(value, dtype) in &program.consts {
            self.add_const(element_bits(value, dtype), dtype.size());
        }

        let instrs = program.instrs.as_slice();
        self.last_use.resize(instrs.len(), 0);
        for (i, instr) in instrs.iter().enumerate() {
            for arg in instr.args() {
                if let Arg::Instr(j) = *arg {
                    self.last_use[usize::from(j)] = i as u32;
                }
            }
        }

        self.steps.reserve(instrs.len());
        self.results.reserve(instrs.len());
        // Neighbours often do the same; the tables need not be asked again.
        let mut key = None;
        let mut parts = Parts::default();
        let mut flops = 0;
        for (i, instr) in instrs.iter().enumerate() {
            let own = Some((instr.func, instr.compute, instr.result));
            if key != own {
                (key, parts, flops) = (own, Parts::of(instr, level)?, instr.func.flops());
            }
            self.flops += flops;
            self.add_instr(instr, &parts, i + 1 == instrs.len(), out);
            for arg in instr.args() {
                if let Arg::Instr(j) = *arg {
                    let j = usize::from(j);
                    if self.last_use[j] == i as u32 {
                        self.last_use[j] = u32::MAX;
                        self.free.push(self.results[j]);
                    }
                }
            }
        }
        Ok(())
    }

    /// The number of the first buffer.
    pub fn first_buffer(&self) -> usize {
        1 + self.sources.len()
    }

    fn add_input(&mut self, x: &In, shape: &[usize], bands: bool) {
        let size = x.dtype.size();
        self.widest = self.widest.max(size);
        let ptr = x.ptr();
        if x.shape == shape && x.is_contiguous() {
            self.sources.push(Source::Direct { ptr, size });
            return;
        }
        let layout = Layout::broadcast(x, shape);
        if bands && let Some(source) = self.transposed(ptr, size, &layout) {
            self.sources.push(source);
            return;
        }
        let buffer = self.buffers;
        let source = if layout.is_contiguous() {
            Source::Direct { ptr, size }
        } else if layout.is_single() {
            // SAFETY: the output is not empty, so the input has an element.
            #[allow(clippy::unnecessary_cast, reason = "necessary for all sizes but one")]
            let bits = by_size!(size, T => unsafe { *ptr.cast::<T>() } as u64);
            Source::Filled { bits, size, buffer }
        } else {
            Source::Gathered { ptr, size, layout, buffer }
        };
        self.buffers += usize::from(!matches!(source, Source::Direct { .. }));
        self.sources.push(source);
    }

    /// A source whose neighbours in memory are not neighbours in the output. All such sources share the bands of the
    /// first; one with other bands is gathered.
    fn transposed(&mut self, ptr: *const u8, size: usize, layout: &Layout) -> Option<Source> {
        let transpose = Transpose::of(layout)?;
        let band = transpose.band()?;
        if band * size > LARGEST_BAND || self.band != 0 && self.band != band {
            return None;
        }
        self.band = band;
        self.bands += 1;
        Some(Source::Transposed { ptr, size, transpose, number: self.bands - 1 })
    }

    fn add_const(&mut self, value: u64, width: usize) {
        self.widest = self.widest.max(width);
        // Long programs tend to use few constants again and again; looking at some is enough to find most.
        let known = self.consts.iter().take(16).copied().find(|&c| {
            matches!(self.sources[c as usize - 1], Source::Filled { bits, size, .. } if bits == value && size == width)
        });
        let block = known.unwrap_or_else(|| {
            self.sources.push(Source::Filled { bits: value, size: width, buffer: self.buffers });
            self.buffers += 1;
            self.sources.len() as u32
        });
        self.consts.push(block);
    }

    fn buffer(&mut self) -> u32 {
        self.free.pop().unwrap_or_else(|| {
            self.buffers += 1;
            (self.first_buffer() + self.buffers - 1) as u32
        })
    }

    fn wide_buffer(&mut self, i: usize) -> u32 {
        match self.wide[i] {
            Some(block) => block,
            None => {
                let block = self.buffer();
                self.wide[i] = Some(block);
                block
            }
        }
    }

    #[inline(always)]
    fn block_of(&self, arg: Arg) -> u32 {
        match arg {
            Arg::Input(i) => 1 + u32::from(i),
            Arg::Const(i) => self.consts[usize::from(i)],
            Arg::Instr(i) => self.results[usize::from(i)],
        }
    }

    /// Written out, because `map` over the array goes through memory in pieces that stall its copy.
    #[inline(always)]
    fn blocks_of(&self, instr: &Instr) -> [u32; 3] {
        let [a, b, c] = instr.args;
        [self.block_of(a), self.block_of(b), self.block_of(c)]
    }

    fn add_instr(&mut self, instr: &Instr, parts: &Parts, last: bool, out: &Out) {
        self.widest = self.widest.max(instr.result.size());
        if let (Parts { widen: None, main: Some(kernel), narrow: None }, false) = (parts, last) {
            let args = self.blocks_of(instr);
            let dst = self.buffer();
            self.steps.push(Step { kernel: *kernel, dst, args });
            self.results.push(dst);
            return;
        }
        let used = instr.args().len();
        let mut args = self.blocks_of(instr);
        let calls = [parts.widen, parts.main, parts.narrow].iter().flatten().count();
        // Kernels never write what they read: a result that replaces an argument in place takes a way around.
        let in_place = last && calls == 1 && self.reads(&args[..used], out.ptr());
        let dst = if last && !in_place { OUT } else { self.buffer() };

        if calls > 1 {
            self.widest = self.widest.max(Dtype::Float32.size());
        }
        if let Some(kernel) = parts.widen {
            for (i, arg) in args[..used].iter_mut().enumerate() {
                let to = if calls == 1 { dst } else { self.wide_buffer(i) };
                self.steps.push(Step { kernel, dst: to, args: [*arg; 3] });
                *arg = to;
            }
        }
        if let Some(kernel) = parts.main {
            let to = if parts.narrow.is_some() { self.wide_buffer(3) } else { dst };
            self.steps.push(Step { kernel, dst: to, args });
            args = [to; 3];
        }
        if let Some(kernel) = parts.narrow {
            self.steps.push(Step { kernel, dst, args: [args[0]; 3] });
        }
        if in_place && let Some(kernel) = cast::copy(instr.result.size(), Level::Base) {
            self.steps.push(Step { kernel, dst: OUT, args: [dst; 3] });
        }
        self.results.push(dst);
    }

    /// True if an input lies where the output will.
    pub fn replaces_an_input(&self, out: &Out) -> bool {
        self.sources
            .iter()
            .any(|source| matches!(source, Source::Direct { ptr, .. } if *ptr == out.ptr().cast_const()))
    }

    /// True if one of these blocks lies where the output will.
    fn reads(&self, blocks: &[u32], out: *const u8) -> bool {
        blocks.iter().any(|&b| {
            matches!(self.sources.get((b as usize).wrapping_sub(1)), Some(Source::Direct { ptr, .. }) if *ptr == out)
        })
    }
}

/// The kernel calls of one instruction. 16-bit floats are computed in `float32` and rounded after every instruction, so
/// that a fused program gives what its instructions give one by one.
#[derive(Clone, Copy, Default)]
struct Parts {
    /// From a 16-bit float to `float32`, for each argument.
    widen: Option<Kernel>,
    main: Option<Kernel>,
    /// From `float32` to a 16-bit float.
    narrow: Option<Kernel>,
}

impl Parts {
    fn of(instr: &Instr, level: Level) -> Result<Parts> {
        let result = match instr.func {
            Func::Unary(op) => op.result_dtype(instr.compute),
            Func::Binary(op) => op.result_dtype(instr.compute),
            Func::Select => instr.compute,
            Func::Cast => instr.result,
        };
        if result != instr.result {
            let message = format!("{} gives {result}, not {}", instr.func.name(), instr.result);
            return Err(Error::internal("elementwise", message));
        }
        let is_half = |d| matches!(d, Dtype::Float16 | Dtype::Bfloat16);
        // Elements that are only moved are not converted.
        let moves = instr.func == Func::Select || instr.func == Func::Cast && instr.compute == instr.result;
        let (widens, narrows) = (!moves && is_half(instr.compute), !moves && is_half(instr.result));
        let compute = if widens { Dtype::Float32 } else { instr.compute };
        let result = if narrows { Dtype::Float32 } else { instr.result };
        let main = if instr.func == Func::Cast && !moves && compute == result {
            None
        } else {
            Some(kernel(instr.func, compute, result, level).ok_or_else(|| {
                let message =
                    format!("{} is not supported; convert the argument with astype first", instr.compute);
                Error::dtype(instr.func.name(), message)
            })?)
        };
        Ok(Parts {
            widen: widens.then(|| cast::widen(instr.compute, level)),
            main,
            narrow: narrows.then(|| cast::narrow(instr.result, level)),
        })
    }
}

/// Everything a step relies on for memory safety: a program that does not fit its arrays is a defect elsewhere.
fn check(program: &Program, inputs: &[In], out: &Out) -> Result<()> {
    let fail = |message: String| Err(Error::internal("elementwise", message));
    let Some(last) = program.instrs.last() else {
        return fail("the program has no instructions".into());
    };
    if last.result != out.dtype || inputs.len() != program.inputs.len() {
        return fail(format!(
            "a program with {} inputs and result {} was given {} inputs and an output of {}",
            program.inputs.len(),
            last.result,
            inputs.len(),
            out.dtype
        ));
    }
    for (x, dtype) in inputs.iter().zip(&program.inputs) {
        let skip = out.shape.len().checked_sub(x.shape.len());
        let fits = skip.is_some_and(|s| x.shape.iter().zip(&out.shape[s..]).all(|(a, b)| a == b || *a == 1));
        if x.dtype != *dtype || !fits {
            return fail(format!("{} {:?} was given for {dtype} of shape {:?}", x.dtype, x.shape, out.shape));
        }
    }
    let instrs = program.instrs.as_slice();
    for (i, instr) in instrs.iter().enumerate() {
        for (k, arg) in instr.args().iter().enumerate() {
            let dtype = match *arg {
                Arg::Input(j) => program.inputs.get(usize::from(j)).copied(),
                Arg::Const(j) => program.consts.get(usize::from(j)).map(|c| c.1),
                Arg::Instr(j) if usize::from(j) < i => Some(instrs[usize::from(j)].result),
                Arg::Instr(_) => None,
            };
            if dtype != Some(instr.arg_dtype(k)) {
                return fail(format!("argument {k} of instruction {i} ({}) is {dtype:?}", instr.func.name()));
            }
        }
    }
    Ok(())
}
