//! Data in batches: in order or shuffled, made ahead by a thread with a stream of its own.

use std::panic::resume_unwind;
use std::sync::mpsc::{Receiver, sync_channel};
use std::sync::{Arc, OnceLock};
use std::thread::{Builder, JoinHandle};

use pellucid::transform::Tree;
use pellucid::{Array, Error, Result, Stream, default_device, eval, new_stream, ops, random, with_stream};

/// Samples that can be fetched by their numbers. Arrays, and tuples of arrays of one length, are such along their first
/// axis.
pub trait Dataset: Send + Sync + 'static {
    /// What some samples together are.
    type Batch: Tree + Send + 'static;

    /// How many samples there are.
    fn len(&self) -> usize;

    /// Whether there are none.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The samples with these numbers. Random numbers drawn here depend on the loader's seed, the epoch and the batch
    /// alone.
    fn batch(&self, numbers: &[usize]) -> Self::Batch;
}

/// The rows with these numbers.
#[track_caller]
fn rows(array: &Array, numbers: &[usize]) -> Array {
    let indices: Array = numbers.iter().map(|&number| number as u32).collect();
    ops::take(array, &indices, 0)
}

fn length(arrays: &[&Array]) -> usize {
    arrays.iter().map(|array| array.shape().first().copied().unwrap_or(0)).min().unwrap_or(0)
}

impl Dataset for Array {
    type Batch = Array;

    fn len(&self) -> usize {
        length(&[self])
    }

    fn batch(&self, numbers: &[usize]) -> Array {
        rows(self, numbers)
    }
}

impl Dataset for (Array, Array) {
    type Batch = (Array, Array);

    fn len(&self) -> usize {
        length(&[&self.0, &self.1])
    }

    fn batch(&self, numbers: &[usize]) -> (Array, Array) {
        (rows(&self.0, numbers), rows(&self.1, numbers))
    }
}

impl Dataset for (Array, Array, Array) {
    type Batch = (Array, Array, Array);

    fn len(&self) -> usize {
        length(&[&self.0, &self.1, &self.2])
    }

    fn batch(&self, numbers: &[usize]) -> (Array, Array, Array) {
        (rows(&self.0, numbers), rows(&self.1, numbers), rows(&self.2, numbers))
    }
}

/// Samples that a function makes.
struct FromFn<F> {
    len: usize,
    f: F,
}

impl<B: Tree + Send + 'static, F: Fn(&[usize]) -> B + Send + Sync + 'static> Dataset for FromFn<F> {
    type Batch = B;

    fn len(&self) -> usize {
        self.len
    }

    fn batch(&self, numbers: &[usize]) -> B {
        (self.f)(numbers)
    }
}

/// A data set of `len` samples whose batches a function makes of the samples' numbers.
pub fn from_fn<B: Tree + Send + 'static>(
    len: usize,
    f: impl Fn(&[usize]) -> B + Send + Sync + 'static,
) -> impl Dataset<Batch = B> {
    FromFn { len, f }
}

/// Batches of a data set, epoch by epoch.
///
/// ```
/// use pellucid_nn::prelude::*;
/// # fn main() -> pellucid::Result<()> {
/// let x = ops::arange(0, 10, 1, Dtype::Int32);
/// let loader = DataLoader::new(x, 4).shuffle(7).prefetch(2);
/// let mut seen: Vec<i32> = Vec::new();
/// for batch in loader.epoch(0) {
///     seen.extend(batch?.to_vec::<i32>()?);
/// }
/// assert_eq!(loader.batches(), 3);
/// assert_ne!(seen, (0..10).collect::<Vec<_>>());
/// seen.sort();
/// assert_eq!(seen, (0..10).collect::<Vec<_>>());
/// # Ok(())
/// # }
/// ```
pub struct DataLoader<D> {
    data: Arc<D>,
    batch_size: usize,
    seed: Option<u64>,
    drop_last: bool,
    prefetch: usize,
    stream: Arc<OnceLock<Stream>>,
}

impl<D: Dataset> DataLoader<D> {
    /// Batches of this many samples, at least one, in order; two are made ahead.
    pub fn new(data: D, batch_size: usize) -> DataLoader<D> {
        DataLoader {
            data: Arc::new(data),
            batch_size: batch_size.max(1),
            seed: None,
            drop_last: false,
            prefetch: 2,
            stream: Arc::default(),
        }
    }

    /// In an order that depends on a seed and the epoch.
    #[must_use]
    pub fn shuffle(self, seed: u64) -> Self {
        DataLoader { seed: Some(seed), ..self }
    }

    /// Without a last batch that is smaller, so that a compiled step is recorded once.
    #[must_use]
    pub fn drop_last(self) -> Self {
        DataLoader { drop_last: true, ..self }
    }

    /// How many batches are made ahead by a thread of the loader; with none, each is made when it is asked for.
    #[must_use]
    pub fn prefetch(self, batches: usize) -> Self {
        DataLoader { prefetch: batches, ..self }
    }

    /// The data.
    pub fn data(&self) -> &D {
        &self.data
    }

    /// How many batches an epoch has.
    pub fn batches(&self) -> usize {
        let samples = self.data.len();
        if self.drop_last { samples / self.batch_size } else { samples.div_ceil(self.batch_size) }
    }

    /// The batches of one epoch.
    pub fn epoch(&self, epoch: u64) -> Batches<D::Batch> {
        self.start(epoch, 0, Some(epoch))
    }

