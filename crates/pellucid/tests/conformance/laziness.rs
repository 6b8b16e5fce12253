//! To come.

use crate::conformance;

conformance! {}
