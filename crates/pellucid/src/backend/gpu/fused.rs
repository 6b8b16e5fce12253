//! Normalisations and rotary positions.

use super::formula::{self, Formula, Signature, places};
use super::tensor::{Context, In, Out};
use crate::array::{Dtype, Shape};
use crate::error::Result;
use crate::op::{NormKind, RopeSpec};

/// Normalisation of the last axis: the statistics of each row first, then all elements. Inputs: x, then a weight and a
/// bias as said.
pub(super) fn norm(
    context: &Context,
    kind: NormKind,
    (weight, bias): (bool, bool),
    eps: f64,
    inputs: &[In],
    out: &Out,
) -> Result<()> {
    let x = &inputs[0];
    let stats = statistics(context, kind, eps, x)?;
    let shape = stats.1;
    let strides = shape.row_major();
    let mut all: Vec<In> = inputs.to_vec();
    all.push(In { buffer: &stats.0, dtype: Dtype::Float32, shape: &shape, strides: &strides, offset: 0 });
    formula::run(context, Norm { kind, weight, bias }, &[], &all, out)
}

/// The elements of rows whose statistics are the last input.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Norm {
    kind: NormKind,
    weight: bool,
    bias: bool,
}

impl Formula for Norm {
    fn label(&self) -> &'static str {
        self.kind.name()
    }

    fn body(&self, signature: &Signature) -> String {
        let (rank, row) = (signature.rank, signature.inputs.len() - 1);
        let (last, at) = (format!("c{}", rank - 1), places(rank, ""));
        let mut value =
            format!("(x0({at}) - x{row}({})) * x{row}({})", places(rank - 1, "0u"), places(rank - 1, "1u"));
        if self.weight {
            value = format!("{value} * x1({last})");
        }
        if self.bias {
            value = format!("{value} + x{}({last})", 1 + usize::from(self.weight));
        }
        format!("    return {value};\n")
    }
}

/// The mean (zero for root mean square) and the reciprocal spread of each row.
fn statistics(context: &Context, kind: NormKind, eps: f64, x: &In) -> Result<(crate::memory::Buffer, Shape)> {
    let rank = x.shape.len();
    let length = x.shape[rank - 1];
    let mut shape = Shape::from(&x.shape[..rank - 1]);
    shape.push(2);
    let buffer = context.scratch(shape.elements() * 4)?;
    let out = Out { buffer: &buffer, dtype: Dtype::Float32, shape: &shape };
    let numbers = [length as u32, (eps as f32).to_bits()];
    let formula = RowStatistics { layer: kind == NormKind::Layer };
    formula::run(context, formula, &numbers, std::slice::from_ref(x), &out)?;
    Ok((buffer, shape))
}

/// The statistics of a row. Numbers: its length, what is added to the variance.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct RowStatistics {
    /// The mean is taken off.
    layer: bool,
}

impl Formula for RowStatistics {
    fn label(&self) -> &'static str {
        "row_statistics"
    }

    fn body(&self, signature: &Signature) -> String {
        let rank = signature.rank;
        let (part, at) = (format!("c{}", rank - 1), places(rank - 1, "j"));
        let mean = if self.layer {
            format!(
                "    var sum = 0.0;
    for (var j = 0u; j < n0; j = j + 1u) {{ sum = sum + x0({at}); }}
    let mean = sum / f32(n0);\n"
            )
        } else {
            "    let mean = 0.0;\n".to_owned()
        };
        format!(
            "{mean}    if ({part} == 0u) {{ return mean; }}
    var squares = 0.0;
    for (var j = 0u; j < n0; j = j + 1u) {{ let d = x0({at}) - mean; squares = squares + d * d; }}
    return inverseSqrt(squares / f32(n0) + bitcast<f32>(n1));\n"
        )
    }
}

/// Rotary positions. Inputs: x, the offset, the periods unless there is a base.
pub(super) fn rope(context: &Context, spec: &RopeSpec, inputs: &[In], out: &Out) -> Result<()> {
    let half = spec.dims / 2;
    let step = spec.base.map_or(0.0, |base| (base.0.ln() as f32) / half as f32);
    let numbers = [half as u32, step.to_bits(), (spec.scale.0 as f32).to_bits()];
    let by_row = inputs[1].elements() > 1;
    let formula = Rope { traditional: spec.traditional, inverse: spec.inverse, by_row };
    formula::run(context, formula, &numbers, inputs, out)
}

/// An element rotated with its partner. Numbers: half the features, logarithm of the step of frequencies, scale.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Rope {
    traditional: bool,
    inverse: bool,
    /// Each row of the first axis has an offset of its own.
    by_row: bool,
}

impl Formula for Rope {
    fn label(&self) -> &'static str {
        "rope"
    }

    fn body(&self, signature: &Signature) -> String {
        let rank = signature.rank;
        let last = format!("c{}", rank - 1);
        let (pair, second) = match self.traditional {
            true => (format!("{last} / 2u"), format!("({last} & 1u) == 1u")),
            false => (format!("select({last}, {last} - n0, {last} >= n0)"), format!("{last} >= n0")),
        };
        let (first_at, second_at) = match self.traditional {
            true => ("pair * 2u", "pair * 2u + 1u"),
            false => ("pair", "pair + n0"),
        };
        let offset = match (signature.inputs[1].1 == 0, self.by_row) {
            (true, _) => "x1()",
            (false, true) => "x1(c0)",
            (false, false) => "x1(0u)",
        };
        let frequency = match signature.inputs.len() {
            2 => "exp(-f32(pair) * bitcast<f32>(n1))".to_owned(),
            _ => "1.0 / x2(pair)".to_owned(),
        };
        let sign = if self.inverse { "-" } else { "" };
        let (a, b) = (places(rank - 1, first_at), places(rank - 1, second_at));
        format!(
            "    if ({last} >= n0 * 2u) {{ return x0({whole}); }}
    let pair = {pair};
    let position = (f32({offset}) + f32(c{row})) * bitcast<f32>(n2);
    let angle = position * ({frequency});
    let c = cos(angle);
    let s = {sign}sin(angle);
    let a = x0({a});
    let b = x0({b});
    if ({second}) {{ return a * s + b * c; }}
    return a * c - b * s;\n",
            whole = places(rank, ""),
            row = rank - 2,
        )
    }
}
