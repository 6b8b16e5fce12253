//! Where operations run.

pub(crate) mod cpu;
pub(crate) mod gpu;
