//! Convolutions, with the channels last: `[N, spatial…, C]`.

use pellucid::ops::{self, Conv};
use pellucid::{Array, Dtype};

use super::linear::uniform;
use super::spatial::{EachAxis, signed};
use crate::{Layer, Module, Param, error};

/// Weights `[outputs, kernel…, inputs / groups]`, which begin uniform within one over the root of what an output sees.
#[track_caller]
fn weights(name: &'static str, inputs: usize, outputs: usize, kernel: &[usize], groups: usize) -> Param {
    if groups == 0 || !inputs.is_multiple_of(groups) {
        let message = format!("{inputs} input channels cannot be divided into {groups} groups");
        return error::argument(name, message).into();
    }
    let inputs = inputs / groups;
    let seen = inputs * kernel.iter().product::<usize>();
    let shape: Vec<usize> = [outputs].into_iter().chain(kernel.iter().copied()).chain([inputs]).collect();
    uniform((1.0 / seen as f64).sqrt(), &shape).into()
}

#[track_caller]
fn with_bias(y: Array, bias: &Option<Param>) -> Array {
    match bias {
        Some(bias) => y + bias,
        None => y,
    }
}

macro_rules! convolutions {
    ($($name:ident $axes:literal $function:ident $shape:literal;)*) => {
        $(
            #[doc = concat!("Convolution of `", $shape, "`. Sizes are a number or one for each spatial axis.")]
            #[derive(Clone, Debug, Module)]
            pub struct $name {
                /// `[outputs, kernel…, inputs / groups]`
                pub weight: Param,
                /// `[outputs]`
                pub bias: Option<Param>,
                stride: [usize; $axes],
                padding: [usize; $axes],
                dilation: [usize; $axes],
                groups: usize,
            }

            impl $name {
                /// From and to this many channels, with bias.
                #[track_caller]
                pub fn new(inputs: usize, outputs: usize, kernel: impl EachAxis<$axes>) -> $name {
                    $name::grouped(inputs, outputs, kernel, 1)
                }

                /// With channels in groups that do not see each other.
                #[track_caller]
                pub fn grouped(
                    inputs: usize,
                    outputs: usize,
                    kernel: impl EachAxis<$axes>,
                    groups: usize,
                ) -> $name {
                    let kernel: [usize; $axes] = kernel.each();
                    $name {
                        weight: weights(stringify!($name), inputs, outputs, &kernel, groups),
                        bias: Some(ops::zeros([outputs], Dtype::Float32).into()),
                        stride: [1; $axes],
                        padding: [0; $axes],
                        dilation: [1; $axes],
                        groups,
                    }
                }

                /// Without bias.
                #[must_use]
                pub fn without_bias(self) -> $name {
                    $name { bias: None, ..self }
                }

                /// Steps of the kernel.
                #[must_use]
                pub fn stride(self, stride: impl EachAxis<$axes>) -> $name {
                    $name { stride: stride.each(), ..self }
                }

                /// Zeros on both sides.
                #[must_use]
                pub fn padding(self, padding: impl EachAxis<$axes>) -> $name {
                    $name { padding: padding.each(), ..self }
                }

                /// Distance of the kernel's taps.
                #[must_use]
                pub fn dilation(self, dilation: impl EachAxis<$axes>) -> $name {
                    $name { dilation: dilation.each(), ..self }
                }
            }

            impl Layer for $name {
                #[track_caller]
                fn forward(&self, x: &Array) -> Array {
                    let settings = Conv::new()
                        .stride(signed(self.stride))
                        .padding(signed(self.padding))
                        .dilation(signed(self.dilation))
                        .groups(self.groups);
                    with_bias(ops::$function(x, &self.weight, &settings), &self.bias)
                }
            }
        )*
    };
}

convolutions! {
    Conv1d 1 conv1d "[N, L, C]";
    Conv2d 2 conv2d "[N, H, W, C]";
    Conv3d 3 conv3d "[N, D, H, W, C]";
}

macro_rules! transposed_convolutions {
    ($($name:ident $axes:literal $function:ident $shape:literal;)*) => {
        $(
            #[doc = concat!("Transposed convolution of `", $shape, "`, from a convolution's output back to the shape of its input.")]
            #[derive(Clone, Debug, Module)]
            pub struct $name {
                /// `[outputs, kernel…, inputs]`
                pub weight: Param,
                /// `[outputs]`
                pub bias: Option<Param>,
                stride: [usize; $axes],
                padding: [usize; $axes],
                dilation: [usize; $axes],
                output_padding: [usize; $axes],
            }

            impl $name {
                /// From and to this many channels, with bias.
                #[track_caller]
                pub fn new(inputs: usize, outputs: usize, kernel: impl EachAxis<$axes>) -> $name {
                    let kernel: [usize; $axes] = kernel.each();
                    $name {
                        weight: weights(stringify!($name), inputs, outputs, &kernel, 1),
                        bias: Some(ops::zeros([outputs], Dtype::Float32).into()),
                        stride: [1; $axes],
                        padding: [0; $axes],
                        dilation: [1; $axes],
                        output_padding: [0; $axes],
                    }
                }

                /// Without bias.
                #[must_use]
                pub fn without_bias(self) -> $name {
                    $name { bias: None, ..self }
                }

                /// Steps of the kernel in the result.
                #[must_use]
                pub fn stride(self, stride: impl EachAxis<$axes>) -> $name {
                    $name { stride: stride.each(), ..self }
                }

                /// What is cut off on both sides of the result.
                #[must_use]
                pub fn padding(self, padding: impl EachAxis<$axes>) -> $name {
                    $name { padding: padding.each(), ..self }
                }

                /// Distance of the kernel's taps.
                #[must_use]
                pub fn dilation(self, dilation: impl EachAxis<$axes>) -> $name {
                    $name { dilation: dilation.each(), ..self }
                }

                /// Elements added after each axis of the result.
                #[must_use]
                pub fn output_padding(self, padding: impl EachAxis<$axes>) -> $name {
                    $name { output_padding: padding.each(), ..self }
                }
            }

            impl Layer for $name {
                #[track_caller]
                fn forward(&self, x: &Array) -> Array {
                    let settings = Conv::new()
                        .stride(signed(self.stride))
                        .padding(signed(self.padding))
                        .dilation(signed(self.dilation))
                        .output_padding(signed(self.output_padding));
                    with_bias(ops::$function(x, &self.weight, &settings), &self.bias)
                }
            }
        )*
    };
}

transposed_convolutions! {
    ConvTranspose1d 1 conv_transpose1d "[N, L, C]";
    ConvTranspose2d 2 conv_transpose2d "[N, H, W, C]";
    ConvTranspose3d 3 conv_transpose3d "[N, D, H, W, C]";
}
