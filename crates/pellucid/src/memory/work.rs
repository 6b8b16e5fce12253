//! What the allocator asks of whoever runs work, so that it can wait for memory that work will free.

use std::sync::OnceLock;

/// Work that was running or queued at one moment: for each stream, how many batches it will have finished then.
#[derive(Debug, Default)]
pub(crate) struct Outstanding(pub Vec<(usize, u64)>);

/// Whoever runs work: the scheduler.
pub(crate) trait Workforce: Send + Sync {
    /// The calling thread begins or ends waiting for memory. While it waits, the stream it runs counts as stuck, and
    /// another thread takes up the streams it would have run next.
    fn set_stuck(&self, stuck: bool);

    /// Everything that runs or is queued now.
    fn outstanding(&self) -> Outstanding;

    /// Whether some of that work is neither finished nor stuck.
    fn is_left(&self, outstanding: &Outstanding) -> bool;
}

static WORKFORCE: OnceLock<&'static dyn Workforce> = OnceLock::new();

/// Introduces the scheduler; done once, before the first work.
pub(crate) fn set_workforce(workforce: &'static dyn Workforce) {
    // A second introduction is the same scheduler again.
    let _ = WORKFORCE.set(workforce);
}

/// The scheduler, if any work was ever started.
pub(crate) fn workforce() -> Option<&'static dyn Workforce> {
    WORKFORCE.get().copied()
}
