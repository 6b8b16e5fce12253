//! `#[derive(Tree)]`.

use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use syn::{Data, DeriveInput, Error, Fields, Result, parse_quote};

/// A field, and whether it is a part of the tree.
struct Field {
    pattern: TokenStream,
    name: syn::Ident,
    skipped: bool,
}

fn is_skipped(field: &syn::Field) -> Result<bool> {
    let mut skipped = false;
    for attribute in field.attrs.iter().filter(|attribute| attribute.path().is_ident("tree")) {
        attribute.parse_nested_meta(|meta| {
            if meta.path.is_ident("skip") {
                skipped = true;
                return Ok(());
            }
            Err(meta.error("the only attribute of a field is `#[tree(skip)]`"))
        })?;
    }
    Ok(skipped)
}

fn fields(fields: &Fields) -> Result<Vec<Field>> {
    let one = |(place, field): (usize, &syn::Field)| {
        let name = format_ident!("field{place}");
        let pattern = match &field.ident {
            Some(ident) => quote!(#ident: #name),
            None => {
                let index = syn::Index::from(place);
                quote!(#index: #name)
            }
        };
        Ok(Field { pattern, name, skipped: is_skipped(field)? })
    };
    fields.iter().enumerate().map(one).collect()
}

/// The arms of a struct or of one variant, which is the `number`-th.
fn arms(path: &TokenStream, number: usize, fields: &[Field]) -> [TokenStream; 3] {
    let patterns: Vec<_> = fields.iter().map(|field| &field.pattern).collect();
    let leaves = fields
        .iter()
        .filter(|field| !field.skipped)
        .map(|Field { name, .. }| quote!(::pellucid::transform::Tree::leaves(#name, to);));
    let constants = fields
        .iter()
        .filter(|field| !field.skipped)
        .map(|Field { name, .. }| quote!(::pellucid::transform::Tree::constants(#name, to);));
    let unused: Vec<_> = fields
        .iter()
        .filter(|field| field.skipped)
        .map(|Field { name, .. }| quote!(let _ = #name;))
        .collect();
    let rebuilt = fields.iter().map(|Field { pattern, name, skipped }| {
        // `field: field0` names the field; what stands behind the colon is its new value.
        let member = pattern.clone().into_iter().next();
        match skipped {
            true => quote!(#member: ::core::clone::Clone::clone(#name)),
            false => quote!(#member: ::pellucid::transform::Tree::rebuild(#name, leaves)),
        }
    });
    let walk = quote!(#path { #(#patterns),* } => { #(#unused)* #(#leaves)* });
    let make = quote!(#path { #(#patterns),* } => #path { #(#rebuilt),* });
    let tell = quote!(#path { #(#patterns),* } => {
        #(#unused)*
        ::core::hash::Hasher::write_usize(to, #number);
        #(#constants)*
    });
    [walk, make, tell]
}

pub fn derive(input: &DeriveInput) -> Result<TokenStream> {
    let name = &input.ident;
    let (mut walks, mut makes, mut tells) = (Vec::new(), Vec::new(), Vec::new());
    let mut add = |[walk, make, tell]: [TokenStream; 3]| {
        walks.push(walk);
        makes.push(make);
        tells.push(tell);
    };
    match &input.data {
        Data::Struct(data) => {
            add(arms(&quote!(#name), 0, &fields(&data.fields)?));
        }
        Data::Enum(data) => {
            for (number, variant) in data.variants.iter().enumerate() {
                let ident = &variant.ident;
                add(arms(&quote!(#name::#ident), number, &fields(&variant.fields)?));
            }
        }
        Data::Union(_) => return Err(Error::new_spanned(name, "a union is no tree of arrays")),
    }
    if walks.is_empty() {
        return Err(Error::new_spanned(name, "an enum without variants is no tree of arrays"));
    }
    let mut generics = input.generics.clone();
    for parameter in generics.type_params_mut() {
        parameter.bounds.push(parse_quote!(::pellucid::transform::Tree));
    }
    let (with, ty, filter) = generics.split_for_impl();
    Ok(quote! {
        impl #with ::pellucid::transform::Tree for #name #ty #filter {
            fn leaves(&self, to: &mut ::std::vec::Vec<::pellucid::Array>) {
                let _ = &to;
                match self { #(#walks)* }
            }

            fn rebuild(&self, leaves: &mut dyn ::core::iter::Iterator<Item = ::pellucid::Array>) -> Self {
                let _ = &leaves;
                match self { #(#makes),* }
            }

            fn constants(&self, to: &mut dyn ::core::hash::Hasher) {
                let _ = &to;
                match self { #(#tells)* }
            }
        }
    })
}
