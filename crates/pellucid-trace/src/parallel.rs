//! Work on two threads where there are threads; browsers run this crate on one.

/// Runs both, the first on a thread of its own if possible.
pub(crate) fn both<A: Send, B>(beside: impl FnOnce() -> A + Send, here: impl FnOnce() -> B) -> (A, B) {
    if cfg!(target_family = "wasm") {
        return (beside(), here());
    }
    std::thread::scope(|scope| {
        let beside = scope.spawn(beside);
        let here = here();
        (beside.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)), here)
    })
}
