//! The parameters of convolutions, and the sizes they lead to.

use serde::{Deserialize, Serialize};
use smallvec::SmallVec;

use super::Dims;
use crate::array::{Dtype, Shape};
use crate::error::{Error, Result};

/// How a kernel moves over an input: one number for each spatial axis.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ConvSpec {
    /// Steps of the kernel.
    pub stride: Dims,
    /// Zeros before the first element; a negative number crops.
    pub low: SmallVec<[i64; 4]>,
    /// Zeros after the last element; a negative number crops.
    pub high: SmallVec<[i64; 4]>,
    /// Distance of the kernel's taps.
    pub kernel_dilation: Dims,
    /// Distance of the input's elements, with zeros between them.
    pub input_dilation: Dims,
    /// Groups of channels that do not see each other.
    pub groups: usize,
    /// Whether the kernel is applied backwards, as convolutions are written in mathematics.
    pub flip: bool,
}

impl ConvSpec {
    /// The shape and type of the convolution of `x [N, spatial…, C]` with `w [O, spatial…, C / groups]`.
    pub(crate) fn infer(
        &self,
        (x, dtype): (&Shape, Dtype),
        (w, w_dtype): (&Shape, Dtype),
    ) -> Result<(Shape, Dtype)> {
        let name = "conv_general";
        let n = self.stride.len();
        if dtype != w_dtype || !dtype.is_floating() {
            return Err(Error::dtype(name, format!("needs one floating type, not {dtype} and {w_dtype}")));
        }
        let lengths =
            [self.low.len(), self.high.len(), self.kernel_dilation.len(), self.input_dilation.len()];
        if n == 0 || lengths != [n; 4] || x.len() != n + 2 || w.len() != n + 2 {
            let message = format!(
                "an input of shape {x} and weights of shape {w} need as many spatial axes, not {n} strides and \
                 {lengths:?} paddings and dilations"
            );
            return Err(Error::shape(name, message));
        }
        let (inputs, outputs) = (x[n + 1], w[0]);
        if self.groups == 0 || !inputs.is_multiple_of(self.groups) || !outputs.is_multiple_of(self.groups) {
            let message = format!(
                "{inputs} input and {outputs} output channels do not split into {} groups",
                self.groups
            );
            return Err(Error::argument(name, message));
        }
        if w[n + 1] != inputs / self.groups {
            let message = format!(
                "the input has {inputs} channels in {} groups, so that the last axis of the weights must be {}, not {} \
                 (shapes {x} and {w})",
                self.groups,
                inputs / self.groups,
                w[n + 1]
            );
            return Err(Error::shape(name, message));
        }
        let mut shape = Shape::from(x[0]);
        for axis in 0..n {
            shape.push(self.size(axis, x[axis + 1], w[axis + 1])?);
        }
        shape.push(outputs);
        Ok((shape, dtype))
    }

    /// How many positions the kernel has along an axis.
    fn size(&self, axis: usize, input: usize, kernel: usize) -> Result<usize> {
        let name = "conv_general";
        let steps = [self.stride[axis], self.kernel_dilation[axis], self.input_dilation[axis]];
        if steps.contains(&0) || kernel == 0 {
            let message = format!(
                "strides, dilations and the kernel must be positive along axis {axis}: {steps:?}, {kernel}"
            );
            return Err(Error::argument(name, message));
        }
        let dilated = |size: usize, by: usize| (size as i128 - 1).max(-1) * by as i128 + i128::from(size > 0);
        let padded =
            dilated(input, steps[2]).max(0) + i128::from(self.low[axis]) + i128::from(self.high[axis]);
        let kernel = dilated(kernel, steps[1]);
        // Places in the input are computed in 64 bits.
        if [padded, kernel].iter().any(|&size| size > i128::from(i32::MAX)) {
            return Err(Error::shape(
                name,
                format!("axis {axis} has {padded} elements and a kernel of {kernel}: too many"),
            ));
        }
        if padded < kernel {
            let message = format!(
                "the kernel spans {kernel} elements along axis {axis}, but the padded input has {padded}"
            );
            return Err(Error::shape(name, message));
        }
        Ok(((padded - kernel) / steps[0] as i128 + 1) as usize)
    }
}
