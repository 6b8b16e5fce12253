//! Derive macros of Pellucid. Use them through the `pellucid` crate, which has the traits.

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
