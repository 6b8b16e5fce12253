//! Kernels in which each element of the output is a short program over elements of the inputs: the frame around them.

use std::fmt::Write;

use smallvec::SmallVec;

use super::assemble::{inner_sizes, launch};
use super::pipeline::Key;
use super::record::Bind;
use super::tensor::{Context, In, Out, position_sum, positions, shares};
use super::wgsl::{self, Text};
use crate::error::Result;

/// A kernel's name, what its text depends on besides types and ranks, and the numbers it is launched with.
pub(super) struct Formula<'a> {
    pub name: &'static str,
    pub variant: &'a [u32],
    pub numbers: &'a [u32],
}

impl Formula<'_> {
    /// Launches the kernel. Its body is WGSL that returns the element at `c0`, `c1`, …; `xN(c0, c1, …)` is an element of
    /// the input N, `n0`, `n1`, … are the numbers.
    pub fn launch(
        &self,
        context: &Context,
        inputs: &[In],
        out: &Out,
        body: impl FnOnce() -> String,
    ) -> Result<()> {
        let shared = shares(inputs, out.buffer);
        let mut words: SmallVec<[u32; 24]> = SmallVec::from_slice(self.variant);
        words.extend([out.dtype as u32, out.shape.len() as u32, u32::from(shared)]);
        words.extend(inputs.iter().flat_map(|x| [x.dtype as u32, x.shape.len() as u32]));
        let key = Key { family: self.name, words };
        let pipeline =
            context.pipeline_by(key, || (self.name.to_owned(), self.text(inputs, out, shared, &body())))?;
        let mut params: SmallVec<[u32; 48]> = SmallVec::from_slice(&[out.elements() as u32]);
        params.extend(inner_sizes(out.shape));
        let mut binds: SmallVec<[Bind; 8]> = SmallVec::new();
        for x in inputs {
            let window = context.window(x)?;
            params.push((x.offset - window.skipped) as u32);
            params.extend(x.strides.iter().map(|&s| s as i32 as u32));
            binds.push(window.bind);
        }
        params.extend_from_slice(self.numbers);
        launch(context, &pipeline, out, &binds, &params)
    }

    fn text(&self, inputs: &[In], out: &Out, shared: bool, body: &str) -> Text {
        let mut text = Text::new(shared);
        text.output(out.dtype);
        text.take(1);
        let rank = out.shape.len();
        let sizes = text.take(rank.saturating_sub(1));
        let mut functions = String::new();
        for x in inputs {
            let n = text.input(x.dtype);
            let (offset, strides) = (text.take(1), text.take(x.shape.len()));
            let places: Vec<String> = (0..x.shape.len()).map(|d| format!("c{d}: u32")).collect();
            let at = position_sum(&format!("p.p{offset}"), "c", x.shape.len(), strides);
            let ty = wgsl::scalar(x.dtype);
            let _ = writeln!(functions, "fn x{n}({}) -> {ty} {{ return ld{n}({at}); }}", places.join(", "));
        }
        let first = text.take(self.numbers.len());
        let mut start = String::new();
        positions(&mut start, "c", "i", rank, sizes);
        for n in 0..self.numbers.len() {
            let _ = writeln!(start, "    let n{n} = p.p{};", first + n);
        }
        let ty = wgsl::scalar(out.dtype);
        let _ = write!(text.body, "{functions}fn value(i: u32) -> {ty} {{\n{start}{body}}}\n");
        text.map_entry(out.dtype);
        text
    }
}

/// The names `c0, c1, …` of the first `rank` positions, and one more at the end.
pub(super) fn places(rank: usize, last: &str) -> String {
    let mut names: Vec<String> = (0..rank).map(|d| format!("c{d}")).collect();
    names.extend((!last.is_empty()).then(|| last.to_owned()));
    names.join(", ")
}
