//! What a user's kernel sees when it runs on the host.

use crate::array::{Dtype, Element};
use crate::error::{Error, Result};

/// The arrays of one call of a [`Kernel`](super::Kernel) on the host, all row-major.
#[derive(Debug)]
pub struct HostCall<'a> {
    pub(crate) inputs: Vec<(&'a [u8], Dtype, &'a [usize])>,
    pub(crate) outputs: Vec<(&'a mut [u8], Dtype, &'a [usize])>,
    pub(crate) grid: [u32; 3],
}

fn typed<T: Element>(what: &str, index: usize, dtype: Dtype) -> Result<()> {
    if T::DTYPE == dtype {
        return Ok(());
    }
    Err(Error::dtype("kernel", format!("{what} {index} is {dtype}, not {}", T::DTYPE)))
}

fn missing(what: &str, index: usize, count: usize) -> Error {
    Error::argument("kernel", format!("there are {count} {what}s; {what} {index} is not among them"))
}

impl HostCall<'_> {
    /// The elements of an input.
    ///
    /// # Errors
    /// If there is no such input, or it has another type.
    pub fn input<T: Element>(&self, index: usize) -> Result<&[T::Stored]> {
        let &(bytes, dtype, _) =
            self.inputs.get(index).ok_or_else(|| missing("input", index, self.inputs.len()))?;
        typed::<T>("input", index, dtype)?;
        bytemuck::try_cast_slice(bytes).map_err(|e| Error::internal("kernel", e.to_string()))
    }

    /// The elements of an output, all zero at first.
    ///
    /// # Errors
    /// If there is no such output, or it has another type.
    pub fn output<T: Element>(&mut self, index: usize) -> Result<&mut [T::Stored]> {
        let count = self.outputs.len();
        let (bytes, dtype, _) = self.outputs.get_mut(index).ok_or_else(|| missing("output", index, count))?;
        typed::<T>("output", index, *dtype)?;
        bytemuck::try_cast_slice_mut(bytes).map_err(|e| Error::internal("kernel", e.to_string()))
    }

    /// The shape of an input.
    pub fn input_shape(&self, index: usize) -> Option<&[usize]> {
        self.inputs.get(index).map(|&(_, _, shape)| shape)
    }

    /// The shape of an output.
    pub fn output_shape(&self, index: usize) -> Option<&[usize]> {
        self.outputs.get(index).map(|&(_, _, shape)| shape)
    }

    /// Invocations that were asked for.
    pub fn grid(&self) -> [u32; 3] {
        self.grid
    }
}
