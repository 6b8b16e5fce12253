//! What almost every program needs: `use pellucid_nn::prelude::*;` It has the prelude of [`pellucid`] in it.

pub use pellucid::prelude::*;

pub use crate::activations::*;
pub use crate::data::{DataLoader, Dataset};
pub use crate::layers::*;
pub use crate::optimizers::{
    AdaDelta, Adafactor, Adagrad, Adam, AdamW, Adamax, Lion, MultiOptimizer, Muon, Optimize, RMSprop, Sgd,
    clip_grad_norm, schedules,
};
pub use crate::{Buffer, Layer, Mode, Module, Param, Trainer, init, losses, sequential, value_and_grad};
