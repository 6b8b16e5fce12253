//! Printing in MLX's layout: `array([[1, 2],\n       [3, 4]], dtype=int32)`.
//!
//! Only the shown elements are read, so the size of an array does not matter.

use std::fmt::{self, Write};
use std::sync::atomic::{AtomicI16, Ordering};

use super::{Array, HostView};
use crate::op::Scalar;

/// Axes longer than twice this show only so many positions at each end.
const EDGE: usize = 3;
/// Length of `array(` and the first bracket: where the next line of a matrix begins.
const INDENT: usize = 7;

/// Places after the point, or -1 for the default notation.
static PRECISION: AtomicI16 = AtomicI16::new(-1);

/// How arrays are printed; see [`set_print_options`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct PrintOptions {
    /// Places after the point. `None`, the default, shows six significant digits, with an exponent where it is shorter.
    pub precision: Option<u8>,
}

impl PrintOptions {
    /// With this many places after the point.
    pub fn with_precision(self, precision: u8) -> PrintOptions {
        PrintOptions { precision: Some(precision) }
    }
}

/// How arrays are printed now.
///
/// ```
/// use pellucid::array::{PrintOptions, print_options};
/// assert_eq!(print_options(), PrintOptions::default());
/// ```
pub fn print_options() -> PrintOptions {
    PrintOptions { precision: u8::try_from(PRECISION.load(Ordering::Relaxed)).ok() }
}

/// Sets how arrays are printed from now on, in every thread, and returns what was set before. A precision in the format
/// string, as in `{:.3}`, goes first.
///
/// ```standalone_crate
/// use pellucid::Array;
/// use pellucid::array::{PrintOptions, set_print_options};
/// let before = set_print_options(PrintOptions::default().with_precision(2));
/// assert_eq!(Array::from([1.0f32]).to_string(), "array([1.00], dtype=float32)");
/// set_print_options(before);
/// assert_eq!(Array::from([1.0f32]).to_string(), "array([1], dtype=float32)");
/// ```
pub fn set_print_options(options: PrintOptions) -> PrintOptions {
    let precision = options.precision.map_or(-1, i16::from);
    PrintOptions { precision: u8::try_from(PRECISION.swap(precision, Ordering::Relaxed)).ok() }
}

impl fmt::Display for Array {
    /// Evaluates the array and shows its elements; the error in angle brackets if that is not possible.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let view = match HostView::new(self) {
            Ok(view) => view,
            Err(error) => return write!(f, "<{error}>"),
        };
        let precision = f.precision().or(print_options().precision.map(usize::from));
        let empty = self.shape().iter().position(|&size| size == 0);
        let axes = &self.shape()[..empty.unwrap_or(self.ndim())];
        f.write_str("array(")?;
        Printer { view, axes, empty: empty.is_some(), precision }.print(f)?;
        write!(f, ", dtype={})", self.dtype())
    }
}

/// Walks the shown elements without recursion: an array may have any number of axes.
struct Printer<'a> {
    view: HostView,
    /// The axes before the first empty one, which is shown as `[]`; all if there is none.
    axes: &'a [usize],
    empty: bool,
    precision: Option<usize>,
}

impl Printer<'_> {
    fn print(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut index = vec![0; self.axes.len()];
        repeat(f, '[', self.axes.len())?;
        loop {
            if self.empty {
                f.write_str("[]")?;
            } else {
                element(f, self.view.element(&index), self.precision)?;
            }
            // The innermost axis that goes on; those inside it begin again.
            let Some(axis) = (0..index.len()).rev().find(|&axis| index[axis] + 1 < self.axes[axis]) else {
                return repeat(f, ']', self.axes.len());
            };
            let (inside, size) = (index.len() - 1 - axis, self.axes[axis]);
            repeat(f, ']', inside)?;
            self.separator(f, axis)?;
            index[axis] += 1;
            if index[axis] == EDGE && size > 2 * EDGE {
                index[axis] = size - EDGE;
                f.write_str("...")?;
                self.separator(f, axis)?;
            }
            index[axis + 1..].fill(0);
            repeat(f, '[', inside)?;
        }
    }

    fn separator(&self, f: &mut fmt::Formatter<'_>, axis: usize) -> fmt::Result {
        if axis + 1 == self.axes.len() && !self.empty {
            return f.write_str(", ");
        }
        f.write_str(",\n")?;
        repeat(f, ' ', INDENT + axis)
    }
}

fn repeat(f: &mut fmt::Formatter<'_>, c: char, count: usize) -> fmt::Result {
    (0..count).try_for_each(|_| f.write_char(c))
}

fn element(f: &mut fmt::Formatter<'_>, value: Scalar, precision: Option<usize>) -> fmt::Result {
    match value {
        Scalar::Bool(v) => f.write_str(if v { "True" } else { "False" }),
        Scalar::Int(v) => write!(f, "{v}"),
        Scalar::Uint(v) => write!(f, "{v}"),
        Scalar::Float(v) => number(f, v, precision),
        Scalar::Complex(re, im) => {
            number(f, re, precision)?;
            if im >= 0.0 || im.is_nan() {
                f.write_char('+')?;
            }
            number(f, im, precision)?;
            f.write_char('j')
        }
    }
}

/// A real number as C's `%.6g` writes it, or with so many places after the point.
fn number(f: &mut fmt::Formatter<'_>, v: f64, precision: Option<usize>) -> fmt::Result {
    if v.is_nan() {
        return f.write_str("nan");
    }
    if v.is_infinite() {
        return f.write_str(if v > 0.0 { "inf" } else { "-inf" });
    }
    if let Some(places) = precision {
        return write!(f, "{v:.places$}");
    }
    // Six digits and the exponent after rounding to them.
    let text = format!("{v:.5e}");
    let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if (-4..6).contains(&exponent) {
        let places = (5 - exponent) as usize;
        f.write_str(without_zeros(&format!("{v:.places$}")))
    } else {
        let sign = if exponent < 0 { '-' } else { '+' };
        write!(f, "{}e{sign}{:02}", without_zeros(digits), exponent.abs())
    }
}

