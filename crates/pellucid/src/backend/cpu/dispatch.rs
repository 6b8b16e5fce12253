//! From an operation to its kernel.

use super::{In, Out};
use crate::error::{Error, Result};
use crate::op::Op;

/// Runs any operation that is neither elementwise nor a matter of layout.
pub(crate) fn run(op: &Op, inputs: &[In], out: &mut Out) -> Result<()> {
    let _ = (inputs, out);
    Err(Error::internal("eval", format!("{} has no CPU kernel", op.name())))
}
