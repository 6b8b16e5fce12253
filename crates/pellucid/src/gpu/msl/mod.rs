//! Kernels in Metal's language, as WGSL: what kernels of arrays are written in, with C's rules for types, translated for
//! the arrays of one call. `lex` and `parse` read the text, `emit` and its neighbours write it anew.

mod call;
mod emit;
mod expr;
mod lex;
mod parse;
#[cfg(test)]
mod tests;
mod tree;
mod types;

pub(super) use emit::Setting;
use tree::Scalar;

/// Something in the text that cannot be translated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Fault {
    pub line: usize,
    pub message: String,
    /// Whether the line is one of the header.
    pub in_header: bool,
}

impl Fault {
    fn new(line: usize, message: String) -> Fault {
        Fault { line, message, in_header: false }
    }
}

type Outcome<T> = Result<T, Fault>;

/// What a name of a template stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Given {
    Type(Scalar),
    Whole(i64),
    Truth(bool),
}

/// An array as the text sees it.
#[derive(Clone, Debug)]
pub(super) struct Seen<'a> {
    pub name: &'a str,
    pub element: Scalar,
    pub shape: &'a [usize],
    pub is_output: bool,
}

/// The translation.
#[derive(Clone, Debug)]
pub(super) struct Translated {
    pub header: String,
    pub body: String,
}

/// Translates the text of a kernel for the arrays and the launch of one call.
pub(super) fn translate(source: &str, header: &str, setting: &Setting) -> Outcome<Translated> {
    let in_header = |fault: Fault| Fault { in_header: true, ..fault };
    let types: Vec<String> = setting
        .templates
        .iter()
        .filter(|(_, given)| matches!(given, Given::Type(_)))
        .map(|(name, _)| name.clone())
        .collect();
    let words = lex::words(header).map_err(in_header)?;
    let (functions, constants) = parse::Parser::new(&words, types.clone()).header().map_err(in_header)?;
    let words = lex::words(source)?;
    let body = parse::Parser::new(&words, types).body()?;
    emit::kernel(setting, &functions, &constants, &body)
}

/// The element type that stands for one of the library's; `None` for complex numbers and float64.
pub(super) fn element_of(dtype: crate::Dtype) -> Option<Scalar> {
    use crate::Dtype;
    Some(match dtype {
        Dtype::Bool => Scalar::Bool,
        Dtype::Int8 => Scalar::I8,
        Dtype::Uint8 => Scalar::U8,
        Dtype::Int16 => Scalar::I16,
        Dtype::Uint16 => Scalar::U16,
        Dtype::Int32 => Scalar::I32,
        Dtype::Uint32 => Scalar::U32,
        Dtype::Int64 => Scalar::I64,
        Dtype::Uint64 => Scalar::U64,
        Dtype::Float16 | Dtype::Bfloat16 | Dtype::Float32 => Scalar::Real,
        Dtype::Float64 | Dtype::Complex64 => return None,
    })
}

/// The type in which an array of elements is handed to the kernel.
pub(super) fn carrier(element: Scalar) -> crate::Dtype {
    use crate::Dtype;
    match element {
        Scalar::I8 | Scalar::I16 | Scalar::I32 => Dtype::Int32,
        Scalar::Bool | Scalar::U8 | Scalar::U16 | Scalar::U32 => Dtype::Uint32,
        Scalar::I64 => Dtype::Int64,
        Scalar::U64 => Dtype::Uint64,
        Scalar::Real => Dtype::Float32,
    }
}
