//! Derive macros of Pellucid. Use them through the crates `pellucid` and `pellucid-nn`, which have the traits.

mod module;
mod tree;

use proc_macro::TokenStream;
use syn::{DeriveInput, parse_macro_input};

/// Implements `pellucid::transform::Tree`: the arrays of all fields, in the order in which they are declared. Fields marked
/// `#[tree(skip)]` are no part of the tree and are cloned.
///
/// ```ignore
/// #[derive(Clone, Tree)]
/// struct Linear {
///     weight: Array,
///     bias: Option<Array>,
///     #[tree(skip)]
///     name: String,
/// }
/// ```
#[proc_macro_derive(Tree, attributes(tree))]
pub fn derive_tree(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    tree::derive(&input).unwrap_or_else(|error| error.to_compile_error()).into()
}

/// Implements `pellucid_nn::Module`, and with it `pellucid::transform::Tree`, for a struct or an enum that is `Clone`.
///
/// Every field is a part of the module: a parameter, another module, a list of them, or a plain number. The path of a
/// parameter is made of the names of the fields on the way to it; `#[module(name = "…")]` gives a field another name.
/// The only field of a tuple stands for the whole and adds nothing to paths. Fields marked `#[module(skip)]` are no
/// part of the module and are cloned.
///
/// ```ignore
/// #[derive(Clone, Module)]
/// struct Mlp {
///     layers: Vec<Linear>,
///     dropout: Dropout,
/// }
/// ```
#[proc_macro_derive(Module, attributes(module))]
pub fn derive_module(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    module::derive(&input).unwrap_or_else(|error| error.to_compile_error()).into()
}
