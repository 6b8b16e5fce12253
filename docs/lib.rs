//! The pages of this folder and the project's README as documentation tests: what they show compiles and runs.
#![cfg(doctest)]

macro_rules! pages {
    ($($name:ident: $file:literal;)*) => {
        $(#[doc = include_str!($file)]
        pub struct $name;)*
    };
}

pages! {
    Features: "features.md";
    Gpu: "gpu.md";
    MetalDebugger: "metal-debugger.md";
    MlxUsers: "mlx-users.md";
    Readme: "../README.md";
    RustForNewcomers: "rust-for-newcomers.md";
    Transforms: "transforms.md";
}
