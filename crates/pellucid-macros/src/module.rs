//! `#[derive(Module)]`.

use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use syn::{Data, DeriveInput, Error, Fields, LitStr, Result, parse_quote};

/// A field that is a part of the module.
struct Field {
    pattern: TokenStream,
    variable: syn::Ident,
    /// Its part of the paths of parameters; none for the only field of a tuple, which stands for the whole.
    name: Option<String>,
}

/// What `#[module(…)]` says of a field.
#[derive(Default)]
struct Attributes {
    skip: bool,
    name: Option<String>,
}

fn attributes(field: &syn::Field) -> Result<Attributes> {
    let mut found = Attributes::default();
    for attribute in field.attrs.iter().filter(|attribute| attribute.path().is_ident("module")) {
        attribute.parse_nested_meta(|meta| {
            if meta.path.is_ident("skip") {
                found.skip = true;
                return Ok(());
            }
            if meta.path.is_ident("name") {
                let name = meta.value()?.parse::<LitStr>()?;
                if name.value().is_empty() || name.value().contains('.') {
                    return Err(Error::new_spanned(name, "a name must not be empty and has no `.` in it"));
                }
                found.name = Some(name.value());
                return Ok(());
            }
            Err(meta.error("the attributes of a field are `#[module(skip)]` and `#[module(name = \"…\")]`"))
        })?;
    }
    Ok(found)
}

fn fields(fields: &Fields) -> Result<Vec<Field>> {
    let alone = matches!(fields, Fields::Unnamed(unnamed) if unnamed.unnamed.len() == 1);
    let mut found = Vec::new();
    for (place, field) in fields.iter().enumerate() {
        let attributes = attributes(field)?;
        if attributes.skip {
            continue;
        }
        let variable = format_ident!("field{place}");
        let (pattern, own) = match &field.ident {
            Some(ident) => (quote!(#ident: #variable), ident.to_string()),
            None => {
                let index = syn::Index::from(place);
                (quote!(#index: #variable), place.to_string())
            }
        };
        let own = own.trim_start_matches("r#").to_owned();
        let name = if alone { attributes.name } else { Some(attributes.name.unwrap_or(own)) };
        found.push(Field { pattern, variable, name });
    }
    let mut names: Vec<_> = found.iter().filter_map(|field| field.name.as_ref()).collect();
    names.sort();
    if let Some(pair) = names.windows(2).find(|pair| pair[0] == pair[1]) {
        return Err(Error::new_spanned(fields, format!("two fields have the name `{}`", pair[0])));
    }
    Ok(found)
}

/// The arms of a struct or a variant for reading and for changing.
fn arms(path: &TokenStream, kind: &str, transparent: bool, fields: &[Field]) -> (TokenStream, TokenStream) {
    let patterns: Vec<_> = fields.iter().map(|field| &field.pattern).collect();
    let visits: Vec<_> = fields
        .iter()
        .map(|Field { variable, name, .. }| match name {
            Some(name) => quote!(at.field(#name, #variable);),
            None => quote!(::pellucid_nn::Module::visit(#variable, at);),
        })
        .collect();
    let changes = fields.iter().map(|Field { variable, name, .. }| match name {
        Some(name) => quote!(at.field(#name, #variable);),
        None => quote!(::pellucid_nn::Module::visit_mut(#variable, at);),
    });
    let read = match transparent {
        true => quote!(#path { #(#patterns,)* .. } => { at.constant(#kind.as_bytes()); #(#visits)* }),
        false => quote!(#path { #(#patterns,)* .. } => { at.begin(#kind); #(#visits)* at.end(); }),
    };
    (read, quote!(#path { #(#patterns,)* .. } => { #(#changes)* }))
}

pub fn derive(input: &DeriveInput) -> Result<TokenStream> {
    let name = &input.ident;
    let mut made = Vec::new();
    match &input.data {
        Data::Struct(data) => {
            let fields = fields(&data.fields)?;
            let transparent = fields.iter().any(|field| field.name.is_none());
            made.push(arms(&quote!(#name), &name.to_string(), transparent, &fields));
        }
        Data::Enum(data) => {
            for variant in &data.variants {
                let ident = &variant.ident;
                let fields = fields(&variant.fields)?;
                let transparent = fields.iter().any(|field| field.name.is_none());
                made.push(arms(&quote!(#name::#ident), &ident.to_string(), transparent, &fields));
            }
        }
        Data::Union(_) => return Err(Error::new_spanned(name, "a union is no module")),
    }
    if made.is_empty() {
        return Err(Error::new_spanned(name, "an enum without variants is no module"));
    }
    let (reads, changes): (Vec<_>, Vec<_>) = made.into_iter().unzip();
    let mut generics = input.generics.clone();
    for parameter in generics.type_params_mut() {
        parameter.bounds.push(parse_quote!(::pellucid_nn::Module));
        parameter.bounds.push(parse_quote!(::core::clone::Clone));
    }
    let (with, ty, filter) = generics.split_for_impl();
    Ok(quote! {
        impl #with ::pellucid_nn::Module for #name #ty #filter {
            fn visit(&self, at: &mut ::pellucid_nn::Visit<'_>) {
                match self { #(#reads)* }
            }

            fn visit_mut(&mut self, at: &mut ::pellucid_nn::VisitMut<'_>) {
                let _ = &at;
                match self { #(#changes)* }
            }
        }

        impl #with ::pellucid_nn::pellucid::transform::Tree for #name #ty #filter {
            fn leaves(&self, to: &mut ::std::vec::Vec<::pellucid_nn::pellucid::Array>) {
                ::pellucid_nn::tree::leaves(self, to);
            }

            fn rebuild(&self, leaves: &mut dyn ::core::iter::Iterator<Item = ::pellucid_nn::pellucid::Array>) -> Self {
                ::pellucid_nn::tree::rebuild(self, leaves)
            }

            fn constants(&self, to: &mut dyn ::core::hash::Hasher) {
                ::pellucid_nn::tree::constants(self, to);
            }
        }
    })
}
