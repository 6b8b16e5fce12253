//! What an operation costs by its meaning: floating-point operations, independent of how it is run.
