//! `manifest.json`: what was captured, on what, and what is missing.

use serde::{Deserialize, Serialize};

/// The value of [`Manifest::format`].
pub const FORMAT: &str = "pltrace";
/// The newest version of the file that this crate reads, and the one it writes. Older ones are read too.
pub const VERSION: u32 = 2;

/// How much a capture records.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// Operations, launches, memory and waits.
    Timeline,
    /// Also figures of every array.
    Stats,
    /// Also the arrays that a replay needs.
    #[default]
    Replay,
    /// Also every output.
    Full,
}

impl Mode {
    /// The word in the manifest.
    pub fn as_str(self) -> &'static str {
        match self {
            Mode::Timeline => "timeline",
            Mode::Stats => "stats",
            Mode::Replay => "replay",
            Mode::Full => "full",
        }
    }
}

macro_rules! part {
    ($(#[$meta:meta])* $name:ident { $( $(#[$field_meta:meta])* $field:ident: $ty:ty, )* }) => {
        $(#[$meta])*
        #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
        #[serde(default)]
        pub struct $name { $( $(#[$field_meta])* pub $field: $ty, )* }
    };
}

part! {
    /// Everything about a trace that is not a row. The writer fills in `format`, `version`, `mode`, `counts`,
    /// `truncated` and `partial`, and adds to `left_out`; the rest is the recorder's.
    Manifest {
        /// Always [`FORMAT`].
        format: String,
        /// Version of the file.
        version: u32,
        /// Program that wrote the file, e.g. `pellucid 0.1.0`.
        writer: String,
        /// The captured program.
        program: Program,
        /// Where it ran.
        machine: Machine,
        /// Devices that took part.
        devices: Vec<DeviceInfo>,
        /// Streams that took part.
        streams: Vec<StreamInfo>,
        /// How much was recorded.
        mode: Mode,
        /// When.
        window: Window,
        /// Memory at the ends of the window.
        memory: MemoryTotals,
        /// Rows and members in the file.
        counts: Counts,
        /// True if something was left out.
        truncated: bool,
        /// What was left out, and why.
        left_out: Vec<String>,
        /// True if the capture did not end by itself: a panic, a killed process.
        partial: bool,
        /// Captures made by the system's own tools beside this one.
        native: Vec<NativeCapture>,
        /// Named parts of the program.
        regions: Vec<Region>,
    }
}

part! {
    /// The captured program.
    Program {
        /// Name of the executable.
        name: String,
        /// Its arguments.
        args: Vec<String>,
        /// Its process id.
        pid: u32,
    }
}

part! {
    /// The computer.
    Machine {
        /// Operating system.
        os: String,
        /// Instruction set.
        arch: String,
        /// Name of the processor.
        cpu: String,
        /// Processor cores.
        cores: u32,
        /// Main memory.
        memory_bytes: u64,
    }
}

part! {
    /// The fastest a device goes, as measured.
    Roof {
        /// Memory traffic.
        bytes_per_second: f64,
        /// Arithmetic.
        flops_per_second: f64,
    }
}

part! {
    /// A device.
    DeviceInfo {
        /// Its name in the tables, e.g. `Device(cpu, 0)`.
        device: String,
        /// `cpu` or `gpu`.
        #[serde(rename = "type")]
        kind: String,
        /// Which of its kind.
        index: u32,
        /// The maker's name for it.
        name: String,
        /// Architecture.
        architecture: String,
        /// `cpu`, `vulkan`, `metal` or `dx12`.
        backend: String,
        /// Driver.
        driver: String,
        /// Its memory.
        memory_bytes: u64,
        /// What it can do.
        features: Vec<String>,
        /// How fast it is, if measured.
        roof: Option<Roof>,
    }
}

part! {
    /// A stream.
    StreamInfo {
        /// Its index in the tables.
        index: u32,
        /// Its device.
        device: String,
        /// Its name.
        label: String,
    }
}

part! {
    /// The time of the capture.
    Window {
        /// Start in nanoseconds since 1970.
        start_unix_ns: i64,
        /// Length; all times of the tables lie between 0 and this.
        duration_ns: i64,
    }
}

part! {
    /// Memory at the ends of the window, in bytes.
    MemoryTotals {
        /// Held by arrays at the start.
        active_at_start: u64,
        /// Kept for reuse at the start.
        cache_at_start: u64,
        /// Held by arrays at the end.
        active_at_end: u64,
        /// Kept for reuse at the end.
        cache_at_end: u64,
        /// Largest amount held by arrays.
        peak: u64,
        /// The limit that was set.
        limit: u64,
    }
}

part! {
    /// Numbers of rows and members.
    #[derive(Eq, Copy)]
    Counts {
        /// Rows of `ops`.
        ops: u64,
        /// Those of them that are inputs.
        inputs: u64,
        /// Rows of `launches`.
        launches: u64,
        /// Rows of `dispatches`.
        dispatches: u64,
        /// Rows of `memory`.
        memory: u64,
        /// Rows of `sync`.
        sync: u64,
        /// Rows of `stats`.
        stats: u64,
        /// Members of `kernels/`.
        kernels: u64,
        /// Members of `tensors/`.
        tensors: u64,
        /// Regions of the manifest.
        regions: u64,
    }
}

part! {
    /// A capture made by the system's own tool.
    NativeCapture {
        /// E.g. `gputrace`.
        kind: String,
        /// Where it is.
        path: String,
        /// Whether it worked.
        ok: bool,
        /// What the tool said.
        message: String,
    }
}

part! {
    /// A named part of the program.
    Region {
        /// Its number.
        id: u32,
        /// The region around it.
        parent: Option<u32>,
        /// Its name.
        name: String,
        /// When it began.
        start_ns: i64,
        /// When it ended.
        end_ns: i64,
        /// The thread it ran on.
        thread: String,
    }
}

/// What says that an operation of `ops` is an array from before the window.
pub(crate) fn is_input(op: &str) -> bool {
    op.starts_with("{\"input\"")
}
