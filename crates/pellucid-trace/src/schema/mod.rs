//! What a trace holds: the rows of the six tables and the manifest, exactly as `docs/trace-format.md` describes them.

use std::sync::Arc;

mod column;
mod family;
mod list;
mod manifest;
mod row;

pub use column::Column;
pub use list::{Shapes, Texts};
pub(crate) use manifest::is_input;
pub use manifest::{
    Counts, DeviceInfo, FORMAT, Machine, Manifest, MemoryTotals, Mode, NativeCapture, Program, Region, Roof,
    StreamInfo, VERSION, Window,
};
pub use row::{Row, RowBuilder, RowColumns};

use row::table;

table! {
    /// One logical operation, in the order they ran: producers before consumers.
    pub struct Op = "ops" of 18 columns in version 1, view OpView, columns OpColumns, builder OpBuilder {
        /// Number of the first output array; arrays and operations share one number space.
        pub id: u64,
        /// Short name such as `add`.
        pub name: Arc<str>,
        /// The operation as JSON; `{"input":{}}` for arrays that existed before the window.
        pub op: Arc<str>,
        /// Arrays it reads.
        pub inputs: Vec<u64>,
        /// Arrays it makes; the first is `id`.
        pub outputs: Vec<u64>,
        /// Shape of each output.
        pub shapes: Vec<Vec<u64>>,
        /// Element type of each output, e.g. `float32`.
        pub dtypes: Vec<Arc<str>>,
        /// Device, e.g. `Device(cpu, 0)`.
        pub device: Arc<str>,
        /// Index of the stream.
        pub stream: u32,
        /// The launch that ran it; `None` for views and inputs, for which nothing ran.
        pub launch: Option<u64>,
        /// The user's source line, `file:line`.
        pub call_site: Arc<str>,
        /// The user's name for the result.
        pub label: Option<Arc<str>>,
        /// The innermost region, an id of [`Manifest::regions`].
        pub region: Option<u32>,
        /// Floating-point operations by meaning.
        pub flops: u64,
        /// Bytes read and written by meaning.
        pub bytes: u64,
        /// True if it ran on the CPU although its stream is on a GPU.
        pub fallback: bool,
        /// Why it failed, if it did.
        pub error: Option<Arc<str>>,
        /// The buffer that holds the output.
        pub buffer: Option<u64>,
        /// What kind of work it is, such as `elementwise` or `reduction`; `None` in files of version 1, see
        /// [`OpView::kind`].
        pub family: Option<Arc<str>>,
        /// Why it ran on the CPU although its stream is on a GPU; `None` if it did not, and in files of version 1.
        pub fallback_reason: Option<Arc<str>>,
    }
}

table! {
    /// One kernel launch, by end time.
    pub struct Launch = "launches", view LaunchView, columns LaunchColumns, builder LaunchBuilder {
        /// Number of the launch.
        pub id: u64,
        /// Name for people, such as `add+tanh float32`.
        pub kernel: Arc<str>,
        /// Member with the kernel's text, `kernels/<hash>.wgsl`.
        pub source: Option<Arc<str>>,
        /// Device, e.g. `Device(gpu, 0)`.
        pub device: Arc<str>,
        /// Index of the stream.
        pub stream: u32,
        /// The batch it was submitted with.
        pub submission: u64,
        /// Workgroups along each axis.
        pub grid: Vec<u32>,
        /// When it was handed to the stream.
        pub enqueue_ns: i64,
        /// When it began to run.
        pub start_ns: i64,
        /// When it ended.
        pub end_ns: i64,
        /// How the times were measured: `host clock`, `gpu timestamp` or `gpu submission`.
        pub timed_by: Arc<str>,
        /// Operations it ran, producers first.
        pub ops: Vec<u64>,
        /// Bytes read and written.
        pub bytes: u64,
        /// Floating-point operations.
        pub flops: u64,
    }
}

