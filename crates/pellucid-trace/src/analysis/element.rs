//! One element of an array whose elements are in the file, and what was read to make it.

use std::collections::HashMap;

use serde::Serialize;

use super::index::{Kind, kind};
use crate::{TensorData, Trace};

/// Larger arrays are not searched: the summary is to come at once.
const LARGEST: u64 = 256 << 20;

/// The first element that is not finite, and what was read for it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Element {
    /// Where it is.
    pub index: Vec<usize>,
    /// What it is.
    pub value: String,
    /// The elements it was made from, each with its array.
    pub read: Vec<String>,
}

/// The first element of an operation's result that is not finite, if the file has the elements.
pub(super) fn first_odd(trace: &Trace, rows: &HashMap<u64, usize>, op: u64) -> Option<Element> {
    let table = trace.ops().ok()?;
    let row = table.get(*rows.get(&op)?)?;
    let result = numbers(trace, op, row.dtypes.get(0)?)?;
    let position = result.values.iter().position(|value| !value.is_finite())? / result.parts;
    let index = index_of(&result.shape, position);
    let mut read = Vec::new();
    if kind(&row) == Kind::Elementwise {
        for &input in row.inputs {
            let Some(made) = rows.get(&input).and_then(|row| table.get(*row)) else { continue };
            let Some(operand) = made.dtypes.get(0).and_then(|dtype| numbers(trace, input, dtype)) else {
                continue;
            };
            let at = broadcast_position(&operand.shape, &index);
            read.push(format!("{} (array {input})", written(operand.at(at)?)));
        }
    }
    Some(Element { index, value: written(result.at(position)?), read })
}

/// The elements of an array as numbers; complex ones count as two.
struct Numbers {
    shape: Vec<usize>,
    values: Vec<f64>,
    parts: usize,
}

impl Numbers {
    /// The element at a position; of a complex one the part that is not finite, if only one is.
    fn at(&self, position: usize) -> Option<f64> {
        let found = self.values.get(position * self.parts..)?.get(..self.parts)?;
        found.iter().find(|value| !value.is_finite()).or(found.first()).copied()
    }
}

fn numbers(trace: &Trace, array: u64, dtype: &str) -> Option<Numbers> {
    let member = format!("tensors/{array}.npy");
    trace.member_sizes(&member).filter(|(_, size)| *size <= LARGEST)?;
    let TensorData { descr, shape, data } = trace.tensor(array).ok()?;
    fn each<const N: usize>(data: &[u8], number: impl Fn([u8; N]) -> f64) -> Vec<f64> {
        data.as_chunks().0.iter().map(|chunk| number(*chunk)).collect()
    }
    // Integers are always finite, but they may be operands.
    let values = match (descr.as_str(), dtype) {
        ("<u2", "bfloat16") => each(&data, |b| f64::from(half::bf16::from_le_bytes(b))),
        ("<f2", _) => each(&data, |b| f64::from(half::f16::from_le_bytes(b))),
        ("<f4" | "<c8", _) => each(&data, |b| f64::from(f32::from_le_bytes(b))),
        ("<f8", _) => each(&data, f64::from_le_bytes),
        ("|b1" | "|u1", _) => each(&data, |[b]: [u8; 1]| f64::from(b)),
        ("|i1", _) => each(&data, |b| f64::from(i8::from_le_bytes(b))),
        ("<u2", _) => each(&data, |b| f64::from(u16::from_le_bytes(b))),
        ("<i2", _) => each(&data, |b| f64::from(i16::from_le_bytes(b))),
        ("<u4", _) => each(&data, |b| f64::from(u32::from_le_bytes(b))),
        ("<i4", _) => each(&data, |b| f64::from(i32::from_le_bytes(b))),
        ("<u8", _) => each(&data, |b| u64::from_le_bytes(b) as f64),
        ("<i8", _) => each(&data, |b| i64::from_le_bytes(b) as f64),
        _ => return None,
    };
    let shape = shape.iter().map(|dim| usize::try_from(*dim).ok()).collect::<Option<_>>()?;
    Some(Numbers { shape, values, parts: if descr == "<c8" { 2 } else { 1 } })
}

/// A number with six digits at most.
fn written(value: f64) -> String {
    if value.is_nan() {
        "NaN".to_owned()
    } else if value.is_infinite() || value == 0.0 || (1e-4..1e6).contains(&value.abs()) {
        let digits =
            if value == 0.0 || value.is_infinite() { 0 } else { 5 - value.abs().log10().floor() as i32 };
        let text = format!("{value:.*}", digits.max(0) as usize);
        let trimmed =
            if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
        trimmed.to_owned()
    } else {
        format!("{value:.5e}")
    }
}

/// The index of a position in row-major order.
fn index_of(shape: &[usize], mut position: usize) -> Vec<usize> {
    let mut index = vec![0; shape.len()];
    for (i, size) in index.iter_mut().zip(shape).rev() {
        *i = position % size.max(&1);
        position /= size.max(&1);
    }
    index
}

/// The position in `shape` that broadcasting reads for `index` of the result.
fn broadcast_position(shape: &[usize], index: &[usize]) -> usize {
    let skipped = index.len().saturating_sub(shape.len());
    let pairs = shape.iter().zip(index.iter().skip(skipped));
    pairs.fold(0, |position, (size, i)| position * size + if *size == 1 { 0 } else { *i })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_with_six_digits_at_most() {
        let cases = [(0.0, "0"), (-1.5, "-1.5"), (1.0 / 3.0, "0.333333"), (f64::NEG_INFINITY, "-inf")];
        cases.iter().for_each(|(value, text)| assert_eq!(written(*value), *text));
        assert_eq!(written(1.25e-9), "1.25000e-9");
        assert_eq!(written(f64::NAN), "NaN");
    }

    #[test]
    fn a_broadcast_operand_is_read_where_the_result_says() {
        assert_eq!(index_of(&[2, 3, 4], 17), [1, 1, 1]);
        assert_eq!(broadcast_position(&[3, 1], &[1, 2, 1]), 2);
        assert_eq!(broadcast_position(&[], &[1, 2, 1]), 0);
    }
}
