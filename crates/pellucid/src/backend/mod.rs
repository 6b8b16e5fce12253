//! Where operations run.

pub(crate) mod cpu;
