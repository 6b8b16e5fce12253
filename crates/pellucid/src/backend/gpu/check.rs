//! Indices that a kernel found out of range: known only when the GPU is done, and then the failure of every array that
//! depends on them.

use std::sync::{Arc, OnceLock};

use crate::array::{Array, HostView, Value};
use crate::call_site::CallSite;
use crate::error::Error;
use crate::eval::Failure;
use crate::op::Scalar;
use crate::stream::Stream;

/// One launch's indices.
pub(crate) struct Check {
    /// The operation, and the line that asked for it.
    pub function: &'static str,
    pub site: CallSite,
    /// The stream it runs on.
    pub stream: Stream,
    /// The indices, to tell which one was wrong.
    pub indices: Array,
    pub value: Value,
    pub axis: usize,
    pub size: usize,
    /// `None` inside: all were in range.
    outcome: OnceLock<Option<Arc<Failure>>>,
}

impl std::fmt::Debug for Check {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Check({}, {:?})", self.function, self.indices)
    }
}

/// What a value depends on.
pub(crate) type Checks = Arc<Vec<Arc<Check>>>;

impl Check {
    pub fn new(
        function: &'static str,
        site: CallSite,
        stream: Stream,
        indices: Array,
        value: Value,
        axis: usize,
        size: usize,
    ) -> Arc<Check> {
        Arc::new(Check { function, site, stream, indices, value, axis, size, outcome: OnceLock::new() })
    }

    /// Tells what the kernel found: the row-major position of the first index out of range, if there is one.
    pub fn resolve(&self, position: Option<u32>) {
        let failure = position.map(|at| {
            let error = Error::Index {
                function: self.function,
                index: self.index_at(at as usize).unwrap_or(i64::MAX),
                axis: self.axis,
                size: self.size,
            };
            let (op, site) = (self.function.to_owned(), self.site);
            Arc::new(Failure::new(Error::Launch { op, site, source: Arc::new(error) }))
        });
        if let Some(failure) = &failure {
            self.stream.record_failure(failure);
        }
        // Told once; a second word would be about a device that was lost meanwhile.
        let _ = self.outcome.set(failure);
    }

    fn index_at(&self, at: usize) -> Option<i64> {
        let view = HostView::of(&self.value, self.indices.shape_ref(), self.indices.dtype()).ok()?;
        let (mut rest, mut index) = (at, vec![0; self.indices.ndim()]);
        for (i, &d) in index.iter_mut().zip(self.indices.shape()).rev() {
            *i = rest % d;
            rest /= d;
        }
        Some(match view.element(&index) {
            Scalar::Uint(v) => i64::try_from(v).unwrap_or(i64::MAX),
            other => other.to_i64(),
        })
    }

    /// The failure, if the GPU is done and there is one.
    pub fn failure(&self) -> Option<Arc<Failure>> {
        self.outcome.get().and_then(Clone::clone)
    }

    /// Whether all indices are known to be in range.
    pub fn is_good(&self) -> bool {
        matches!(self.outcome.get(), Some(None))
    }

    /// Waits for the GPU; the failure, if there is one. The launch must have been submitted.
    pub fn wait(&self) -> Option<Arc<Failure>> {
        self.outcome.wait().clone()
    }
}

/// All checks that values depend on and that are not known to be good.
pub(crate) fn gathered<'a>(values: impl Iterator<Item = &'a Value>, own: &[Arc<Check>]) -> Option<Checks> {
    let mut all = own.to_vec();
    for check in values.filter_map(Value::checks).flat_map(|checks| checks.iter()) {
        if !check.is_good() && !all.iter().any(|known| Arc::ptr_eq(known, check)) {
            all.push(check.clone());
        }
    }
    if all.is_empty() { None } else { Some(Arc::new(all)) }
}
