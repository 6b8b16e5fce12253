//! Arrays made from numbers: one value everywhere, and evenly spaced values.

use std::fmt::Write;

use smallvec::SmallVec;

use super::kernel::Kernel;
use super::pipeline::Pipeline;
use super::record::{Bind, folded};
use super::tensor::{Context, Out};
use super::wgsl::{self, Class, GROUP, Text};
use crate::array::Dtype;
use crate::backend::cpu::element_bits;
use crate::error::Result;
use crate::op::Scalar;

fn words(bits: u64, dtype: Dtype) -> SmallVec<[u32; 2]> {
    if dtype.size() == 8 {
        SmallVec::from_slice(&[bits as u32, (bits >> 32) as u32])
    } else {
        SmallVec::from_slice(&[bits as u32])
    }
}

/// One value everywhere. Parameters: number of elements, the first one, the value.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Full {
    dtype: Dtype,
}

impl Kernel for Full {
    fn label(&self) -> String {
        "full".to_owned()
    }

    fn text(&self) -> Text {
        let dtype = self.dtype;
        let mut text = Text::new(false);
        text.output(dtype);
        text.take(2);
        let at = text.take(words(0, dtype).len());
        let _ = writeln!(
            text.body,
            "fn value(i: u32) -> {} {{ return {}; }}",
            wgsl::scalar(dtype),
            wgsl::parameter(dtype, at)
        );
        text.map_entry(dtype);
        text
    }
}

/// Evenly spaced values. Parameters: number of elements, the first one, the value at 0, the step.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Arange {
    dtype: Dtype,
}

impl Kernel for Arange {
    fn label(&self) -> String {
        "arange".to_owned()
    }

    fn text(&self) -> Text {
        let dtype = self.dtype;
        let mut text = Text::new(false);
        text.output(dtype);
        text.take(2);
        let count = words(0, dtype).len();
        let (first, step) = (text.take(count), text.take(count));
        let (first, step) = (wgsl::parameter(dtype, first), wgsl::parameter(dtype, step));
        let scalar = wgsl::scalar(dtype);
        let value = match wgsl::class(dtype) {
            Class::Complex => format!("{first} + {step} * f32(i + p.p1)"),
            _ => wgsl::rounded(dtype, &format!("{first} + {scalar}(i + p.p1) * {step}")),
        };
        let _ = writeln!(text.body, "fn value(i: u32) -> {scalar} {{ return {value}; }}");
        text.map_entry(dtype);
        text
    }
}

/// Writes `value` to every element.
pub(super) fn full(context: &Context, value: Scalar, out: &Out) -> Result<()> {
    let dtype = out.dtype;
    let pipeline = context.pipeline(&Full { dtype })?;
    launch(context, &pipeline, out, &words(element_bits(value, dtype), dtype))
}

/// Writes `start + i · step`: floats multiply and add in `f32`, integers wrap.
pub(super) fn arange(context: &Context, start: Scalar, step: Scalar, out: &Out) -> Result<()> {
    let dtype = out.dtype;
    let pipeline = context.pipeline(&Arange { dtype })?;
    let first = element_bits(start, dtype);
    let step = if dtype.is_integer() {
        let second = element_bits(crate::backend::cpu::second(start, step), dtype);
        second.wrapping_sub(first)
    } else {
        element_bits(step, dtype)
    };
    let mut numbers = words(first, dtype);
    numbers.extend(words(step, dtype));
    launch(context, &pipeline, out, &numbers)
}

/// Launches a kernel for each window of the output; its parameters are the number of elements, the first one, and
/// `numbers`.
fn launch(context: &Context, pipeline: &Pipeline, out: &Out, numbers: &[u32]) -> Result<()> {
    let most = context.gpu.largest_binding() as usize / out.dtype.size() / 1024 * 1024;
    for first in (0..out.elements()).step_by(most) {
        let count = most.min(out.elements() - first);
        let mut params: SmallVec<[u32; 6]> = SmallVec::from_slice(&[count as u32, first as u32]);
        params.extend_from_slice(numbers);
        let words = (count as u64).div_ceil(u64::from(wgsl::per_word(out.dtype)));
        let bytes = (count * out.dtype.size()).next_multiple_of(4) as u64;
        let bind = Bind { buffer: out.buffer, start: (first * out.dtype.size()) as u64, bytes };
        context.launch(pipeline, &[bind], &params, folded(words.div_ceil(u64::from(GROUP))))?;
    }
    Ok(())
}
