//! What almost every program needs: `use pellucid::prelude::*;`
//!
//! ```
//! use pellucid::prelude::*;
//! # fn main() -> pellucid::Result<()> {
//! let x = array![[1.0, 2.0], [3.0, 4.0]];
//! let y = x.matmul(&x.t()).add(1.0).relu().sum(..);
//! assert_eq!(y.item::<f32>()?, 56.0);
//! # Ok(())
//! # }
//! ```

pub use crate::array;
pub use crate::ops::{self, Ellipsis, Index, NewAxis, Step};
pub use crate::random;
pub use crate::{
    Array, Axes, Device, Dtype, Element, Error, Result, Shape, Stream, eval, ones, with_device, with_stream,
    zeros,
};
