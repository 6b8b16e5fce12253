//! Random numbers, as MLX makes them: from keys, by the counter-based generator Threefry-2x32.
//!
//! The same key gives the same numbers on every device. Without a key, the calling thread's own sequence of keys is
//! used; [`seed`] starts it anew.
//!
//! ```
//! use pellucid::{Dtype, random};
//! # fn main() -> pellucid::Result<()> {
//! let key = random::key(7);
//! let a = random::uniform(0, 1, [3], Dtype::Float32, Some(&key));
//! let b = random::uniform(0, 1, [3], Dtype::Float32, Some(&key));
//! assert_eq!(a.to_vec::<f32>()?, b.to_vec::<f32>()?);
//! # Ok(())
//! # }
//! ```

mod distributions;
mod keys;
mod multivariate;

#[cfg(test)]
mod tests;

pub use distributions::*;
pub use keys::{bits, key, seed, set_state, split, state};
pub use multivariate::multivariate_normal;
