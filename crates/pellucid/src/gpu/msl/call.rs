//! Calls: conversions, functions of Metal's library, functions of the header.

use super::emit::Emitter;
use super::expr::Value;
use super::tree::{Expr, Kind, Scalar, Type};
use super::types::{wgsl, widened};
use super::{Fault, Outcome};

/// Functions of floats, by Metal's names and WGSL's.
const REAL: [(&str, &str); 27] = [
    ("exp", "exp"),
    ("exp2", "exp2"),
    ("log", "log"),
    ("log2", "log2"),
    ("sqrt", "sqrt"),
    ("rsqrt", "inverseSqrt"),
    ("sin", "sin"),
    ("cos", "cos"),
    ("tan", "tan"),
    ("asin", "asin"),
    ("acos", "acos"),
    ("atan", "atan"),
    ("sinh", "sinh"),
    ("cosh", "cosh"),
    ("tanh", "tanh"),
    ("asinh", "asinh"),
    ("acosh", "acosh"),
    ("atanh", "atanh"),
    ("atan2", "atan2"),
    ("pow", "pow"),
    ("powr", "pow"),
    ("fma", "fma"),
    ("mix", "mix"),
    ("step", "step"),
    ("smoothstep", "smoothstep"),
    ("fract", "fract"),
    ("saturate", "saturate"),
];
/// Functions of floats whose results are whole.
const ROUNDED: [(&str, &str); 4] =
    [("floor", "floor"), ("ceil", "ceil"), ("trunc", "trunc"), ("rint", "round")];
/// Functions of any numbers that have one type together.
const ANY: [(&str, &str); 7] = [
    ("min", "min"),
    ("max", "max"),
    ("fmin", "min"),
    ("fmax", "max"),
    ("clamp", "clamp"),
    ("abs", "abs"),
    ("fabs", "abs"),
];
/// Functions of integers.
const BITS: [(&str, &str); 4] = [
    ("popcount", "countOneBits"),
    ("clz", "countLeadingZeros"),
    ("ctz", "countTrailingZeros"),
    ("reverse_bits", "reverseBits"),
];

