//! The header of a `.npy` file: a Python dictionary that says type, order and shape.

use crate::array::{Dtype, Shape};

/// The first bytes of every `.npy` file.
pub(super) const MAGIC: &[u8] = b"\x93NUMPY";
/// Data begins at a multiple of this, so that it can be mapped into memory.
const ALIGN: usize = 64;
/// The longest header that is read: as long as one of version 1 can be, and far longer than that of any array. What a
/// file claims beyond it is only there to be read.
pub(super) const LONGEST: u64 = u16::MAX as u64;
/// NumPy leaves room for the first axis to grow to so many digits without moving the data.
const GROWTH_DIGITS: usize = 21;

/// What a header says.
#[derive(Debug, PartialEq)]
pub(super) struct Header {
    pub dtype: Dtype,
    /// Whether the bytes of a number are in the other order than this machine's.
    pub foreign_order: bool,
    /// Column-major: the first axis varies fastest.
    pub fortran_order: bool,
    pub shape: Shape,
}

/// Everything before the elements, byte for byte as NumPy writes it for row-major elements in this machine's order.
pub(super) fn to_bytes(dtype: Dtype, shape: &[usize]) -> Vec<u8> {
    let dims: Vec<String> = shape.iter().map(usize::to_string).collect();
    let tuple = match dims.as_slice() {
        [one] => format!("({one},)"),
        many => format!("({})", many.join(", ")),
    };
    let mut text = format!("{{'descr': '{}', 'fortran_order': False, 'shape': {tuple}, }}", descr(dtype));
    if let Some(first) = dims.first() {
        text.extend(std::iter::repeat_n(' ', GROWTH_DIGITS.saturating_sub(first.len())));
    }
    // The length field has two bytes in version 1 and four in version 2.
    let short = text.len() + ALIGN <= usize::from(u16::MAX);
    let before = MAGIC.len() + 2 + if short { 2 } else { 4 };
    let padding = ALIGN - (before + text.len() + 1) % ALIGN;
    text.extend(std::iter::repeat_n(' ', padding));
    text.push('\n');
    let mut bytes = MAGIC.to_vec();
    if short {
        bytes.extend([1, 0]);
        bytes.extend((text.len() as u16).to_le_bytes());
    } else {
        bytes.extend([2, 0]);
        bytes.extend((text.len() as u32).to_le_bytes());
    }
    bytes.extend(text.into_bytes());
    bytes
}

/// NumPy's code of a type. It has none for `bfloat16`; like MLX and ml_dtypes, two opaque bytes stand for it.
fn descr(dtype: Dtype) -> String {
    let order = match dtype.size() {
        1 => '|',
        _ if cfg!(target_endian = "little") => '<',
        _ => '>',
    };
    let kind = match dtype {
        Dtype::Bool => 'b',
        Dtype::Bfloat16 => 'V',
        Dtype::Complex64 => 'c',
        _ if dtype.is_unsigned_integer() => 'u',
        _ if dtype.is_signed_integer() => 'i',
        _ => 'f',
    };
    format!("{order}{kind}{}", dtype.size())
}

/// The type a code stands for, and whether its byte order is not this machine's.
fn parse_descr(code: &str) -> Result<(Dtype, bool), String> {
    let (order, name) = match code.split_at_checked(1) {
        Some((order @ ("<" | ">" | "|" | "="), name)) => (order, name),
        _ => ("=", code),
    };
    let known = |dtype: &Dtype| descr(*dtype)[1..] == *name;
    let Some(dtype) = Dtype::ALL.into_iter().find(known) else {
        let advice = match name {
            "c16" => "; save it as complex64",
            "f16" => "; save it as float64",
            "O" => "; it holds Python objects, save numbers instead",
            _ => "",
        };
        return Err(format!("the element type {code:?} is not supported{advice}"));
    };
    let foreign = if cfg!(target_endian = "little") { ">" } else { "<" };
    Ok((dtype, order == foreign && dtype.size() > 1))
}