table! {
    /// One kernel that a GPU was given: a launch is one or several of them, in this order. Since version 2. Each runs
    /// until the next one of its launch begins, so that their times add up to the launch's.
    pub struct Dispatch = "dispatches", view DispatchView, columns DispatchColumns, builder DispatchBuilder {
        /// Number of the dispatch.
        pub id: u64,
        /// The launch it is part of.
        pub launch: u64,
        /// The operation it was made for: the last one of the launch.
        pub op: u64,
        /// What the kernel is called.
        pub kernel: Arc<str>,
        /// Member with the kernel's text.
        pub source: Option<Arc<str>>,
        /// Workgroups along each axis.
        pub grid: Vec<u32>,
        /// Invocations of a workgroup along each axis.
        pub workgroup: Vec<u32>,
        /// For each binding, in order, what it is: one of [`ROLES`].
        pub roles: Vec<Arc<str>>,
        /// For each binding the array; 0 for scratch memory.
        pub arrays: Vec<u64>,
        /// For each binding the buffer.
        pub buffers: Vec<u64>,
        /// For each binding where it begins in the buffer, in bytes.
        pub offsets: Vec<u64>,
        /// For each binding its size in bytes.
        pub sizes: Vec<u64>,
        /// Numbers that the kernel was given besides, as 32-bit words.
        pub constants: Vec<u32>,
        /// When it began to run.
        pub start_ns: i64,
        /// When it ended.
        pub end_ns: i64,
        /// How the times were measured, as in [`Launch::timed_by`].
        pub timed_by: Arc<str>,
    }
}

table! {
    /// A change of memory, with the figures after it.
    pub struct Memory = "memory", view MemoryView, columns MemoryColumns, builder MemoryBuilder {
        /// When it happened.
        pub time_ns: i64,
        /// `allocate`, `reuse`, `free` or `evict`.
        pub event: Arc<str>,
        /// Number of the buffer; 0 for `evict`.
        pub buffer: u64,
        /// Size of the buffer.
        pub bytes: u64,
        /// The array it was made for.
        pub op: Option<u64>,
        /// Device.
        pub device: Arc<str>,
        /// Bytes held by arrays.
        pub active: u64,
        /// Bytes kept for reuse.
        pub cache: u64,
        /// Largest `active` so far.
        pub peak: u64,
    }
}

table! {
    /// A wait for a stream by another stream or by the host.
    pub struct Sync = "sync", view SyncView, columns SyncColumns, builder SyncBuilder {
        /// When the wait began.
        pub time_ns: i64,
        /// Index of the stream that waited; -1 is the host.
        pub waiter: i32,
        /// Index of the stream it waited for.
        pub waited_for: u32,
        /// How long it waited.
        pub duration_ns: i64,
    }
}

table! {
    /// Figures of one array's elements.
    pub struct Stats = "stats", view StatsView, columns StatsColumns, builder StatsBuilder {
        /// The array.
        pub array: u64,
        /// The operation that made it.
        pub op: u64,
        /// Element type.
        pub dtype: Arc<str>,
        /// Number of elements.
        pub size: u64,
        /// Smallest finite element; of magnitudes for complex arrays.
        pub min: Option<f64>,
        /// Largest finite element.
        pub max: Option<f64>,
        /// Mean of the finite elements.
        pub mean: Option<f64>,
        /// Number of NaNs.
        pub nan: u64,
        /// Number of infinite elements.
        pub inf: u64,
        /// Number of zeros.
        pub zero: u64,
        /// 16 hex digits: XXH3-64 of the row-major little-endian bytes.
        pub hash: Arc<str>,
    }
}

/// Words of [`Launch::timed_by`].
pub const TIMED_BY: [&str; 3] = ["host clock", "gpu timestamp", "gpu submission"];
/// Words of [`Memory::event`].
pub const MEMORY_EVENTS: [&str; 4] = ["allocate", "reuse", "free", "evict"];
/// Words of [`Dispatch::roles`]: an array that the launch makes, one that it reads, memory of the kernel's own.
pub const ROLES: [&str; 3] = ["output", "input", "scratch"];
/// The tables, in the order the writer flushes them.
pub const TABLES: [&str; 6] =
    [Op::TABLE, Launch::TABLE, Dispatch::TABLE, Memory::TABLE, Sync::TABLE, Stats::TABLE];

/// The hash of [`Stats::hash`] and of kernel names: XXH3-64 as 16 hex digits.
///
/// ```
/// assert_eq!(pellucid_trace::hash(b""), "2d06800538d394c2");
/// ```
pub fn hash(bytes: &[u8]) -> String {
    format!("{:016x}", xxhash_rust::xxh3::xxh3_64(bytes))
}

/// The member that holds a kernel's text.
///
/// ```
/// assert_eq!(pellucid_trace::kernel_member("", "wgsl"), "kernels/2d06800538d394c2.wgsl");
/// ```
pub fn kernel_member(text: &str, extension: &str) -> String {
    format!("kernels/{}.{extension}", hash(text.as_bytes()))
}
