//! The cases of `tests/fixtures/cases.jsonl`: reading them and running them.
//!
//! A case is one line, and only the lines of the cases that run are read; a test runner that starts a process for each
//! case would otherwise spend its time on reading.

use std::sync::LazyLock;

use libtest_mimic::Failed;
use num_complex::Complex32;
use pellucid::{Array, Dtype, Shape, ops};
use serde_json::Value;

use crate::arguments::Arguments;
use crate::call::call;
use crate::compare::compare;
use crate::differences;

static TEXT: LazyLock<String> = LazyLock::new(|| {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/cases.jsonl");
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("cannot read {path}: {error}"))
});

/// One line of the file.
#[derive(Clone, Copy)]
pub struct Line(&'static str);

impl Line {
    pub fn name(self) -> &'static str {
        let rest = self.0.strip_prefix("{\"name\":\"").unwrap_or_else(|| panic!("not a case: {}", self.0));
        rest.split('"').next().unwrap_or_default()
    }
}

pub fn cases() -> impl Iterator<Item = Line> {
    TEXT.lines().map(Line)
}

/// How the inputs of a check lie in memory.
#[derive(Clone, Copy, Debug)]
enum Layout {
    /// Row by row, without gaps.
    Dense,
    /// Axes reversed in memory, and every other element left out.
    Strided,
}

/// Every check of the case with every layout.
pub fn run(line: Line) -> Result<(), Failed> {
    let case: Value = serde_json::from_str(line.0).map_err(|error| format!("{error} in {}", line.0))?;
    let arrays: Vec<&str> = case["arrays"].as_array().unwrap().iter().map(|a| a.as_str().unwrap()).collect();
    let mut wrong = Vec::new();
    for check in case["checks"].as_array().unwrap() {
        for layout in [Layout::Dense, Layout::Strided] {
            if let Err(message) = run_check(line.name(), check, &arrays, layout) {
                let call = format!("{} {}", check["f"].as_str().unwrap(), check["args"]);
                wrong.push(format!("{call} of {:?} ({layout:?}): {message}", inputs_of(check, &arrays)));
            }
        }
    }
    if wrong.is_empty() { Ok(()) } else { Err(wrong.join("\n").into()) }
}

fn inputs_of<'a>(check: &Value, arrays: &[&'a str]) -> Vec<&'a str> {
    let places = check["in"].as_array().unwrap().iter();
    places.map(|place| arrays[place.as_u64().unwrap() as usize]).collect()
}

fn run_check(name: &str, check: &Value, arrays: &[&str], layout: Layout) -> Result<(), String> {
    let inputs: Vec<Array> =
        inputs_of(check, arrays).into_iter().map(|text| laid_out(&parse(text), layout)).collect();
    let function = check["f"].as_str().unwrap();
    let results = call(function, &inputs, &Arguments::new(&check["args"]));
    let Some(expected) = check["out"].as_array() else {
        return match results {
            Err(_) => Ok(()),
            Ok(_) if differences::accepts_more(name) => Ok(()),
            Ok(given) => Err(format!("mlx refuses this; here it is {given:?}")),
        };
    };
    let results = results.map_err(|error| format!("failed: {error}"))?;
    if results.len() != expected.len() {
        return Err(format!("gives {} arrays, mlx {}", results.len(), expected.len()));
    }
    for (result, expected) in results.iter().zip(expected) {
        let expected = parse(expected.as_str().unwrap());
        compare(function, result, &expected)?;
    }
    Ok(())
}

fn laid_out(a: &Array, layout: Layout) -> Array {
    match layout {
        Layout::Dense => a.clone(),
        Layout::Strided => {
            let wide = ops::contiguous(&ops::repeat(&a.T(), 2, None));
            let reversed: Vec<i64> = a.shape().iter().rev().map(|&d| d as i64).chain([2]).collect();
            let doubled = ops::reshape(&wide, reversed);
            doubled.index(pellucid::idx![ops::Index::Ellipsis, 1]).T()
        }
    }
}

/// An array from `float32[2,3] 1 -0 inf nan 0.5 3`.
pub fn parse(text: &str) -> Array {
    let (head, values) = text.split_once(' ').unwrap_or((text, ""));
    let (dtype, shape) = head.trim_end_matches(']').split_once('[').unwrap();
    let shape: Vec<usize> = shape.split(',').filter(|d| !d.is_empty()).map(|d| d.parse().unwrap()).collect();
    let shape = Shape::from(shape);
    macro_rules! read {
        ($ty:ty) => {
            read!($ty, |v: &str| v.parse::<$ty>().unwrap())
        };
        ($ty:ty, $parse:expr) => {{
            let values: Vec<$ty> = values.split_whitespace().map($parse).collect();
            Array::from_vec(values, shape)
        }};
    }
    match dtype.parse::<Dtype>().unwrap() {
        Dtype::Bool => read!(bool, |v| v == "1"),
        Dtype::Uint8 => read!(u8),
        Dtype::Uint16 => read!(u16),
        Dtype::Uint32 => read!(u32),
        Dtype::Uint64 => read!(u64),
        Dtype::Int8 => read!(i8),
        Dtype::Int16 => read!(i16),
        Dtype::Int32 => read!(i32),
        Dtype::Int64 => read!(i64),
        Dtype::Float16 => read!(half::f16, |v| half::f16::from_f32(v.parse().unwrap())),
        Dtype::Bfloat16 => read!(half::bf16, |v| half::bf16::from_f32(v.parse().unwrap())),
        Dtype::Float32 => read!(f32),
        Dtype::Float64 => read!(f64),
        Dtype::Complex64 => read!(Complex32, |v| {
            let (re, im) = v.split_once(',').unwrap();
            Complex32::new(re.parse().unwrap(), im.parse().unwrap())
        }),
    }
}
