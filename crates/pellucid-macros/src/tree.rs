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

/// The two arms of a struct or of one variant.
fn arms(path: &TokenStream, fields: &[Field]) -> (TokenStream, TokenStream) {
    let patterns: Vec<_> = fields.iter().map(|field| &field.pattern).collect();
    let leaves = fields
        .iter()
        .filter(|field| !field.skipped)
        .map(|Field { name, .. }| quote!(::pellucid::transform::Tree::leaves(#name, to);));
    let unused = fields.iter().filter(|field| field.skipped).map(|Field { name, .. }| quote!(let _ = #name;));
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
    (walk, make)
}

pub fn derive(input: &DeriveInput) -> Result<TokenStream> {
    let name = &input.ident;
    let (mut walks, mut makes) = (Vec::new(), Vec::new());
    match &input.data {
        Data::Struct(data) => {
            let (walk, make) = arms(&quote!(#name), &fields(&data.fields)?);
            walks.push(walk);
            makes.push(make);
        }
        Data::Enum(data) => {
            for variant in &data.variants {
                let ident = &variant.ident;
                let (walk, make) = arms(&quote!(#name::#ident), &fields(&variant.fields)?);
                walks.push(walk);
                makes.push(make);
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
            fn leaves<'leaves>(&'leaves self, to: &mut ::std::vec::Vec<&'leaves ::pellucid::Array>) {
                let _ = &to;
                match self { #(#walks)* }
            }

            fn rebuild(&self, leaves: &mut dyn ::core::iter::Iterator<Item = ::pellucid::Array>) -> Self {
                let _ = &leaves;
                match self { #(#makes),* }
            }
        }
    })
}
