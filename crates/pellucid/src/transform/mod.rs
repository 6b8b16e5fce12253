//! Transforms of functions: gradients, derivatives in forward direction, batches, and functions that are kept.
//!
//! A transform calls the function once and records what it does (`trace.rs`). What was recorded is a list of calls in the
//! order they were made; each direction is one loop over it (`reverse.rs`, `forward.rs`, `batch.rs`) that asks the rules of
//! each operation (`rules/`) for ordinary nodes. Nothing recurses, so that a chain of a million operations is no deeper than
//! one of two.

mod batch;
mod check;
mod compile;
mod custom;
mod derivative;
mod export;
mod flat;
mod forward;
mod graph;
mod lanes;
mod origin;
mod refit;
mod reverse;
mod rules;
mod slots;
mod trace;
mod tree;

pub use check::{GradCheck, WrongGradient, check_flat, check_grad};
pub use compile::{Compiled, compile, compile_enabled, compile_mut, set_compile_enabled};
pub use custom::{Contributions, Cotangents, Lanes, Rule, call_with_rule, checkpointed};
pub use derivative::{
    Loss, checkpoint, grad, hessian, jacfwd, jacrev, jvp, stop_gradient, value_and_grad, vjp,
};
pub use export::{Exporter, Imported, Signature, export, import};
pub use flat::{Derivatives, Mapping};
pub use graph::{Graph, GraphCall};
pub use lanes::{vmap, vmap_axes};
pub use origin::Role;
pub use pellucid_macros::Tree;
pub(crate) use refit::{Dim, Refit, is_shapeless, noted};
pub use trace::{Trace, check_async, is_stopped, is_traced};
pub(crate) use trace::{check_elements, is_tracing, mark, record};
pub use tree::Tree;
