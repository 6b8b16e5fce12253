//! Arrays: element types, shapes, layouts, construction, reading and printing.

mod dtype;
mod element;
mod shape;

pub use dtype::{Dtype, DtypeCategory};
pub use element::Element;
pub(crate) use shape::resolve_axis;
pub use shape::{Axes, Shape};
