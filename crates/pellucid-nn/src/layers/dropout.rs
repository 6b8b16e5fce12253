//! Layers that drop values at random in training mode and do nothing in that of evaluation.

use pellucid::{Array, Shape, random};

use crate::{Layer, Mode, Module, error};

/// `x` with the elements of a mask of this shape dropped with probability `p`, and the others scaled up.
#[track_caller]
fn dropped(x: &Array, p: f64, mask: impl FnOnce() -> Shape) -> Array {
    let keep = 1.0 - p;
    (1.0 / keep) * random::bernoulli(keep, Some(mask()), None) * x
}

/// What the layers share: when nothing is to be done, and what cannot be done.
#[track_caller]
fn dropout(name: &'static str, x: &Array, p: f64, mode: Mode, mask: impl FnOnce() -> Shape) -> Array {
    if !(0.0..1.0).contains(&p) {
        return error::argument(name, format!("the probability must be in [0, 1), not {p}"));
    }
    if p == 0.0 || !mode.is_training() || x.check().is_err() {
        return x.clone();
    }
    dropped(x, p, mask)
}

/// Makes each element zero with probability `p` and scales the others so that the mean stays.
///
/// ```
/// use pellucid_nn::prelude::*;
/// # fn main() -> pellucid::Result<()> {
/// let mut dropout = Dropout::new(0.5);
/// let dropped = dropout.forward(&ones::<f32>(1000)).to_vec::<f32>()?;
/// assert!(dropped.iter().all(|x| *x == 0.0 || *x == 2.0));
/// dropout.eval();
/// assert_eq!(dropout.forward(&ones::<f32>(3)).to_vec::<f32>()?, [1.0; 3]);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug, Module)]
pub struct Dropout {
    /// How likely an element is dropped.
    pub p: f64,
    mode: Mode,
}

impl Dropout {
    /// Drops with a probability from 0 to below 1.
    pub fn new(p: f64) -> Dropout {
        Dropout { p, mode: Mode::Training }
    }
}

impl Layer for Dropout {
    #[track_caller]
    fn forward(&self, x: &Array) -> Array {
        dropout("Dropout", x, self.p, self.mode, || x.shape_ref().clone())
    }
}

macro_rules! channel_dropout {
    ($($name:ident $spatial:literal $doc:literal;)*) => {
        $(
            #[doc = $doc]
            #[derive(Clone, Copy, Debug, Module)]
            pub struct $name {
                /// How likely a channel is dropped.
                pub p: f64,
                mode: Mode,
            }

            impl $name {
                /// Drops with a probability from 0 to below 1.
                pub fn new(p: f64) -> $name {
                    $name { p, mode: Mode::Training }
                }
            }

            impl Layer for $name {
                #[track_caller]
                fn forward(&self, x: &Array) -> Array {
                    let (n, few) = (x.ndim(), $spatial + 1);
                    if x.check().is_ok() && n != few && n != few + 1 {
                        let message = format!(
                            "the input must have {few} or {} axes, but has shape {}", few + 1, x.shape_ref()
                        );
                        return error::shape(stringify!($name), message);
                    }
                    dropout(stringify!($name), x, self.p, self.mode, || {
                        // One decision for each sample and channel.
                        let mut shape = x.shape().to_vec();
                        shape[n - few..n - 1].fill(1);
                        Shape::from(shape)
                    })
                }
            }
        )*
    };
}

channel_dropout! {
    Dropout2d 2 "Drops whole channels of images: `[N, H, W, C]` or `[H, W, C]`.";
    Dropout3d 3 "Drops whole channels of volumes: `[N, D, H, W, C]` or `[D, H, W, C]`.";
}
