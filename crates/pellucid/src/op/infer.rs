//! The one rule for what an operation accepts and what it returns.
