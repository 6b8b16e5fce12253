//! Kernels in which each element of the output is a short program over elements of the inputs: the frame around them.

use std::fmt::{Debug, Write};
use std::hash::Hash;

use smallvec::SmallVec;

use super::assemble::{inner_sizes, launch};
use super::kernel::Kernel;
use super::record::Bind;
use super::tensor::{Context, In, Out, position_sum, positions, shares};
use super::wgsl::{self, Text};
use crate::array::Dtype;
use crate::error::Result;

/// A short program for each element.
pub(super) trait Formula: Clone + Debug + Eq + Hash + Send + Sync + 'static {
    fn label(&self) -> &'static str;

    /// WGSL that returns the element at `c0`, `c1`, …; `xN(c0, c1, …)` is an element of the input N, `n0`, `n1`, … are
    /// the numbers.
    fn body(&self, signature: &Signature) -> String;
}

/// Types and numbers of axes: what the text depends on besides the formula.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Signature {
    pub out: Dtype,
    pub rank: usize,
    pub inputs: SmallVec<[(Dtype, usize); 4]>,
    /// How many numbers the kernel is launched with.
    pub numbers: usize,
    pub shared: bool,
}

/// Runs a formula over all elements of `out`, with numbers that are parameters of its kernel.
pub(super) fn run<F: Formula>(
    context: &Context,
    formula: F,
    numbers: &[u32],
    inputs: &[In],
    out: &Out,
) -> Result<()> {
    let signature = Signature {
        out: out.dtype,
        rank: out.shape.len(),
        inputs: inputs.iter().map(|x| (x.dtype, x.shape.len())).collect(),
        numbers: numbers.len(),
        shared: shares(inputs, out.buffer),
    };
    let pipeline = context.pipeline(&Framed { formula, signature })?;
    let mut params: SmallVec<[u32; 48]> = SmallVec::from_slice(&[out.elements() as u32]);
    params.extend(inner_sizes(out.shape));
    let mut binds: SmallVec<[Bind; 8]> = SmallVec::new();
    for x in inputs {
        let window = context.window(x)?;
        params.push((x.offset - window.skipped) as u32);
        params.extend(x.strides.iter().map(|&s| s as i32 as u32));
        binds.push(window.bind);
    }
    params.extend_from_slice(numbers);
    launch(context, &pipeline, out, &binds, &params)
}

/// A formula in its frame.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Framed<F> {
    formula: F,
    signature: Signature,
}

impl<F: Formula> Kernel for Framed<F> {
    fn label(&self) -> String {
        self.formula.label().to_owned()
    }

    fn text(&self) -> Text {
        let &Signature { out, rank, ref inputs, numbers, shared } = &self.signature;
        let mut text = Text::new(shared);
        text.output(out);
        text.take(1);
        let sizes = text.take(rank.saturating_sub(1));
        let mut functions = String::new();
        for &(dtype, rank) in inputs {
            let n = text.input(dtype);
            let (offset, strides) = (text.take(1), text.take(rank));
            let places: Vec<String> = (0..rank).map(|d| format!("c{d}: u32")).collect();
            let at = position_sum(&format!("p.p{offset}"), "c", rank, strides);
            let ty = wgsl::scalar(dtype);
            let _ = writeln!(functions, "fn x{n}({}) -> {ty} {{ return ld{n}({at}); }}", places.join(", "));
        }
        let first = text.take(numbers);
        let mut start = String::new();
        positions(&mut start, "c", "i", rank, sizes);
        for n in 0..numbers {
            let _ = writeln!(start, "    let n{n} = p.p{};", first + n);
        }
        let (ty, body) = (wgsl::scalar(out), self.formula.body(&self.signature));
        let _ = write!(text.body, "{functions}fn value(i: u32) -> {ty} {{\n{start}{body}}}\n");
        text.map_entry(out);
        text
    }
}

/// The names `c0, c1, …` of the first `rank` positions, and one more at the end.
pub(super) fn places(rank: usize, last: &str) -> String {
    let mut names: Vec<String> = (0..rank).map(|d| format!("c{d}")).collect();
    names.extend((!last.is_empty()).then(|| last.to_owned()));
    names.join(", ")
}
