//! A user's kernel on the host: what it does there, and what it sees.

use std::collections::HashMap;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, LazyLock, Weak};

use parking_lot::Mutex;

use crate::array::{Dtype, Element};
use crate::error::{Error, Result};

/// The arrays of one call of a [`Kernel`](crate::gpu::Kernel) on the host, all row-major.
#[derive(Debug)]
pub struct HostCall<'a> {
    pub(crate) inputs: Vec<(&'a [u8], Dtype, &'a [usize])>,
    pub(crate) outputs: Vec<(&'a mut [u8], Dtype, &'a [usize])>,
    pub(crate) grid: [u32; 3],
}

/// What one kernel does on the host, if it has a version for it. Two are the same if they are one closure. Files do not
/// carry it.
#[derive(Clone, Default)]
pub struct HostVersion(Option<Arc<Work>>);

/// Versions of kernels that live in this process: what a kernel from a file, which carries none, is run with.
static KNOWN: LazyLock<Mutex<HashMap<u64, Weak<Work>>>> = LazyLock::new(Mutex::default);

type Work = dyn Fn(&mut HostCall) -> Result<()> + Send + Sync;

impl HostVersion {
    /// A version.
    pub fn new(work: impl Fn(&mut HostCall) -> Result<()> + Send + Sync + 'static) -> HostVersion {
        HostVersion(Some(Arc::new(work)))
    }

    /// Whether there is one.
    pub fn is_some(&self) -> bool {
        self.0.is_some()
    }

    /// Runs it.
    ///
    /// # Errors
    /// [`Error::Device`] if there is none; else what it returns, or [`Error::Argument`] if it panics.
    pub(crate) fn run(&self, kernel: &str, call: &mut HostCall) -> Result<()> {
        let Some(work) = &self.0 else {
            let message = format!("kernel {kernel:?} has no version for the host (see Kernel::on_host)");
            return Err(Error::device("kernel", crate::Device::cpu(), message));
        };
        catch_unwind(AssertUnwindSafe(|| work(call))).unwrap_or_else(|panic| {
            let text = panic.downcast_ref::<String>().map(String::as_str);
            let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("no message");
            let message =
                format!("kernel {kernel:?}: its version for the host, given with on_host, panicked: {text}");
            Err(Error::argument("kernel", message))
        })
    }

    /// Notes that a kernel of this identity has this version, for [`recall`](HostVersion::recall).
    pub(crate) fn note(&self, identity: u64) {
        let Some(work) = &self.0 else { return };
        let mut known = KNOWN.lock();
        if known.len() >= 64 && known.len().is_power_of_two() {
            known.retain(|_, work| work.strong_count() > 0);
        }
        known.insert(identity, Arc::downgrade(work));
    }

    /// The version that a kernel of this identity was last called with in this process, if the kernel still lives.
    pub(crate) fn recall(identity: u64) -> HostVersion {
        HostVersion(KNOWN.lock().get(&identity).and_then(Weak::upgrade))
    }

    fn address(&self) -> usize {
        self.0.as_ref().map_or(0, |work| Arc::as_ptr(work).addr())
    }
}

impl fmt::Debug for HostVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.is_some() { "HostVersion(…)" } else { "HostVersion(none)" })
    }
}

impl PartialEq for HostVersion {
    fn eq(&self, other: &HostVersion) -> bool {
        self.address() == other.address()
    }
}

impl Eq for HostVersion {}

impl Hash for HostVersion {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.address().hash(state);
    }
}

fn typed<T: Element>(what: &str, index: usize, dtype: Dtype) -> Result<()> {
    if T::DTYPE == dtype {
        return Ok(());
    }
    Err(Error::dtype("kernel", format!("{what} {index} is {dtype}, not {}", T::DTYPE)))
}

fn missing(what: &str, index: usize, count: usize) -> Error {
    Error::argument("kernel", format!("there are {count} {what}s; {what} {index} is not among them"))
}

impl HostCall<'_> {
    /// The elements of an input.
    ///
    /// # Errors
    /// If there is no such input, or it has another type.
    pub fn input<T: Element>(&self, index: usize) -> Result<&[T::Stored]> {
        let &(bytes, dtype, _) =
            self.inputs.get(index).ok_or_else(|| missing("input", index, self.inputs.len()))?;
        typed::<T>("input", index, dtype)?;
        bytemuck::try_cast_slice(bytes).map_err(|e| Error::internal("kernel", e.to_string()))
    }

    /// The elements of an output, all zero at first.
    ///
    /// # Errors
    /// If there is no such output, or it has another type.
    pub fn output<T: Element>(&mut self, index: usize) -> Result<&mut [T::Stored]> {
        let count = self.outputs.len();
        let (bytes, dtype, _) = self.outputs.get_mut(index).ok_or_else(|| missing("output", index, count))?;
        typed::<T>("output", index, *dtype)?;
        bytemuck::try_cast_slice_mut(bytes).map_err(|e| Error::internal("kernel", e.to_string()))
    }

    /// The shape of an input.
    pub fn input_shape(&self, index: usize) -> Option<&[usize]> {
        self.inputs.get(index).map(|&(_, _, shape)| shape)
    }

    /// The shape of an output.
    pub fn output_shape(&self, index: usize) -> Option<&[usize]> {
        self.outputs.get(index).map(|&(_, _, shape)| shape)
    }

    /// Invocations that were asked for.
    pub fn grid(&self) -> [u32; 3] {
        self.grid
    }
}
