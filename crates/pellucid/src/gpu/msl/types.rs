//! Types of Metal's language, what stands for them in WGSL, and how one becomes another.

use super::tree::{Scalar, Type};

/// The element type of a name, if it is one.
pub(super) fn scalar(name: &str) -> Option<Scalar> {
    Some(match name {
        "bool" => Scalar::Bool,
        "char" | "int8_t" => Scalar::I8,
        "uchar" | "uint8_t" => Scalar::U8,
        "short" | "int16_t" => Scalar::I16,
        "ushort" | "uint16_t" => Scalar::U16,
        "int" | "int32_t" => Scalar::I32,
        "uint" | "uint32_t" => Scalar::U32,
        "long" | "int64_t" | "ptrdiff_t" => Scalar::I64,
        "ulong" | "uint64_t" | "size_t" => Scalar::U64,
        "float" | "half" | "bfloat" | "float16_t" | "bfloat16_t" => Scalar::Real,
        _ => return None,
    })
}

/// The type of a name: an element, or two to four of them.
pub(super) fn named(name: &str) -> Option<Type> {
    if name == "void" {
        return Some(Type::Void);
    }
    if let Some(scalar) = scalar(name) {
        return Some(Type::One(scalar));
    }
    let (base, size) = name.split_at_checked(name.len().checked_sub(1)?)?;
    let size: u8 = size.parse().ok().filter(|n| (2..=4).contains(n))?;
    scalar(base).filter(|s| vector_element(*s)).map(|scalar| Type::Vector(scalar, size))
}

fn vector_element(scalar: Scalar) -> bool {
    matches!(scalar, Scalar::Bool | Scalar::I32 | Scalar::U32 | Scalar::Real)
}

pub(super) fn is_type(name: &str) -> bool {
    named(name).is_some()
}

/// What stands for an element type in WGSL.
pub(super) fn wgsl(scalar: Scalar) -> &'static str {
    match scalar {
        Scalar::Bool => "bool",
        Scalar::I8 | Scalar::I16 | Scalar::I32 => "i32",
        Scalar::U8 | Scalar::U16 | Scalar::U32 => "u32",
        Scalar::I64 => "i64",
        Scalar::U64 => "u64",
        Scalar::Real => "f32",
    }
}

/// What stands for a type in WGSL; a place in an array is its distance from the first element.
pub(super) fn wgsl_type(ty: &Type) -> String {
    match ty {
        Type::Void => String::new(),
        Type::One(scalar) => wgsl(*scalar).to_owned(),
        Type::Vector(scalar, size) => format!("vec{size}<{}>", wgsl(*scalar)),
        Type::Place(..) => "u32".to_owned(),
        Type::Array(scalar, length) => format!("array<{}, {length}>", wgsl(*scalar)),
    }
}

/// A number of a type, as WGSL writes it.
pub(super) fn literal(value: i64, scalar: Scalar) -> String {
    match scalar {
        Scalar::Bool => (value != 0).to_string(),
        Scalar::Real => format!("{:?}f", value as f32),
        Scalar::I8 | Scalar::I16 | Scalar::I32 if value == i64::from(i32::MIN) => {
            "(-2147483647i - 1i)".to_owned()
        }
        Scalar::I8 | Scalar::I16 | Scalar::I32 => bracketed(value, format!("{}i", value as i32)),
        Scalar::U8 | Scalar::U16 | Scalar::U32 => format!("{}u", value as u32),
        Scalar::I64 => bracketed(value, format!("{value}li")),
        Scalar::U64 => format!("{}lu", value as u64),
    }
}

fn bracketed(value: i64, text: String) -> String {
    if value < 0 { format!("({text})") } else { text }
}

/// A value of one element type as another, as C converts it.
pub(super) fn converted(text: &str, from: Scalar, to: Scalar) -> String {
    if from == to {
        return text.to_owned();
    }
    if to == Scalar::Bool {
        return format!("({text} != {})", literal(0, widened(from)));
    }
    if from == Scalar::Bool {
        let wide = widened(to);
        return format!("select({}, {}, {text})", literal(0, wide), literal(1, wide));
    }
    let wide = if wgsl(from) == wgsl(to) { text.to_owned() } else { format!("{}({text})", wgsl(to)) };
    match to {
        Scalar::I8 => format!("(({wide} << 24u) >> 24u)"),
        Scalar::I16 if from != Scalar::I8 && from != Scalar::U8 => format!("(({wide} << 16u) >> 16u)"),
        Scalar::U8 => format!("({wide} & 255u)"),
        Scalar::U16 if from != Scalar::U8 => format!("({wide} & 65535u)"),
        _ => wide,
    }
}

/// The type that small integers are computed in.
pub(super) fn widened(scalar: Scalar) -> Scalar {
    match scalar {
        Scalar::Bool | Scalar::I8 | Scalar::U8 | Scalar::I16 | Scalar::U16 => Scalar::I32,
        other => other,
    }
}

/// The type that two element types are computed in together.
pub(super) fn common(a: Scalar, b: Scalar) -> Scalar {
    let rank = |scalar| match widened(scalar) {
        Scalar::Real => 4,
        Scalar::U64 => 3,
        Scalar::I64 => 2,
        Scalar::U32 => 1,
        _ => 0,
    };
    if rank(a) >= rank(b) { widened(a) } else { widened(b) }
}
