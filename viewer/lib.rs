#![doc = include_str!("README.md")]

/// The viewer as one HTML page.
pub const PAGE: &str = include_str!("dist/viewer.html");

/// The place in [`PAGE`] where a trace goes.
pub const PLACE: &str = "<!-- trace -->";
