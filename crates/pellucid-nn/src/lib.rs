//! Layers, losses, optimisers and training for [`pellucid`]'s arrays, with the names, parameters and results of
//! `mlx.nn` and `mlx.optimizers`.
//!
//! A model is a plain struct with `#[derive(Module)]`. Its parameters have the paths they have in MLX, so that
//! checkpoints load; its gradient has the model's own type; and a whole training step can be compiled.
//!
//! ```
//! use pellucid_nn::prelude::*;
//!
//! #[derive(Clone, Module)]
//! struct Classifier {
//!     layers: Vec<Linear>,
//! }
//!
//! impl Layer for Classifier {
//!     fn forward(&self, x: &Array) -> Array {
//!         self.layers[1].forward(&relu(&self.layers[0].forward(x)))
//!     }
//! }
//!
//! # fn main() -> pellucid::Result<()> {
//! random::seed(0);
//! let x = random::normal([64, 2], Dtype::Float32, 0.0, 1.0, None);
//! let y = x.i((.., 0)).greater(x.i((.., 1))).astype(Dtype::Int32);
//!
//! let model = Classifier { layers: vec![Linear::new(2, 16), Linear::new(16, 2)] };
//! let mut trainer = Trainer::new(model, Adam::new(0.02), |model: &Classifier, (x, y): &(Array, Array)| {
//!     losses::cross_entropy(&model.forward(x), y).mean(..)
//! });
//! let batch = (x, y);
//! let first = trainer.step(&batch)?;
//! let mut last = first;
//! for _ in 0..40 {
//!     last = trainer.step(&batch)?;
//! }
//! assert!(last < first / 2.0);
//! # Ok(())
//! # }
//! ```

extern crate self as pellucid_nn;

pub mod activations;
pub mod data;
mod error;
mod gradient;
pub mod init;
pub mod layers;
pub mod losses;
mod module;
pub mod optimizers;
pub mod prelude;
mod train;

pub use gradient::{grad, value_and_grad};
pub use module::{
    Buffer, CloneLayer, Differences, Layer, Mode, Module, Param, Summary, Visit, VisitMut, Visitor,
    VisitorMut, tree,
};
/// The arrays that everything here is made of.
pub use pellucid;
pub use pellucid_macros::Module;
pub use train::Trainer;

/// The examples of the page on learning that are written in Rust, kept true.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/learning.md")]
struct Learning;

/// The examples of the crate's own page, kept true.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
