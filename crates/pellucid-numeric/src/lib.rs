//! Fourier transforms and dense linear algebra on slices, without arrays, graphs or threads.
//!
//! `rustfft` and `faer` are generic: their code is made where their functions are called for a type. This crate calls
//! them for the types that arrays have, behind functions that are not generic, so that it is compiled once and not with
//! every change of the library. Matrices are row-major and without gaps; everything runs on the calling thread, which
//! may be one of many that work on different matrices.

pub mod fft;
pub mod linalg;
