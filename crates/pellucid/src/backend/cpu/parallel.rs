//! Splitting one kernel's work over the cores.
//!
//! A team of helper threads, one less than there are cores, works on one kernel at a time together with the thread that
//! called it. That thread runs only pieces of its own kernel while it waits, never somebody else's work: a kernel can
//! therefore be called from anywhere, also from a task of another thread pool. A second kernel at the same time runs on
//! its own thread alone.

use std::any::Any;
use std::cell::Cell;
use std::hint::spin_loop;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex as StdMutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use crate::error::Result;
use crate::fork;
use crate::variable;

/// Below this many bytes of traffic a kernel finishes sooner than the other cores wake up.
pub(crate) const SERIAL_BYTES: usize = 256 * 1024;

/// How long a helper looks for the next kernel before it goes to sleep: kernels often follow each other closely, and
/// waking a thread costs more than a small one takes.
const PATIENCE: Duration = Duration::from_micros(40);

/// More threads than this are not asked for, but a mistake.
const MOST_THREADS: u64 = 1024;

thread_local! {
    /// Set while this thread works on a piece: pieces are not split again.
    static INSIDE: Cell<bool> = const { Cell::new(false) };
    /// A number of cores to split for, instead of the machine's; for tests.
    static CORES: Cell<Option<usize>> = const { Cell::new(None) };
}

/// The number of threads that work on one kernel: the machine's cores, or `PELLUCID_THREADS` (1 to 1024).
pub(crate) fn cores() -> usize {
    static MACHINE: OnceLock<usize> = OnceLock::new();
    CORES.get().unwrap_or_else(|| {
        *MACHINE.get_or_init(|| {
            let wished = variable::number("PELLUCID_THREADS", 1..=MOST_THREADS);
            wished.map_or_else(
                || std::thread::available_parallelism().map_or(1, |n| n.get()),
                |threads| threads as usize,
            )
        })
    })
}

/// Runs `f` with kernels split for this many cores, however many there are.
#[cfg(test)]
pub(crate) fn with_cores<R>(cores: usize, f: impl FnOnce() -> R) -> R {
    let before = CORES.replace(Some(cores));
    let result = f();
    CORES.set(before);
    result
}

/// Calls `body` with consecutive ranges that cover `0..count`, on several cores if `bytes_per_item · count` is worth
/// it. Ranges start at multiples of `grain`.
pub(crate) fn ranges(count: usize, grain: usize, bytes_per_item: usize, body: impl Fn(Range<usize>) + Sync) {
    let grain = grain.max(1);
    let threads = threads(count, grain, bytes_per_item);
    if threads == 1 {
        if count > 0 {
            body(0..count);
        }
        return;
    }
    // A few pieces per core, so that a core that started late or was interrupted does not hold up the others.
    pieces(count, count.div_ceil(cores() * 4).next_multiple_of(grain), &|_, range| body(range));
}

/// How many threads at most call the body of [`ranges`] at a time.
pub(crate) fn threads(count: usize, grain: usize, bytes_per_item: usize) -> usize {
    let cores = cores();
    if cores == 1 || count <= grain.max(1) || count.saturating_mul(bytes_per_item) < SERIAL_BYTES {
        1
    } else {
        cores
    }
}

/// As [`ranges`], for work that can fail; the first error is returned.
pub(crate) fn try_ranges(
    count: usize,
    grain: usize,
    bytes_per_item: usize,
    body: impl Fn(Range<usize>) -> Result<()> + Sync,
) -> Result<()> {
    let failure = OnceLock::new();
    ranges(count, grain, bytes_per_item, |range| {
        if let Err(e) = body(range) {
            // A second error says nothing more than the first.
            let _ = failure.set(e);
        }
    });
    failure.into_inner().map_or(Ok(()), Err)
}

/// Calls `body` on several cores with the number of each piece of `0..count` and its range. Not generic: the machinery
/// behind it is compiled once, not for every kernel.
pub(crate) fn pieces(count: usize, piece: usize, body: &(dyn Fn(usize, Range<usize>) + Sync)) {
    let piece = piece.max(1);
    let number = count.div_ceil(piece);
    let run = |i: usize| body(i, i * piece..((i + 1) * piece).min(count));
    if number <= 1 || INSIDE.get() || cores() == 1 || !Team::get().share(number, &run) {
        (0..number).for_each(run);
    }
}

/// One kernel being worked on.
struct Job {
    /// Calls a piece by its number. Valid until the job is withdrawn and nobody works on it.
    run: *const (dyn Fn(usize) + Sync),
    number: usize,
    next: AtomicUsize,
    panic: Mutex<Option<Box<dyn Any + Send>>>,
}

// SAFETY: `run` is `Sync`, and `Team::share` keeps it alive while helpers can reach the job.
unsafe impl Sync for Job {}

impl Job {
    /// Works on pieces until none is left.
    fn work(&self) {
        struct Leave;
        impl Drop for Leave {
            fn drop(&mut self) {
                INSIDE.set(false);
            }
        }
        INSIDE.set(true);
        let _leave = Leave;
        loop {
            let i = self.next.fetch_add(1, Ordering::Relaxed);
            if i >= self.number {
                return;
            }
            // SAFETY: the job is alive while its pieces are worked on.
            let run = unsafe { &*self.run };
            if let Err(panic) = catch_unwind(AssertUnwindSafe(|| run(i))) {
                self.panic.lock().get_or_insert(panic);
                self.next.store(self.number, Ordering::Relaxed);
            }
        }
    }
}