fn listed(table: &[(&str, &'static str)], name: &str) -> Option<&'static str> {
    table.iter().find(|(metal, _)| *metal == name).map(|(_, wgsl)| *wgsl)
}

impl Emitter<'_> {
    /// A call of a function, or a conversion to a type.
    pub(super) fn call(
        &mut self,
        name: &str,
        templates: &[String],
        arguments: &[Expr],
        line: usize,
    ) -> Outcome<Value> {
        if let Some((base, member)) = name.split_once("::") {
            return self.limit(base, member, templates, line);
        }
        if name == "threadgroup_barrier" || name == "simdgroup_barrier" {
            self.has_barrier = true;
            return Ok(Value::new("workgroupBarrier()".to_owned(), Type::Void));
        }
        if let Some(refused) = refused(name) {
            return Err(Fault::new(line, format!("{name} is not translated: {refused}")));
        }
        if name == "elem_to_loc" {
            return self.elem_to_loc(arguments, line);
        }
        let mut values = Vec::new();
        for argument in arguments {
            values.push(self.value(argument)?);
        }
        match name {
            "static_cast" | "as_type" => {
                let one =
                    templates.first().ok_or_else(|| Fault::new(line, format!("{name} needs a type")))?;
                let ty = self.resolved(one, line)?;
                return if name == "as_type" {
                    reinterpreted(&values, &ty, one, line)
                } else {
                    made(&ty, &values, line)
                };
            }
            "vec" => {
                let size = templates.get(1).and_then(|n| n.parse().ok()).filter(|n| (2..=4).contains(n));
                let element = templates.first().map(|name| self.resolved(name, line)).transpose()?;
                let (Some(size), Some(Type::One(scalar))) = (size, element) else {
                    return Err(Fault::new(line, "vec needs a type and a size from 2 to 4".to_owned()));
                };
                return made(&Type::Vector(scalar, size), &values, line);
            }
            _ => {}
        }
        if self.functions.iter().any(|function| function.name == name) {
            return self.call_of_header(name, &values, line);
        }
        if let Ok(ty) = self.resolved(name, line) {
            return made(&ty, &values, line);
        }
        self.library(name, &values, line)
    }

    fn call_of_header(&mut self, name: &str, values: &[Value], line: usize) -> Outcome<Value> {
        let types: Vec<Type> = values.iter().map(|value| value.ty.clone()).collect();
        let (called, result) = self.instance(name, &types, line)?;
        let fits = |f: &&super::tree::Function| f.name == name && f.parameters.len() == values.len();
        let mut given = Vec::new();
        if let Some(function) = self.functions.iter().find(fits) {
            for ((ty, _), value) in function.parameters.iter().zip(values) {
                let named = ty.name.as_ref().filter(|name| !function.templates.contains(name));
                given.push(match named {
                    Some(named) => value.to(&self.resolved(named, line)?, line)?,
                    None => value.text.clone(),
                });
            }
        }
        Ok(Value::new(format!("{called}({})", given.join(", ")), result))
    }

    fn library(&mut self, name: &str, values: &[Value], line: usize) -> Outcome<Value> {
        let unknown = || Fault::new(line, format!("the function {name} is not known here"));
        let first = values.first().ok_or_else(unknown)?;
        let mut shared = first.ty.clone();
        for value in &values[1..] {
            let next = Value::new(String::new(), shared.clone());
            shared = self.shared_type(&next, value, line)?;
        }
        let size = if let Type::Vector(_, size) = shared { Some(size) } else { None };
        let typed = |scalar| size.map_or(Type::One(scalar), |size| Type::Vector(scalar, size));
        let as_type = |ty: &Type| -> Outcome<Vec<String>> { values.iter().map(|v| v.to(ty, line)).collect() };
        let real = typed(Scalar::Real);
        if let Some(found) = listed(&REAL, name).or_else(|| listed(&ROUNDED, name)) {
            return Ok(Value::new(format!("{found}({})", as_type(&real)?.join(", ")), real));
        }
        if let Some(found) = listed(&ANY, name) {
            let scalar = if name.starts_with('f') {
                Scalar::Real
            } else {
                widened(Value::new(String::new(), shared).scalar(line)?)
            };
            let ty = typed(scalar);
            return Ok(Value::new(format!("{found}({})", as_type(&ty)?.join(", ")), ty));
        }
        if let Some(found) = listed(&BITS, name) {
            let scalar = widened(first.scalar(line)?);
            if scalar == Scalar::Real {
                return Err(Fault::new(line, format!("{name} is for integers")));
            }
            let ty = typed(scalar);
            return Ok(Value::new(format!("{found}({})", as_type(&ty)?.join(", ")), ty));
        }
        let given = as_type(&real);
        let text = match (name, values.len()) {
            ("log10", 1) => format!("(log({}) * 0.4342944819f)", given?[0]),
            ("exp10", 1) => format!("exp({} * 2.302585093f)", given?[0]),
            ("round", 1) => {
                let x = given?.remove(0);
                format!("(sign({x}) * floor(abs({x}) + 0.5f))")
            }
            ("sign", 1) => format!("sign({})", given?[0]),
            ("fmod", 2) => {
                let given = given?;
                format!("({0} - {1} * trunc({0} / {1}))", given[0], given[1])
            }
            ("divide", 2) => {
                let given = given?;
                format!("({} / {})", given[0], given[1])
            }
            ("isnan" | "isinf" | "isfinite", 1) if size.is_none() => {
                let bits = format!("(bitcast<u32>({}) & 0x7fffffffu)", given?[0]);
                let sign = if name == "isnan" {
                    ">"
                } else if name == "isinf" {
                    "=="
                } else {
                    "<"
                };
                return Ok(Value::new(format!("({bits} {sign} 0x7f800000u)"), Type::One(Scalar::Bool)));
            }
            ("dot", 2) if size.is_some() => {
                return Ok(Value::new(format!("dot({})", given?.join(", ")), Type::One(Scalar::Real)));
            }
            ("length", 1) if size.is_some() => {
                return Ok(Value::new(format!("length({})", given?[0]), Type::One(Scalar::Real)));
            }
            ("select", 3) => {
                let ty = self.shared_type(&values[0], &values[1], line)?;
                let truth = values[2].to(&Type::One(Scalar::Bool), line)?;
                let text =
                    format!("select({}, {}, {truth})", values[0].to(&ty, line)?, values[1].to(&ty, line)?);
                return Ok(Value::new(text, ty));
            }
            _ => return Err(unknown()),
        };
        Ok(Value::new(text, real))
    }

    /// Inputs are row-major here, so the element of a number lies at that number.
    fn elem_to_loc(&mut self, arguments: &[Expr], line: usize) -> Outcome<Value> {
        let array = |expr: Option<&Expr>, end: &str| match expr.map(|expr| &expr.kind) {
            Some(Kind::Name(name)) => name.strip_suffix(end).map(str::to_owned),
            _ => None,
        };
        let (shape, strides) = (array(arguments.get(1), "_shape"), array(arguments.get(2), "_strides"));
        match (arguments.first(), shape, strides) {
            (Some(element), Some(a), Some(b)) if a == b && self.lookup(&format!("{a}_ndim")).is_some() => {
                let element = self.value(element)?;
                Ok(Value::new(element.to(&Type::One(Scalar::U32), line)?, Type::One(Scalar::U32)))
            }
            _ => Err(Fault::new(line, "elem_to_loc takes the shape and the strides of one array".to_owned())),
        }
    }

    /// `numeric_limits<T>::max()` and the like.
    fn limit(&mut self, base: &str, member: &str, templates: &[String], line: usize) -> Outcome<Value> {
        let unknown = || Fault::new(line, format!("{base}::{member} is not known here"));
        let name = templates.first().filter(|_| base == "numeric_limits").ok_or_else(unknown)?;
        let Type::One(scalar) = self.resolved(name, line)? else { return Err(unknown()) };
        if scalar == Scalar::Real {
            let real = |value: f32| Value::new(format!("({value:?}f)"), Type::One(Scalar::Real));
            return match member {
                "infinity" => Ok(self.special(0x7f80_0000)),
                "quiet_NaN" => Ok(self.special(0x7fc0_0000)),
                "max" => Ok(real(f32::MAX)),
                "lowest" => Ok(real(f32::MIN)),
                "min" => Ok(real(f32::MIN_POSITIVE)),
                "epsilon" => Ok(real(f32::EPSILON)),
                _ => Err(unknown()),
            };
        }
        let (least, most) = match scalar {
            Scalar::Bool => (0, 1),
            Scalar::I8 => (i64::from(i8::MIN), i64::from(i8::MAX)),
            Scalar::U8 => (0, i64::from(u8::MAX)),
            Scalar::I16 => (i64::from(i16::MIN), i64::from(i16::MAX)),
            Scalar::U16 => (0, i64::from(u16::MAX)),
            Scalar::I32 => (i64::from(i32::MIN), i64::from(i32::MAX)),
            Scalar::U32 => (0, i64::from(u32::MAX)),
            _ => return Err(unknown()),
        };
        match member {
            "max" => Ok(Value::known(most, scalar)),
            "min" | "lowest" => Ok(Value::known(least, scalar)),
            _ => Err(unknown()),
        }
    }
}

/// Why a function is left to the user.
fn refused(name: &str) -> Option<&'static str> {
    if name.starts_with("simd_") || name.starts_with("quad_") {
        Some("how many threads go together differs between GPUs; exchange values in threadgroup memory")
    } else if name.starts_with("atomic_") {
        Some("arrays here are not atomic; let one thread make each element")
    } else if name == "reinterpret_cast" {
        Some("an array keeps its element type")
    } else {
        None
    }
}

/// A value of a type from other values.
fn made(ty: &Type, values: &[Value], line: usize) -> Outcome<Value> {
    match (ty, values) {
        (Type::One(_), []) | (Type::Vector(..), []) => {
            let zero = Value::known(0, Scalar::I32);
            Ok(Value::new(zero.to(ty, line)?, ty.clone()))
        }
        (Type::One(scalar), [one]) if !matches!(one.ty, Type::Vector(..)) => {
            let known = one.known.filter(|_| *scalar != Scalar::Real);
            let text = one.to(ty, line)?;
            let same = known.filter(|k| super::types::literal(*k, *scalar) == text);
            Ok(Value { known: same, ..Value::new(text, ty.clone()) })
        }
        (Type::Vector(..), [one]) => Ok(Value::new(one.to(ty, line)?, ty.clone())),
        (Type::Vector(scalar, size), many) => {
            let mut parts = Vec::new();
            let mut count = 0;
            for value in many {
                let part = match value.ty {
                    Type::Vector(_, n) => {
                        count += n;
                        Type::Vector(*scalar, n)
                    }
                    _ => {
                        count += 1;
                        Type::One(*scalar)
                    }
                };
                parts.push(value.to(&part, line)?);
            }
            if count != *size {
                return Err(Fault::new(
                    line,
                    format!("a vector of {size} is made from {size} elements, not {count}"),
                ));
            }
            Ok(Value::new(format!("vec{size}<{}>({})", wgsl(*scalar), parts.join(", ")), ty.clone()))
        }
        _ => Err(Fault::new(line, "a conversion takes one value".to_owned())),
    }
}

/// The bits of a value as another type of 32 bits.
fn reinterpreted(values: &[Value], ty: &Type, name: &str, line: usize) -> Outcome<Value> {
    let wide = |scalar: Scalar| matches!(scalar, Scalar::I32 | Scalar::U32 | Scalar::Real);
    match (values, ty) {
        ([value], Type::One(to))
            if wide(*to) && wide(value.scalar(line)?) && !name.contains("half") && !name.contains("16") =>
        {
            Ok(Value::new(format!("bitcast<{}>({})", wgsl(*to), value.text), ty.clone()))
        }
        _ => Err(Fault::new(line, "as_type is understood between types of 32 bits".to_owned())),
    }
}
