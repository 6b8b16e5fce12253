//! Arrays made from numbers: one value everywhere, and evenly spaced values.

use std::fmt::Write;

use smallvec::SmallVec;

use super::pipeline::Key;
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

/// Writes `value` to every element.
pub(super) fn full(context: &Context, value: Scalar, out: &Out) -> Result<()> {
    let dtype = out.dtype;
    let key = Key { family: "full", words: SmallVec::from_slice(&[dtype as u32]) };
    let pipeline = context.pipeline(key, || {
        let mut text = Text::new(false);
        text.output(dtype);
        text.take(1);
        let at = text.take(words(0, dtype).len());
        let _ = writeln!(
            text.body,
            "fn value(i: u32) -> {} {{ return {}; }}",
            wgsl::scalar(dtype),
            wgsl::parameter(dtype, at)
        );
        text.map_entry(dtype);
        ("full".to_owned(), text)
    })?;
    let mut params: SmallVec<[u32; 4]> = SmallVec::from_slice(&[out.elements() as u32]);
    params.extend(words(element_bits(value, dtype), dtype));
    launch(context, &pipeline, out, &params)
}

/// Writes `start + i · step`: floats multiply and add in `f32`, integers wrap.
pub(super) fn arange(context: &Context, start: Scalar, step: Scalar, out: &Out) -> Result<()> {
    let dtype = out.dtype;
    let key = Key { family: "arange", words: SmallVec::from_slice(&[dtype as u32]) };
    let pipeline = context.pipeline(key, || {
        let mut text = Text::new(false);
        text.output(dtype);
        text.take(1);
        let count = words(0, dtype).len();
        let (first, step) = (text.take(count), text.take(count));
        let (first, step) = (wgsl::parameter(dtype, first), wgsl::parameter(dtype, step));
        let scalar = wgsl::scalar(dtype);
        let value = match wgsl::class(dtype) {
            Class::Complex => format!("{first} + {step} * f32(i)"),
            _ => wgsl::rounded(dtype, &format!("{first} + {scalar}(i) * {step}")),
        };
        let _ = writeln!(text.body, "fn value(i: u32) -> {scalar} {{ return {value}; }}");
        text.map_entry(dtype);
        ("arange".to_owned(), text)
    })?;
    let first = element_bits(start, dtype);
    let step = if dtype.is_integer() {
        let second = element_bits(crate::backend::cpu::second(start, step), dtype);
        second.wrapping_sub(first)
    } else {
        element_bits(step, dtype)
    };
    let mut params: SmallVec<[u32; 6]> = SmallVec::from_slice(&[out.elements() as u32]);
    params.extend(words(first, dtype));
    params.extend(words(step, dtype));
    launch(context, &pipeline, out, &params)
}

fn launch(context: &Context, pipeline: &super::pipeline::Pipeline, out: &Out, params: &[u32]) -> Result<()> {
    let words = (out.elements() as u64).div_ceil(u64::from(wgsl::per_word(out.dtype)));
    let bytes = (out.elements() * out.dtype.size()).next_multiple_of(4) as u64;
    let bind = Bind { buffer: out.buffer, start: 0, bytes };
    context.launch(pipeline, &[bind], params, folded(words.div_ceil(u64::from(GROUP))))
}
