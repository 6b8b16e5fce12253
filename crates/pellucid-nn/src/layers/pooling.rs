//! Pooling: the largest or the mean of each window over the spatial axes of `[N, spatial…, C]`.

use pellucid::ops::{self, PadMode};
use pellucid::{Array, Axes};

use super::spatial::EachAxis;
use crate::{Layer, Module, error};

/// How windows lie over `N` spatial axes.
#[derive(Clone, Copy, Debug, Module)]
struct Windows<const N: usize> {
    kernel: [usize; N],
    stride: [usize; N],
    padding: [usize; N],
}

impl<const N: usize> Windows<N> {
    /// `x` padded with a value, as a view of `[N, positions…, window…, C]`; or the failed array to return.
    #[track_caller]
    fn of(&self, name: &'static str, x: &Array, value: f64) -> Result<Array, Array> {
        if x.check().is_err() {
            return Err(x.clone());
        }
        if x.ndim() != N + 2 {
            let message = format!(
                "the input must have {} axes, {N} of them spatial, not shape {}",
                N + 2,
                x.shape_ref()
            );
            return Err(error::shape(name, message));
        }
        if self.stride.contains(&0) || self.kernel.contains(&0) {
            let message = format!("kernel {:?} and stride {:?} must be positive", self.kernel, self.stride);
            return Err(error::argument(name, message));
        }
        let padded = if self.padding == [0; N] {
            x.clone()
        } else {
            let each = self.padding.iter().map(|&p| (p, p));
            let widths: Vec<_> = [(0, 0)].into_iter().chain(each).chain([(0, 0)]).collect();
            ops::pad(x, widths, PadMode::Constant, value)
        };
        padded.check().map_err(|_| padded.clone())?;
        let spatial = &padded.shape()[1..=N];
        if let Some(axis) = (0..N).find(|&axis| spatial[axis] < self.kernel[axis]) {
            let message = format!(
                "a window of {} does not fit axis {} of size {}",
                self.kernel[axis],
                axis + 1,
                spatial[axis]
            );
            return Err(error::shape(name, message));
        }
        let count = |axis: usize| (spatial[axis] - self.kernel[axis]) / self.stride[axis] + 1;
        let counts: [usize; N] = std::array::from_fn(count);
        let tiles = (0..N).all(|axis| spatial[axis] == counts[axis] * self.kernel[axis]);
        Ok(if self.kernel == self.stride && tiles {
            self.tiled(&padded, counts)
        } else {
            self.strided(&padded, counts)
        })
    }

    /// Windows that tile the input are a reshape, whose gradient adds up nothing.
    #[track_caller]
    fn tiled(&self, x: &Array, counts: [usize; N]) -> Array {
        let shape = x.shape();
        let mut sizes = vec![shape[0]];
        (0..N).for_each(|axis| sizes.extend([counts[axis], self.kernel[axis]]));
        sizes.push(shape[N + 1]);
        let mut order = vec![0];
        order.extend((0..N).map(|axis| 1 + 2 * axis));
        order.extend((0..N).map(|axis| 2 + 2 * axis));
        order.push(2 * N + 1);
        x.reshape(sizes).transpose(order)
    }

    #[track_caller]
    fn strided(&self, x: &Array, counts: [usize; N]) -> Array {
        let shape = x.shape();
        let mut strides = vec![1isize; N + 2];
        for axis in (0..=N).rev() {
            strides[axis] = strides[axis + 1] * shape[axis + 1] as isize;
        }
        let mut sizes = vec![shape[0]];
        sizes.extend(counts);
        sizes.extend(self.kernel);
        sizes.push(shape[N + 1]);
        let mut steps = vec![strides[0]];
        steps.extend((0..N).map(|axis| strides[axis + 1] * self.stride[axis] as isize));
        steps.extend(&strides[1..=N]);
        steps.push(strides[N + 1]);
        ops::as_strided(x, sizes, Some(&steps), 0)
    }
}

macro_rules! pooling {
    ($($name:ident $axes:literal $reduce:ident $padding:expr, $doc:literal;)*) => {
        $(
            #[doc = $doc]
            #[derive(Clone, Copy, Debug, Module)]
            pub struct $name {
                windows: Windows<$axes>,
            }

            impl $name {
                /// Windows of this size, side by side.
                pub fn new(kernel: impl EachAxis<$axes>) -> $name {
                    let kernel = kernel.each();
                    $name { windows: Windows { kernel, stride: kernel, padding: [0; $axes] } }
                }

                /// Steps of the window.
                #[must_use]
                pub fn stride(mut self, stride: impl EachAxis<$axes>) -> $name {
                    self.windows.stride = stride.each();
                    self
                }

                /// What is added on both sides.
                #[must_use]
                pub fn padding(mut self, padding: impl EachAxis<$axes>) -> $name {
                    self.windows.padding = padding.each();
                    self
                }
            }

            impl Layer for $name {
                #[track_caller]
                fn forward(&self, x: &Array) -> Array {
                    match self.windows.of(stringify!($name), x, $padding) {
                        Ok(windows) => ops::$reduce(&windows, Axes::from(-1 - $axes..-1), false),
                        Err(failed) => failed,
                    }
                }
            }
        )*
    };
}

pooling! {
    MaxPool1d 1 max f64::NEG_INFINITY, "The largest element of each window of `[N, L, C]`.";
    MaxPool2d 2 max f64::NEG_INFINITY, "The largest element of each window of `[N, H, W, C]`.";
    MaxPool3d 3 max f64::NEG_INFINITY, "The largest element of each window of `[N, D, H, W, C]`.";
    AvgPool1d 1 mean 0.0, "The mean of each window of `[N, L, C]`; padding counts as zeros.";
    AvgPool2d 2 mean 0.0, "The mean of each window of `[N, H, W, C]`; padding counts as zeros.";
    AvgPool3d 3 mean 0.0, "The mean of each window of `[N, D, H, W, C]`; padding counts as zeros.";
}
