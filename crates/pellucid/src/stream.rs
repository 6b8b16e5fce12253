//! Streams: ordered queues of work on a device, defaults, and scopes that choose them.

use std::cell::Cell;
use std::collections::VecDeque;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;
use std::sync::atomic::{AtomicPtr, Ordering};

use parking_lot::{Mutex, RwLock};

use crate::device::{self, Device};
use crate::error::{Error, Result};
use crate::eval::{Batch, Drive, Failure, is_given_up, report_host_wait};
use crate::fork;
use crate::observe::observed_now;

/// An ordered queue of work on a device. Work of one stream runs in order; streams run side by side. A stream works from
/// every thread.
///
/// ```
/// use pellucid::{Array, Device, new_stream, ops, with_stream};
/// # fn main() -> pellucid::Result<()> {
/// let s = new_stream(Device::cpu())?;
/// s.set_label("loader");
/// let a = with_stream(s, || ops::add(&Array::from([1.0f32, 2.0]), 1.0));
/// assert_eq!(a.to_vec::<f32>()?, [2.0, 3.0]);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy)]
pub struct Stream(&'static StreamCore);

/// What a stream is made of. Streams live as long as the process, so that a handle is a plain reference.
pub(crate) struct StreamCore {
    index: usize,
    device: Device,
    label: RwLock<Option<Arc<str>>>,
    pub(crate) queue: Mutex<Queue>,
    /// Failures nobody has been told of, oldest first.
    unseen: Mutex<VecDeque<Arc<Failure>>>,
}

/// More failures than this are not kept for `synchronize`; their arrays carry them all the same.
const MOST_UNSEEN: usize = 64;

/// The work of a stream that has not begun.
#[derive(Default)]
pub(crate) struct Queue {
    pub batches: VecDeque<Arc<Batch>>,
    /// Who runs it.
    pub drive: Drive,
    /// The thread that runs it waits for memory.
    pub stuck: bool,
    /// Batches done so far.
    pub finished: u64,
    /// The batch enqueued last, kept to wait for until it is done.
    pub last: Option<Arc<Batch>>,
    /// The batch that further steps join, and the plan it belongs to; only used while planning.
    pub open: Option<(u64, Arc<Batch>)>,
}

impl Queue {
    /// Lets go of a batch that is done: an idle stream keeps nothing.
    pub fn forget(&mut self, done: &Batch) {
        if self.last.as_deref().is_some_and(|last| std::ptr::eq(last, done)) {
            self.last = None;
        }
    }
}

static STREAMS: RwLock<Vec<Stream>> = RwLock::new(Vec::new());
static DEFAULTS: RwLock<Vec<(Device, Stream)>> = RwLock::new(Vec::new());
/// The default device's default stream, found without a lock; null until asked for, and after either default changed.
static FOUND: AtomicPtr<StreamCore> = AtomicPtr::new(std::ptr::null_mut());

thread_local! {
    static SCOPE: Cell<Option<Stream>> = const { Cell::new(None) };
}

impl Stream {
    /// The device it belongs to.
    pub fn device(self) -> Device {
        self.0.device
    }

    /// Its number; streams of all devices are counted together.
    pub fn index(self) -> usize {
        self.0.index
    }

    /// The name given with [`Stream::set_label`], or `stream N`.
    pub fn label(self) -> String {
        self.0
            .label
            .read()
            .as_ref()
            .map_or_else(|| format!("stream {}", self.0.index), |label| label.to_string())
    }

    /// Names the stream, for captures, graphs and reports.
    pub fn set_label(self, label: impl AsRef<str>) {
        *self.0.label.write() = Some(label.as_ref().into());
    }

    pub(crate) fn core(self) -> &'static StreamCore {
        self.0
    }

    /// Remembers a failure for `synchronize`.
    pub(crate) fn record_failure(self, failure: &Arc<Failure>) {
        let mut unseen = self.0.unseen.lock();
        unseen.retain(|earlier| !earlier.is_seen() && !Arc::ptr_eq(earlier, failure));
        if unseen.len() < MOST_UNSEEN {
            unseen.push_back(failure.clone());
        }
    }

    fn take_unseen(self) -> Result<()> {
        let mut unseen = self.0.unseen.lock();
        while let Some(failure) = unseen.pop_front() {
            if !failure.is_seen() {
                return Err(failure.tell());
            }
        }
        Ok(())
    }
}

/// The stream operations are put on by this thread now: the innermost scope's, else the default device's default.
pub(crate) fn current_stream() -> Result<Stream> {
    if let Some(stream) = SCOPE.get() {
        return Ok(stream);
    }
    // SAFETY: null, or a stream, which lives as long as the process.
    if let Some(core) = unsafe { FOUND.load(Ordering::Acquire).as_ref() } {
        return Ok(Stream(core));
    }
    find_default()
}

#[cold]
fn find_default() -> Result<Stream> {
    let device = device::process_default();
    let stream = default_stream(device)?;
    FOUND.store(std::ptr::from_ref(stream.0).cast_mut(), Ordering::Release);
    // A default may have changed in between; what was found then must not stay.
    if device::process_default() != device || default_stream(device)? != stream {
        forget_default();
    }
    Ok(stream)
}

