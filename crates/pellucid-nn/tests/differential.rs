//! Every layer, loss, optimiser, schedule and initialiser against what `mlx.nn` and `mlx.optimizers` computed.
//! `fixtures/generate.py` makes the file.
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod differential {
    pub mod cases;
    mod functions;
    mod layers;
    mod optimizers;
}
