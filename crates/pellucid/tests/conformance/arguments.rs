//! The arguments of a check that are not arrays, by mlx's names.

use pellucid::op::Scalar;
use pellucid::ops::{Index, PadMode, PadWidth};
use pellucid::{Array, Axes, Dtype};
use serde_json::Value;

pub struct Arguments<'a>(&'a Value);

impl<'a> Arguments<'a> {
    pub fn new(value: &'a Value) -> Arguments<'a> {
        Arguments(value)
    }

    fn get(&self, name: &str) -> Option<&'a Value> {
        self.0.get(name).filter(|v| !v.is_null())
    }

    pub fn has(&self, name: &str) -> bool {
        self.get(name).is_some()
    }

    pub fn int(&self, name: &str, default: i64) -> i64 {
        self.get(name).map_or(default, |v| v.as_i64().unwrap())
    }

    pub fn count(&self, name: &str) -> usize {
        self.get(name).unwrap().as_u64().unwrap() as usize
    }

    pub fn word(&self, name: &str) -> u64 {
        self.get(name).unwrap().as_u64().unwrap()
    }

    pub fn float(&self, name: &str, default: f64) -> f64 {
        self.get(name).map_or(default, |v| v.as_f64().unwrap())
    }

    pub fn maybe_float(&self, name: &str) -> Option<f64> {
        self.get(name).map(|v| v.as_f64().unwrap())
    }

    pub fn flag(&self, name: &str, default: bool) -> bool {
        self.get(name).map_or(default, |v| v.as_bool().unwrap())
    }

    pub fn text(&self, name: &str) -> &'a str {
        self.get(name).and_then(Value::as_str).unwrap_or_default()
    }

    /// A plain number, as the program would write it.
    pub fn number(&self, name: &str) -> Scalar {
        match self.get(name).unwrap() {
            Value::Bool(v) => Scalar::Bool(*v),
            Value::Number(v) if v.is_f64() => Scalar::Float(v.as_f64().unwrap()),
            Value::Number(v) => Scalar::Int(v.as_i64().unwrap()),
            other => panic!("{name} is {other}, not a number"),
        }
    }

    pub fn dtype(&self) -> Option<Dtype> {
        self.get("dtype").map(|v| v.as_str().unwrap().parse().unwrap())
    }

    pub fn axis(&self, name: &str) -> Option<i64> {
        self.get(name).map(|v| v.as_i64().unwrap())
    }

    pub fn axes(&self, name: &str) -> Axes {
        match self.get(name) {
            None => Axes::All,
            Some(Value::Array(_)) => Axes::from(self.ints(name)),
            Some(one) => Axes::from(one.as_i64().unwrap()),
        }
    }

    pub fn ints(&self, name: &str) -> Vec<i64> {
        ints(self.get(name).unwrap())
    }

    pub fn int_lists(&self, name: &str) -> Vec<Vec<i64>> {
        self.get(name).unwrap().as_array().unwrap().iter().map(ints).collect()
    }

    pub fn is_list(&self, name: &str) -> bool {
        self.get(name).is_some_and(Value::is_array)
    }

    pub fn shape(&self, name: &str) -> Vec<usize> {
        self.ints(name).into_iter().map(|d| d as usize).collect()
    }

    pub fn pad_width(&self) -> PadWidth {
        let width = |v: &Value| v.as_u64().unwrap() as usize;
        let pair = |v: &Value| (width(&v[0]), width(&v[1]));
        let value = self.get("pad_width").unwrap();
        match value.as_array() {
            None => PadWidth::from(width(value)),
            Some(list) if list[0].is_array() => PadWidth::from(list.iter().map(pair).collect::<Vec<_>>()),
            Some(_) => PadWidth::from(pair(value)),
        }
    }

    pub fn pad_mode(&self) -> PadMode {
        match self.text("mode") {
            "edge" => PadMode::Edge,
            "reflect" => PadMode::Reflect,
            "symmetric" => PadMode::Symmetric,
            _ => PadMode::Constant,
        }
    }

    /// `1:5:2 -1 None ... @1` as indices; `@1` is the second input.
    pub fn indices(&self, inputs: &[Array]) -> Vec<Index> {
        let one = |word: &str| match word {
            "None" => Index::NewAxis,
            "..." => Index::Ellipsis,
            _ if word.starts_with('@') => Index::from(&inputs[word[1..].parse::<usize>().unwrap()]),
            _ if word.contains(':') => {
                let mut parts = word.split(':').map(|part| part.parse::<i64>().ok());
                let (start, stop) = (parts.next().flatten(), parts.next().flatten());
                Index::step(start, stop, parts.next().flatten().unwrap_or(1))
            }
            _ => Index::Int(word.parse().unwrap()),
        };
        self.text("at").split_whitespace().map(one).collect()
    }
}

fn ints(value: &Value) -> Vec<i64> {
    value.as_array().unwrap().iter().map(|v| v.as_i64().unwrap()).collect()
}
