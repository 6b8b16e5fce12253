//! The operations, as tables: one entry each.
//!
//! An entry of a family (one input, two inputs, reductions, running reductions) is a name and a line of documentation;
//! `method` beside the name makes it a method of `array` as well. Every other operation is an entry of [`functions`]:
//! its signature for Python, the types of its arguments, what the documentation says, and the call it stands for.

mod assemble;
pub mod binary;
mod conv;
mod creation;
mod fast;
mod index;
mod kernels;
mod linear;
mod products;
mod quantized;
mod reduce;
mod sets;
mod shape;

mod unary;
mod windows;

use pyo3::prelude::*;

pub use shape::argument;

/// Operations with signatures of their own: PyO3's (and after `as` how Python shows it, where a default is more than a
/// literal), the types of the arguments, the signature with Python's types, what is returned, and what it does.
macro_rules! functions {
    ($($name:ident $signature:tt $(as $shown:literal)? [$($arg:ident: $ty:ty),* $(,)?] $text:literal $returns:literal
        $doc:literal => $body:expr;)*) => {
        $(#[doc = concat!(stringify!($name), $text, " -> ", $returns, "\n\n", $doc)]
        #[pyfunction]
        #[pyo3(signature = $signature $(, text_signature = $shown)?)]
        #[allow(clippy::too_many_arguments, reason = "as many as the function of MLX has")]
        fn $name(
            py: Python<'_>,
            $($arg: $ty,)*
            stream: Option<$crate::device::StreamArg>,
        ) -> PyResult<impl for<'py> IntoPyObject<'py>> {
            $crate::call::build(py, stream, || $body)
        })*

        pub fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
            $crate::add_functions!(m: $($name),*);
            Ok(())
        }
    };
}
pub(crate) use functions;

pub fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    unary::register(m)?;
    binary::register(m)?;
    reduce::register(m)?;
    creation::register_all(m)?;
    shape::register(m)?;
    assemble::register_all(m)?;
    index::register(m)?;
    linear::register(m)?;
    conv::register(m)?;
    quantized::register(m)?;
    fast::register(m)?;
    products::register(m)?;
    sets::register(m)?;
    windows::register(m)
}