/// Makes the next operation look for the default stream again.
pub(crate) fn forget_default() {
    FOUND.store(std::ptr::null_mut(), Ordering::Release);
}

/// A stream for an array that only carries an error: the current one, or one of the CPU if there is none.
pub(crate) fn any_stream() -> Stream {
    let cpu = Device::cpu();
    current_stream().or_else(|_| default_stream(cpu)).unwrap_or_else(|_| register(cpu))
}

/// The device of the innermost scope on this thread, if there is one.
pub(crate) fn scoped_device() -> Option<Device> {
    SCOPE.get().map(Stream::device)
}

/// The stream that work on a device goes to unless told otherwise. It is made on first use.
///
/// # Errors
/// [`Error::Device`](crate::Error::Device) if there is no such device.
pub fn default_stream(device: Device) -> Result<Stream> {
    if let Some(scope) = SCOPE.get()
        && scope.device() == device
    {
        return Ok(scope);
    }
    let find = |list: &[(Device, Stream)]| list.iter().find(|(d, _)| *d == device).map(|&(_, s)| s);
    if let Some(stream) = find(&DEFAULTS.read()) {
        return Ok(stream);
    }
    device::check("default_stream", device)?;
    let mut defaults = DEFAULTS.write();
    if let Some(stream) = find(&defaults) {
        return Ok(stream);
    }
    let stream = register(device);
    defaults.push((device, stream));
    Ok(stream)
}

/// Makes `stream` the default of its device, for every thread. The default device stays as it is.
///
/// # Errors
/// None today: a stream is only made for a device that is there.
pub fn set_default_stream(stream: Stream) -> Result<()> {
    let mut defaults = DEFAULTS.write();
    match defaults.iter_mut().find(|(d, _)| *d == stream.device()) {
        Some((_, current)) => *current = stream,
        None => defaults.push((stream.device(), stream)),
    }
    drop(defaults);
    forget_default();
    Ok(())
}

/// Makes a new stream on a device.
///
/// # Errors
/// [`Error::Device`](crate::Error::Device) if there is no such device.
///
/// # Cost
/// A few hundred bytes for the life of the process; no thread.
pub fn new_stream(device: Device) -> Result<Stream> {
    device::check("new_stream", device)?;
    Ok(register(device))
}

fn register(device: Device) -> Stream {
    let mut streams = STREAMS.write();
    let stream = Stream(Box::leak(Box::new(StreamCore {
        index: streams.len(),
        device,
        label: RwLock::new(None),
        queue: Mutex::new(Queue::default()),
        unseen: Mutex::new(VecDeque::new()),
    })));
    streams.push(stream);
    stream
}

/// Every stream there is, by index.
pub fn streams() -> Vec<Stream> {
    STREAMS.read().clone()
}

/// Runs `f` with operations of this thread put on `stream`, and its device as the default one. Scopes nest, and end
/// when `f` returns or panics.
pub fn with_stream<R>(stream: Stream, f: impl FnOnce() -> R) -> R {
    struct Restore(Option<Stream>);
    impl Drop for Restore {
        fn drop(&mut self) {
            SCOPE.set(self.0);
        }
    }
    let _restore = Restore(SCOPE.replace(Some(stream)));
    f()
}

/// Puts operations of this thread on `scope` from now on, or back on the default stream, and returns what was before.
/// For language bindings whose scopes begin and end in different calls; everywhere else [`with_stream`] is safer.
///
/// ```
/// use pellucid::{Device, default_device, new_stream, replace_scope};
/// # fn main() -> pellucid::Result<()> {
/// let before = replace_scope(Some(new_stream(Device::cpu())?));
/// assert_eq!(default_device(), Device::cpu());
/// replace_scope(before);
/// # Ok(())
/// # }
/// ```
pub fn replace_scope(scope: Option<Stream>) -> Option<Stream> {
    SCOPE.replace(scope)
}

/// Runs `f` with operations of this thread put on the default stream of `device`.
///
/// # Errors
/// [`Error::Device`](crate::Error::Device) if there is no such device; `f` is not called then.
pub fn with_device<R>(device: Device, f: impl FnOnce() -> R) -> Result<R> {
    Ok(with_stream(default_stream(device)?, f))
}

/// Waits until everything put on the stream so far is done; without a stream, on the default one.
///
/// # Errors
/// The error of failed work on the stream that no evaluation has returned yet, once.
pub fn synchronize(stream: impl Into<Option<Stream>>) -> Result<()> {
    let stream = match stream.into() {
        Some(stream) => stream,
        None => current_stream()?,
    };
    fork::check("synchronize")?;
    let last = stream.core().queue.lock().last.clone();
    let started = observed_now();
    if let Some(batch) = last {
        batch.wait(None);
    }
    report_host_wait(stream, started);
    if is_given_up() {
        return Err(Error::Interrupted { function: "synchronize" });
    }
    stream.take_unseen()
}

impl PartialEq for Stream {
    fn eq(&self, other: &Stream) -> bool {
        std::ptr::eq(self.0, other.0)
    }
}

impl Eq for Stream {}

impl Hash for Stream {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.index.hash(state);
    }
}

impl fmt::Display for Stream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Stream({}, {})", self.0.device, self.0.index)
    }
}

impl fmt::Debug for Stream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