struct Team {
    /// Taken by the thread whose kernel is worked on.
    busy: AtomicBool,
    /// Counts jobs, so that a helper that does not sleep notices a new one without the lock.
    turn: AtomicU64,
    /// Of the standard library, as the condition is: a thread that sleeps leaves no trace in a list of the process, which
    /// a forked child would find and stumble over.
    board: StdMutex<Board>,
    news: Condvar,
    /// Helpers on the current job.
    working: AtomicUsize,
}

struct Board {
    job: Option<*const Job>,
    asleep: usize,
}

// SAFETY: the pointer is only followed as `Team::share` describes.
unsafe impl Send for Board {}

/// The team of this process; null until it is needed.
static TEAM: AtomicPtr<Team> = AtomicPtr::new(std::ptr::null_mut());

impl Team {
    fn get() -> &'static Team {
        // SAFETY: null, or a team, which lives as long as the process.
        unsafe { TEAM.load(Ordering::Acquire).as_ref() }.unwrap_or_else(Team::found)
    }

    /// Makes the team, and the threads of its helpers.
    #[cold]
    fn found() -> &'static Team {
        static FOUNDING: Mutex<()> = Mutex::new(());
        let _founding = FOUNDING.lock();
        // SAFETY: as above.
        if let Some(team) = unsafe { TEAM.load(Ordering::Acquire).as_ref() } {
            return team;
        }
        // A forked child has none of the threads, and makes a team of its own. Their work is done: kernels belong to
        // streams, which look after that.
        let in_child = |_: bool| TEAM.store(std::ptr::null_mut(), Ordering::Release);
        fork::introduce(fork::Name::Team, fork::Part { is_quiet: || true, in_child });
        let team: &'static Team = Box::leak(Box::new(Team {
            busy: AtomicBool::new(false),
            turn: AtomicU64::new(0),
            board: StdMutex::new(Board { job: None, asleep: 0 }),
            news: Condvar::new(),
            working: AtomicUsize::new(0),
        }));
        for i in 1..cores() {
            // Without a thread the kernel is slower, not wrong.
            let _ = std::thread::Builder::new().name(format!("pellucid-core-{i}")).spawn(move || team.help());
        }
        TEAM.store(std::ptr::from_ref(team).cast_mut(), Ordering::Release);
        team
    }

    /// The board. A panic while it is held is a defect, but what it says stays true.
    fn board(&self) -> MutexGuard<'_, Board> {
        self.board.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Works on the pieces together with the helpers; false if they have another kernel.
    fn share(&self, number: usize, run: &(dyn Fn(usize) + Sync)) -> bool {
        if self.busy.swap(true, Ordering::Acquire) {
            return false;
        }
        let run: *const (dyn Fn(usize) + Sync + '_) = run;
        // SAFETY: only the lifetime changes; the job is withdrawn, and all helpers have left it, before this returns.
        let run: *const (dyn Fn(usize) + Sync) = unsafe { std::mem::transmute(run) };
        let job = Job { run, number, next: AtomicUsize::new(0), panic: Mutex::new(None) };
        let asleep = {
            let mut board = self.board();
            board.job = Some(&raw const job);
            self.turn.fetch_add(1, Ordering::Release);
            board.asleep
        };
        for _ in 0..asleep.min(number - 1) {
            self.news.notify_one();
        }
        job.work();
        self.board().job = None;
        // Pieces are short and all are begun: the helpers leave soon.
        let mut rounds = 0u32;
        while self.working.load(Ordering::Acquire) != 0 {
            rounds += 1;
            if rounds < 2000 { spin_loop() } else { std::thread::yield_now() }
        }
        self.busy.store(false, Ordering::Release);
        if let Some(panic) = job.panic.lock().take() {
            resume_unwind(panic);
        }
        true
    }

    fn help(&self) {
        fork::note_staff();
        let mut seen = 0;
        loop {
            let since = Instant::now();
            while self.turn.load(Ordering::Acquire) == seen && since.elapsed() < PATIENCE {
                for _ in 0..32 {
                    spin_loop();
                }
            }
            let mut board = self.board();
            while self.turn.load(Ordering::Acquire) == seen {
                board.asleep += 1;
                board = self.news.wait(board).unwrap_or_else(PoisonError::into_inner);
                board.asleep -= 1;
            }
            seen = self.turn.load(Ordering::Acquire);
            let Some(job) = board.job else { continue };
            // Counted under the lock: a withdrawn job is never entered.
            self.working.fetch_add(1, Ordering::Relaxed);
            drop(board);
            // SAFETY: `share` waits until `working` is zero before the job ends.
            unsafe { (*job).work() };
            self.working.fetch_sub(1, Ordering::Release);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_piece_runs_once() {
        for count in [0, 1, 7, 1000, 12345] {
            let hits: Vec<AtomicUsize> = (0..count).map(|_| AtomicUsize::new(0)).collect();
            pieces(count, 10, &|_, range| {
                range.for_each(|i| {
                    hits[i].fetch_add(1, Ordering::Relaxed);
                });
            });
            assert!(hits.iter().all(|h| h.load(Ordering::Relaxed) == 1));
        }
    }

    #[test]
    fn a_panic_in_a_piece_reaches_the_caller_and_the_team_goes_on() {
        let result = catch_unwind(|| pieces(100, 1, &|i, _| assert!(i != 57, "piece 57")));
        assert!(result.is_err());
        every_piece_runs_once();
    }

    #[test]
    fn kernels_called_from_many_threads_and_from_inside_pieces_finish() {
        let total = AtomicUsize::new(0);
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    for _ in 0..50 {
                        pieces(64, 1, &|_, _| {
                            pieces(4, 1, &|_, range| {
                                total.fetch_add(range.len(), Ordering::Relaxed);
                            });
                        });
                    }
                });
            }
        });
        assert_eq!(total.load(Ordering::Relaxed), 8 * 50 * 64 * 4);
    }
}
