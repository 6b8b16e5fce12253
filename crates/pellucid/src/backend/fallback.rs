//! Operations that were meant for a GPU and ran on the CPU: which, why, and how often.

use std::collections::BTreeMap;
use std::fmt;

use parking_lot::Mutex;

use crate::array::Dtype;

/// Why an operation that was meant for a GPU ran on the CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum FallbackReason {
    /// No GPU language has `float64` everywhere.
    Float64,
    /// This adapter has no 64-bit integers.
    NoInt64,
    /// A kernel of the user has `float16`, which this adapter does not have.
    NoFloat16,
    /// The CPU computes it in `float64`; in `float32` it would lose digits or overflow.
    NeedsFloat64,
    /// An array reaches further than one binding of this adapter, and there is no kernel that goes by windows.
    TooLarge,
    /// More axes than kernels are written for.
    TooManyAxes,
    /// More arrays than one kernel of this adapter can read.
    TooManyInputs,
    /// An array without elements: there is nothing to launch.
    NoElements,
    /// Files are read by the host.
    FromFile,
    /// Each step depends on the one before: a decomposition has little that a GPU could do side by side.
    Sequential,
    /// There is no kernel.
    NoKernel,
}

impl FallbackReason {
    /// The reason as a phrase.
    pub fn text(self) -> &'static str {
        match self {
            FallbackReason::Float64 => "no GPU language has float64 everywhere",
            FallbackReason::NoFloat16 => "this adapter has no float16",
            FallbackReason::NoInt64 => "this adapter has no 64-bit integers",
            FallbackReason::NeedsFloat64 => "computed in float64; float32 would lose digits or overflow",
            FallbackReason::TooLarge => "an array reaches further than one binding of this adapter",
            FallbackReason::TooManyAxes => "more axes than kernels are written for",
            FallbackReason::TooManyInputs => "more arrays than one kernel of this adapter can read",
            FallbackReason::NoElements => "an array without elements; there is nothing to launch",
            FallbackReason::FromFile => "files are read by the host",
            FallbackReason::Sequential => "each step depends on the one before; a CPU is faster",
            FallbackReason::NoKernel => "there is no kernel",
        }
    }
}

impl fmt::Display for FallbackReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.text())
    }
}

/// An operation that was meant for a GPU and ran on the CPU.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Fallback {
    /// The operation.
    pub op: &'static str,
    /// The type of its first input, or of its result if it has none.
    pub dtype: Dtype,
    /// Why.
    pub reason: FallbackReason,
    /// How often.
    pub count: u64,
}

static COUNTS: Mutex<BTreeMap<(FallbackReason, &'static str, &'static str), Fallback>> =
    Mutex::new(BTreeMap::new());

/// Counts an operation that runs on the CPU.
pub(crate) fn note_fallback(op: &'static str, dtype: Dtype, reason: FallbackReason) {
    let mut counts = COUNTS.lock();
    let known = counts.entry((reason, op, dtype.name()));
    known.or_insert(Fallback { op, dtype, reason, count: 0 }).count += 1;
}

/// What ran on the CPU so far, by reason and name.
pub(crate) fn fallbacks() -> Vec<Fallback> {
    COUNTS.lock().values().cloned().collect()
}
