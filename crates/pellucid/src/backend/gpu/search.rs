//! Places of values in a sorted sequence, by bisection: an invocation for each value.

use std::fmt::Write;

use super::elementwise;
use super::kernel::Kernel;
use super::record::{Bind, folded};
use super::tensor::{Context, In, Out, shares};
use super::wgsl::{self, Class, GROUP, Text};
use crate::array::{Dtype, Shape};
use crate::error::Result;

/// Parameters: number of values, length of the sequence, its first element and stride, first value.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct SearchSorted {
    dtype: Dtype,
    /// Behind equal elements, not before them.
    right: bool,
    shared: bool,
}

impl Kernel for SearchSorted {
    fn label(&self) -> String {
        "searchsorted".to_owned()
    }

    fn text(&self) -> Text {
        let &SearchSorted { dtype, right, shared } = self;
        let mut text = Text::new(shared);
        text.take(5);
        text.output(Dtype::Uint32);
        text.input(dtype);
        text.input(dtype);
        let ty = wgsl::scalar(dtype);
        let before = match wgsl::class(dtype) {
            Class::Bool => "!a && b",
            Class::Float => "a < b || (!isnan_(a) && isnan_(b))",
            _ => "a < b",
        };
        let ahead = if right { "!before(v, e)" } else { "before(e, v)" };
        let mut body = String::new();
        let _ = write!(
            body,
            "fn before(a: {ty}, b: {ty}) -> bool {{ return {before}; }}
fn value(i: u32) -> u32 {{
    let v = ld1(p.p4 + i);
    var low = 0u;
    var high = p.p1;
    while (low < high) {{
        let middle = low + ((high - low) >> 1u);
        let e = ld0(p.p2 + middle * p.p3);
        if ({ahead}) {{ low = middle + 1u; }} else {{ high = middle; }}
    }}
    return low;
}}
"
        );
        text.body = body;
        text.map_entry(Dtype::Uint32);
        text
    }
}

/// For each value the number of elements before it. Complex numbers are not compared here.
pub(super) fn run(context: &Context, sequence: &In, values: &In, right: bool, out: &Out) -> Result<()> {
    // Values in row-major order, so that an invocation's number is its place.
    let dense = Shape::from(values.shape).row_major();
    let copied;
    let values = if values.strides == &dense[..] {
        values.clone()
    } else {
        copied = context.scratch(values.elements() * values.dtype.size())?;
        let target = Out { buffer: &copied, dtype: values.dtype, shape: values.shape };
        elementwise::run(
            context,
            &elementwise::copy_program(values.dtype),
            std::slice::from_ref(values),
            &target,
        )?;
        In { buffer: &copied, dtype: values.dtype, shape: values.shape, strides: &dense, offset: 0 }
    };
    let shared = shares(&[sequence.clone(), values.clone()], out.buffer);
    let pipeline = context.pipeline(&SearchSorted { dtype: sequence.dtype, right, shared })?;
    let (sorted, wanted) = (context.window(sequence)?, context.window(&values)?);
    let count = out.elements();
    let params = [
        count as u32,
        sequence.shape[0] as u32,
        (sequence.offset - sorted.skipped) as u32,
        sequence.strides[0] as u32,
        (values.offset - wanted.skipped) as u32,
    ];
    let target = Bind { buffer: out.buffer, start: 0, bytes: (count * 4) as u64 };
    let groups = folded((count as u64).div_ceil(u64::from(GROUP)));
    context.launch(&pipeline, &[target, sorted.bind, wanted.bind], &params, groups)
}
