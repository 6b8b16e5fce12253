//! The small part of NumPy's file format that traces use: version 1 headers of arrays in row-major order.

use crate::{Error, Result};

/// Element types by their names in the tables, with NumPy's spelling and the size of an element.
/// NumPy has no bfloat16: its bits are stored as `uint16`.
const TYPES: [(&str, &str, u64); 14] = [
    ("bool", "|b1", 1),
    ("uint8", "|u1", 1),
    ("uint16", "<u2", 2),
    ("uint32", "<u4", 4),
    ("uint64", "<u8", 8),
    ("int8", "|i1", 1),
    ("int16", "<i2", 2),
    ("int32", "<i4", 4),
    ("int64", "<i8", 8),
    ("float16", "<f2", 2),
    ("bfloat16", "<u2", 2),
    ("float32", "<f4", 4),
    ("float64", "<f8", 8),
    ("complex64", "<c8", 8),
];

/// Bytes of one element of a type of the tables, if there is such a type.
pub(crate) fn element_bytes(dtype: &str) -> Option<u64> {
    TYPES.iter().find(|(name, ..)| *name == dtype).map(|(_, _, bytes)| *bytes)
}

/// The header of a file that holds `shape` elements of `dtype`.
pub(crate) fn header(dtype: &str, shape: &[u64]) -> Option<Vec<u8>> {
    let (_, descr, _) = TYPES.iter().find(|(name, ..)| *name == dtype)?;
    let mut dims = shape.iter().map(u64::to_string).collect::<Vec<_>>().join(", ");
    if shape.len() == 1 {
        dims.push(',');
    }
    let mut text = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': ({dims}), }}");
    let length = (10 + text.len() + 1).next_multiple_of(64);
    while 10 + text.len() + 1 < length {
        text.push(' ');
    }
    text.push('\n');
    let mut header = b"\x93NUMPY\x01\x00".to_vec();
    header.extend_from_slice(&u16::try_from(text.len()).ok()?.to_le_bytes());
    header.extend_from_slice(text.as_bytes());
    Some(header)
}

/// An array from a trace.
#[derive(Clone, Debug, PartialEq)]
pub struct TensorData {
    /// NumPy's spelling of the element type, e.g. `<f4`.
    pub descr: String,
    /// Its shape.
    pub shape: Vec<u64>,
    /// The elements in row-major order, little-endian.
    pub data: Vec<u8>,
}

/// Reads a whole file; `member` is named in errors.
pub(crate) fn parse(member: &str, mut bytes: Vec<u8>) -> Result<TensorData> {
    let damaged = |reason: String| Error::Damaged { member: member.to_owned(), reason };
    let found = parse_header(&bytes).map_err(damaged)?;
    let (descr, shape, start) = found;
    let element = TYPES
        .iter()
        .find(|(_, known, _)| *known == descr)
        .map(|(_, _, bytes)| *bytes)
        .ok_or_else(|| damaged(format!("the element type {descr:?} is not one of a trace")))?;
    let expected = shape.iter().try_fold(element, |size, dim| size.checked_mul(*dim));
    let actual = (bytes.len() - start) as u64;
    if expected != Some(actual) {
        return Err(damaged(format!("shape {shape:?} of {descr} does not fit {actual} bytes of elements")));
    }
    bytes.drain(..start);
    Ok(TensorData { descr, shape, data: bytes })
}

fn parse_header(bytes: &[u8]) -> Result<(String, Vec<u64>, usize), String> {
    let rest = bytes.strip_prefix(b"\x93NUMPY\x01\x00").ok_or("not a version 1 file of NumPy")?;
    let length = rest.get(..2).ok_or("the header is cut short")?;
    let start = 10 + usize::from(u16::from_le_bytes([length[0], length[1]]));
    let text = bytes.get(10..start).ok_or("the header is cut short")?;
    let text = std::str::from_utf8(text).map_err(|_| "the header is not text")?;
    let after = |key: &str| {
        let at = text.find(key).ok_or_else(|| format!("the header has no {key}"))?;
        text[at + key.len()..]
            .trim_start()
            .strip_prefix(':')
            .map(str::trim_start)
            .ok_or("the header is malformed")
            .map_err(str::to_owned)
    };
    if !after("'fortran_order'")?.starts_with("False") {
        return Err("the array is not in row-major order".into());
    }
    let descr = after("'descr'")?.strip_prefix('\'').and_then(|text| text.split('\'').next());
    let descr = descr.ok_or("the element type is malformed")?.to_owned();
    let dims = after("'shape'")?.strip_prefix('(').and_then(|text| text.split_once(')'));
    let (dims, _) = dims.ok_or("the shape is malformed")?;
    let shape = dims.split(',').map(str::trim).filter(|dim| !dim.is_empty());
    let shape = shape
        .map(|dim| dim.parse().map_err(|_| format!("{dim:?} is not a length")))
        .collect::<Result<_, _>>()?;
    Ok((descr, shape, start))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_are_read_back() {
        for (dtype, descr, element) in TYPES {
            for shape in [vec![], vec![3], vec![2, 0, 5], vec![1; 30]] {
                let mut file = header(dtype, &shape).unwrap();
                assert_eq!(file.len() % 64, 0);
                let size = element * shape.iter().product::<u64>();
                file.extend(std::iter::repeat_n(7, size as usize));
                let tensor = parse("t", file).unwrap();
                assert_eq!((tensor.descr.as_str(), &tensor.shape), (descr, &shape));
                assert_eq!(tensor.data.len() as u64, size);
            }
        }
    }

    #[test]
    fn a_shape_that_does_not_fit_is_refused() {
        let mut file = header("float32", &[1 << 40, 1 << 40]).unwrap();
        file.extend([0; 16]);
        let error = parse("tensors/1.npy", file).unwrap_err().to_string();
        assert!(error.contains("does not fit 16 bytes"), "{error}");
    }
}