    /// The batches of all epochs from a step on, counted from the first batch of the first epoch, without an end: how a
    /// run goes on after a checkpoint. Without samples there are none.
    pub fn from_step(&self, step: u64) -> Batches<D::Batch> {
        let each = self.batches().max(1) as u64;
        self.start(step / each, (step % each) as usize, None)
    }

    fn start(&self, epoch: u64, skip: usize, last: Option<u64>) -> Batches<D::Batch> {
        let work = Work {
            data: self.data.clone(),
            batch_size: self.batch_size,
            batches: self.batches(),
            seed: self.seed,
            epoch,
            next: skip,
            last,
            order: Vec::new(),
            stream: self.stream.clone(),
        };
        if self.prefetch == 0 {
            return Batches(Source::Inline(Box::new(work)));
        }
        let (send, receive) = sync_channel(self.prefetch);
        let run = move || {
            for batch in work {
                // Nobody takes batches any more.
                if send.send(batch).is_err() {
                    break;
                }
            }
        };
        match Builder::new().name("pellucid-loader".to_owned()).spawn(run) {
            Ok(thread) => Batches(Source::Thread { receive: Some(receive), thread: Some(thread) }),
            Err(error) => {
                let message = format!("the loader's thread cannot be started: {error}");
                let error = Error::Argument { function: "DataLoader", message };
                Batches(Source::Inline(Box::new(std::iter::once(Err(error)))))
            }
        }
    }
}

/// The batches that are still to be made.
struct Work<D> {
    data: Arc<D>,
    batch_size: usize,
    batches: usize,
    seed: Option<u64>,
    epoch: u64,
    /// The number of the next batch in the epoch.
    next: usize,
    /// The last epoch, if there is one.
    last: Option<u64>,
    /// The samples of the epoch in order; empty if they are not chosen yet.
    order: Vec<usize>,
    stream: Arc<OnceLock<Stream>>,
}

/// A seed for a batch, or for the order of an epoch, that no other one has.
fn mixed(seed: u64, epoch: u64, batch: u64) -> u64 {
    let mut x = seed;
    for part in [epoch, batch] {
        // The finishing steps of SplitMix64.
        x = (x ^ part).wrapping_add(0x9e37_79b9_7f4a_7c15);
        x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^= x >> 31;
    }
    x
}

impl<D: Dataset> Work<D> {
    fn stream(&self) -> Result<Stream> {
        if let Some(stream) = self.stream.get() {
            return Ok(*stream);
        }
        let stream = new_stream(default_device())?;
        stream.set_label("loader");
        Ok(*self.stream.get_or_init(|| stream))
    }

    /// Chooses the order of the epoch.
    fn choose(&mut self) -> Result<()> {
        let samples = self.data.len();
        self.order = match self.seed {
            None => (0..samples).collect(),
            Some(seed) => {
                let key = random::key(mixed(seed, self.epoch, u64::MAX));
                let order = random::permutation(samples, Some(&key)).to_vec::<u32>()?;
                order.into_iter().map(|number| number as usize).collect()
            }
        };
        Ok(())
    }

    fn make(&mut self) -> Result<D::Batch> {
        let stream = self.stream()?;
        if self.order.is_empty() {
            with_stream(stream, || self.choose())?;
        }
        let first = self.next * self.batch_size;
        let numbers = &self.order[first..self.order.len().min(first + self.batch_size)];
        let outside = random::state();
        random::seed(mixed(self.seed.unwrap_or(0), self.epoch, self.next as u64));
        let made = with_stream(stream, || {
            let batch = self.data.batch(numbers);
            eval(batch.to_leaves()).map(|()| batch)
        });
        random::set_state(&outside)?;
        made
    }
}

impl<D: Dataset> Iterator for Work<D> {
    type Item = Result<D::Batch>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.next >= self.batches {
            self.next = 0;
            self.epoch += 1;
            self.order.clear();
        }
        if self.batches == 0 || self.last.is_some_and(|last| self.epoch > last) {
            return None;
        }
        let batch = self.make();
        self.next += 1;
        Some(batch)
    }
}

/// Where batches come from.
enum Source<B> {
    Inline(Box<dyn Iterator<Item = Result<B>> + Send>),
    Thread { receive: Option<Receiver<Result<B>>>, thread: Option<JoinHandle<()>> },
}

/// Batches in order. Dropped before its end, it stops the thread that makes them.
pub struct Batches<B>(Source<B>);

impl<B> Iterator for Batches<B> {
    type Item = Result<B>;

    fn next(&mut self) -> Option<Result<B>> {
        match &mut self.0 {
            Source::Inline(work) => work.next(),
            Source::Thread { receive, thread } => {
                if let Some(batch) = receive.as_ref().and_then(|receive| receive.recv().ok()) {
                    return Some(batch);
                }
                // The end, unless the data set has panicked: that is the caller's to know.
                if let Some(Err(panic)) = thread.take().map(JoinHandle::join) {
                    resume_unwind(panic);
                }
                None
            }
        }
    }
}

impl<B> Drop for Batches<B> {
    fn drop(&mut self) {
        if let Source::Thread { receive, thread } = &mut self.0 {
            drop(receive.take());
            if let Some(thread) = thread.take() {
                // A panic of the data set after the last batch that was taken concerns nobody.
                let _ = thread.join();
            }
        }
    }
}
