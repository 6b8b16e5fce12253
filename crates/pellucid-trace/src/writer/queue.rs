//! The queue between the threads that compute and the one that writes: two batches that change places.

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::{Options, Tensor, lock};
use crate::schema::{Dispatch, Launch, Manifest, Memory, Op, Row, Stats, Sync};

/// The writer is woken when this many rows wait.
const WAKE_ROWS: usize = 4_096;
/// Or this many bytes.
const WAKE_BYTES: usize = 1 << 20;

/// What waits to be written.
#[derive(Default)]
pub(crate) struct Batch {
    pub ops: Vec<Op>,
    pub launches: Vec<Launch>,
    pub dispatches: Vec<Dispatch>,
    pub memory: Vec<Memory>,
    pub sync: Vec<Sync>,
    pub stats: Vec<Stats>,
    pub kernels: Vec<(Arc<str>, String)>,
    pub tensors: Vec<Tensor>,
    pub draft: Option<Manifest>,
}

#[derive(Default)]
struct State {
    batch: Batch,
    rows: usize,
    bytes: usize,
    closed: Option<Manifest>,
    /// A producer waited in vain; until there is room, rows are left out at once.
    behind: bool,
    dropped: u64,
    blocked: Duration,
}

/// What the writer's thread gets.
pub(crate) struct Taken {
    pub batch: Batch,
    /// The manifest, once nothing more will come.
    pub closed: Option<Manifest>,
}

pub(crate) struct Queue {
    state: Mutex<State>,
    filled: Condvar,
    emptied: Condvar,
    /// After a failure rows are only counted: nothing will be written any more.
    failed: AtomicBool,
    kernels: Mutex<HashSet<Arc<str>>>,
    tensors: Mutex<HashSet<u64>>,
    max_rows: usize,
    max_bytes: usize,
    max_wait: Duration,
}

impl Queue {
    pub(crate) fn new(options: &Options) -> Self {
        Self {
            state: Mutex::default(),
            filled: Condvar::new(),
            emptied: Condvar::new(),
            failed: AtomicBool::new(false),
            kernels: Mutex::default(),
            tensors: Mutex::default(),
            max_rows: options.queue_rows.max(1),
            max_bytes: options.queue_bytes.max(1),
            max_wait: options.max_wait,
        }
    }

    pub(crate) fn push_row<R: Row>(&self, row: R, table: impl FnOnce(&mut Batch) -> &mut Vec<R>) {
        self.push(row.bytes(), |batch| table(batch).push(row));
    }

    /// Adds something of about `bytes` bytes, waiting a while for room.
    pub(crate) fn push(&self, bytes: usize, add: impl FnOnce(&mut Batch)) {
        let mut state = lock(&self.state);
        if state.closed.is_some() {
            return;
        }
        if self.full(&state, bytes) {
            state = self.wait_for_room(state, bytes);
            if self.full(&state, bytes) || state.closed.is_some() {
                state.behind = true;
                state.dropped += 1;
                return;
            }
        }
        state.behind = false;
        add(&mut state.batch);
        let (rows, size) = (state.rows, state.bytes);
        state.rows += 1;
        state.bytes += bytes;
        let crossed = |before: usize, after: usize, mark: usize| before < mark && after >= mark;
        if crossed(rows, rows + 1, WAKE_ROWS.min(self.max_rows)) || crossed(size, size + bytes, WAKE_BYTES) {
            drop(state);
            self.filled.notify_one();
        }
    }

    fn full(&self, state: &State, bytes: usize) -> bool {
        state.rows >= self.max_rows || (state.rows > 0 && state.bytes.saturating_add(bytes) > self.max_bytes)
    }

    fn wait_for_room<'a>(
        &self,
        mut state: std::sync::MutexGuard<'a, State>,
        bytes: usize,
    ) -> std::sync::MutexGuard<'a, State> {
        if state.behind {
            return state;
        }
        self.filled.notify_one();
        let began = Instant::now();
        while self.full(&state, bytes) && state.closed.is_none() {
            let Some(left) = self.max_wait.checked_sub(began.elapsed()).filter(|left| !left.is_zero()) else {
                break;
            };
            let waited = self.emptied.wait_timeout(state, left);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        state.blocked += began.elapsed();
        state
    }

    /// Waits until there is enough to do, the queue is closed or `deadline` has passed, and takes what there is.
    /// `empty` takes its place.
    pub(crate) fn take(&self, empty: Batch, deadline: Instant) -> Taken {
        let mut state = lock(&self.state);
        let enough = |state: &State| {
            state.closed.is_some()
                || state.rows >= WAKE_ROWS.min(self.max_rows)
                || state.bytes >= WAKE_BYTES.min(self.max_bytes)
        };
        while !enough(&state) {
            let Some(left) = deadline.checked_duration_since(Instant::now()).filter(|left| !left.is_zero())
            else {
                break;
            };
            let waited = self.filled.wait_timeout(state, left);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        let batch = std::mem::replace(&mut state.batch, empty);
        (state.rows, state.bytes) = (0, 0);
        let closed = state.closed.clone();
        drop(state);
        self.emptied.notify_all();
        Taken { batch, closed }
    }

    /// Nothing more will be pushed.
    pub(crate) fn close(&self, manifest: Manifest) {
        lock(&self.state).closed = Some(manifest);
        self.filled.notify_one();
        self.emptied.notify_all();
    }

    /// Rows that found no room, and for how long others waited.
    pub(crate) fn losses(&self) -> (u64, Duration) {
        let state = lock(&self.state);
        (state.dropped, state.blocked)
    }

    pub(crate) fn first_kernel(&self, name: &Arc<str>) -> bool {
        !self.failed.load(Ordering::Relaxed) && lock(&self.kernels).insert(name.clone())
    }

    pub(crate) fn first_tensor(&self, array: u64) -> bool {
        !self.failed.load(Ordering::Relaxed) && lock(&self.tensors).insert(array)
    }

    pub(crate) fn fail(&self) {
        self.failed.store(true, Ordering::Relaxed);
    }
}
