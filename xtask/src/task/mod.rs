//! One module per task.

pub mod accuracy;
pub mod bench;
pub mod bench_capture;
pub mod bench_trace;
pub mod check_targets;
pub mod features;
pub mod file_length;
pub mod file_tests;
pub mod package;
pub mod programs;
pub mod python_tests;
pub mod setup;
pub mod test;
pub mod trace_tests;
pub mod viewer;
pub mod wasm;