fn without_zeros(text: &str) -> &str {
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::array::Shape;
    use half::{bf16, f16};
    use num_complex::Complex32;

    fn counting(shape: impl Into<Shape>) -> Array {
        let shape = shape.into();
        Array::from_vec((0..shape.elements() as i32).collect(), shape)
    }

    /// Every text of this test is what MLX 0.32 prints.
    #[test]
    fn arrays_look_as_in_mlx() {
        let c = Complex32::new;
        let cases: Vec<(Array, &str)> = vec![
            (Array::from(5), "array(5, dtype=int32)"),
            (Array::from([true, false]), "array([True, False], dtype=bool)"),
            (Array::from([200u8]), "array([200], dtype=uint8)"),
            (Array::from([u64::MAX]), "array([18446744073709551615], dtype=uint64)"),
            (Array::from([[1, 200], [3, 4]]), "array([[1, 200],\n       [3, 4]], dtype=int32)"),
            (Array::from([2.7f32, 1.0 / 3.0]), "array([2.7, 0.333333], dtype=float32)"),
            (
                Array::from([2.7f32, 1.0 / 3.0].map(f16::from_f32)),
                "array([2.69922, 0.333252], dtype=float16)",
            ),
            (
                Array::from([2.7f32, 1.0 / 3.0].map(bf16::from_f32)),
                "array([2.70312, 0.333984], dtype=bfloat16)",
            ),
            (Array::from([1e300, 5e-324]), "array([1e+300, 4.94066e-324], dtype=float64)"),
            (
                Array::from([1.0f32, 1e10, f32::INFINITY, f32::NEG_INFINITY, f32::NAN, -0.0]),
                "array([1, 1e+10, inf, -inf, nan, -0], dtype=float32)",
            ),
            (
                Array::from([99999.95f32, 999999.5, 1e15, -1.5e-7, 3.4e38, 1e-45]),
                "array([100000, 1e+06, 1e+15, -1.5e-07, 3.4e+38, 1.4013e-45], dtype=float32)",
            ),
            (
                Array::from([1e-5f32, 123456.5, 1234565.0, 0.5, 2.5, 1e-4]),
                "array([1e-05, 123456, 1.23456e+06, 0.5, 2.5, 0.0001], dtype=float32)",
            ),
            (
                Array::from([
                    c(1.0, -2.0),
                    c(f32::NAN, f32::INFINITY),
                    c(1.0, -0.0),
                    c(1e10, 1.0 / 3.0),
                    c(1.0, f32::NAN),
                ]),
                "array([1-2j, nan+infj, 1+-0j, 1e+10+0.333333j, 1+nanj], dtype=complex64)",
            ),
            (Array::from([0f32; 0]), "array([], dtype=float32)"),
            (Array::from([[0f32; 3]; 0]), "array([], dtype=float32)"),
            (Array::from([[0f32; 0]; 3]), "array([[],\n       [],\n       []], dtype=float32)"),
            (Array::from([[[0f32; 3]; 0]; 2]), "array([[],\n       []], dtype=float32)"),
            (
                Array::from([[[0; 0]; 3]; 2]),
                "array([[[],\n        [],\n        []],\n       [[],\n        [],\n        []]], dtype=int32)",
            ),
            (counting([6]), "array([0, 1, 2, 3, 4, 5], dtype=int32)"),
            (counting([7]), "array([0, 1, 2, ..., 4, 5, 6], dtype=int32)"),
            (
                counting([2, 2, 2]),
                "array([[[0, 1],\n        [2, 3]],\n       [[4, 5],\n        [6, 7]]], dtype=int32)",
            ),
            (
                counting([7, 7]),
                "array([[0, 1, 2, ..., 4, 5, 6],\n       [7, 8, 9, ..., 11, 12, 13],\n       [14, 15, 16, ..., 18, 19, 20],\n       \
                 ...,\n       [28, 29, 30, ..., 32, 33, 34],\n       [35, 36, 37, ..., 39, 40, 41],\n       \
                 [42, 43, 44, ..., 46, 47, 48]], dtype=int32)",
            ),
        ];
        for (array, text) in cases {
            assert_eq!(format!("{array}"), text);
        }
    }

    #[test]
    fn a_precision_fixes_the_places_after_the_point() {
        let a = Array::from([1.0f32, 1.0 / 3.0, 1e10, 123456.7, f32::NAN]);
        let text = "array([1.000, 0.333, 10000000000.000, 123456.703, nan], dtype=float32)";
        assert_eq!(format!("{a:.3}"), text);
        let c = Array::from([Complex32::new(1.0, 2.123456)]);
        assert_eq!(format!("{c:.2}"), "array([1.00+2.12j], dtype=complex64)");
        assert_eq!(format!("{:.2}", Array::from([1])), "array([1], dtype=int32)");
    }

    #[test]
    fn as_many_axes_as_there_can_be_are_printed() {
        let axes = Shape::MAX_AXES;
        let text = Array::from_slice(&[7u8], vec![1; axes]).to_string();
        assert_eq!(text.len(), "array(7, dtype=uint8)".len() + 2 * axes);
        let text = Array::from_slice(&[7u8, 8], [vec![1; axes - 2], vec![2, 1]].concat()).to_string();
        assert!(text.contains(&format!("[7],\n{}[8]", " ".repeat(axes + 5))));
    }
}