/// Reads the dictionary.
pub(super) fn parse(text: &[u8]) -> Result<Header, String> {
    let mut parser = Parser { text, at: 0 };
    let (mut kind, mut order, mut shape) = (None, None, None);
    parser.expect(b'{')?;
    while !parser.accept(b'}') {
        let key = parser.string()?;
        parser.expect(b':')?;
        match key.as_str() {
            "descr" if matches!(parser.peek(), Some(b'[' | b'(')) => {
                return Err(
                    "structured element types are not supported; save each field on its own".to_owned()
                );
            }
            "descr" => kind = Some(parse_descr(&parser.string()?)?),
            "fortran_order" => order = Some(parser.boolean()?),
            "shape" => shape = Some(parser.tuple()?),
            other => return Err(format!("the header has an unknown entry {other:?}")),
        }
        if !parser.accept(b',') {
            parser.expect(b'}')?;
            break;
        }
    }
    if let Some(byte) = parser.peek() {
        return Err(parser.wrong(&format!("the end, not {:?}", byte as char)));
    }
    let (dtype, foreign_order) = kind.ok_or("the header has no 'descr'")?;
    let fortran_order = order.ok_or("the header has no 'fortran_order'")?;
    let shape = shape.ok_or("the header has no 'shape'")?;
    Ok(Header { dtype, foreign_order, fortran_order, shape })
}

struct Parser<'a> {
    text: &'a [u8],
    at: usize,
}

impl Parser<'_> {
    fn wrong(&self, expected: &str) -> String {
        format!("the header is damaged at its byte {}: expected {expected}", self.at)
    }

    /// The next byte that is not white space.
    fn peek(&mut self) -> Option<u8> {
        while self.text.get(self.at).is_some_and(u8::is_ascii_whitespace) {
            self.at += 1;
        }
        self.text.get(self.at).copied()
    }

    fn accept(&mut self, byte: u8) -> bool {
        let there = self.peek() == Some(byte);
        self.at += usize::from(there);
        there
    }

    fn expect(&mut self, byte: u8) -> Result<(), String> {
        if self.accept(byte) { Ok(()) } else { Err(self.wrong(&format!("{:?}", byte as char))) }
    }

    fn string(&mut self) -> Result<String, String> {
        let quote =
            self.peek().filter(|b| matches!(b, b'\'' | b'"')).ok_or_else(|| self.wrong("a string"))?;
        let rest = &self.text[self.at + 1..];
        let end = rest.iter().position(|&b| b == quote).ok_or_else(|| self.wrong("the end of a string"))?;
        self.at += end + 2;
        Ok(rest[..end].escape_ascii().to_string())
    }

    fn boolean(&mut self) -> Result<bool, String> {
        self.peek();
        for (name, value) in [("True", true), ("False", false)] {
            if self.text[self.at..].starts_with(name.as_bytes()) {
                self.at += name.len();
                return Ok(value);
            }
        }
        Err(self.wrong("True or False"))
    }

    fn tuple(&mut self) -> Result<Shape, String> {
        self.expect(b'(')?;
        let mut shape = Shape::default();
        while !self.accept(b')') {
            if shape.len() == Shape::MAX_AXES {
                return Err(format!("the header has more than {} axes", Shape::MAX_AXES));
            }
            shape.push(self.number()?);
            // Files of Python 2 may say 3L.
            self.accept(b'L');
            if !self.accept(b',') {
                self.expect(b')')?;
                break;
            }
        }
        Ok(shape)
    }

    fn number(&mut self) -> Result<usize, String> {
        self.peek();
        let digits = self.text[self.at..].iter().take_while(|b| b.is_ascii_digit()).count();
        let text = std::str::from_utf8(&self.text[self.at..self.at + digits]).unwrap_or_default();
        let size = text.parse().map_err(|_| self.wrong("the size of an axis"))?;
        self.at += digits;
        Ok(size)
    }
}
