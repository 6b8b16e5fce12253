//! What the viewer's page asks of `pellucid-trace`: the same analysis and the same comparison that the command prints,
//! as JSON. `boundary` is the part that talks to the browser; everything else runs and is tested anywhere.
//!
//! `cargo xtask wasm` compiles it into `viewer/wasm`.

#[cfg(target_family = "wasm")]
mod boundary;
mod desk;

pub use desk::Desk;
