//! Files: round trips, files of NumPy and MLX, and damaged ones.
