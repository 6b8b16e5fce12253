//! Functions that were read from a file.

use std::path::Path;

use super::{Signature, file, spec};
use crate::array::Array;
use crate::error::{Error, Result};
use crate::transform::Graph;

/// The functions of a file. Made by [`import`].
#[derive(Clone, Debug)]
pub struct Imported {
    pub(super) shapeless: bool,
    pub(super) metadata: String,
    pub(super) functions: Vec<(Signature, Graph)>,
}

/// Reads a function that [`export`](super::export) or an [`Exporter`](super::Exporter) wrote. The elements of its
/// constants are read when they are needed.
///
/// # Errors
/// [`Error::Io`] if the file cannot be read; [`Error::Format`] if it is damaged or holds something else;
/// [`Error::Device`] if the function names a device that is not here.
pub fn import(path: impl AsRef<Path>) -> Result<Imported> {
    file::load(path.as_ref())
}

impl Imported {
    /// Calls the function with arrays by position. Inside of a transform it is one more function of it.
    ///
    /// # Errors
    /// [`Error::Argument`] if it was recorded for no such arrays; the errors of failed ones.
    pub fn call(&self, inputs: &[Array]) -> Result<Vec<Array>> {
        self.call_named(inputs, &[])
    }

    /// Calls the function with arrays by position and by keyword.
    ///
    /// # Errors
    /// As [`call`](Imported::call).
    pub fn call_named(&self, inputs: &[Array], named: &[(&str, Array)]) -> Result<Vec<Array>> {
        let mut named: Vec<&(&str, Array)> = named.iter().collect();
        named.sort_by_key(|(keyword, _)| *keyword);
        let keywords = named.iter().map(|(keyword, _)| (*keyword).to_owned()).collect();
        let arrays: Vec<Array> =
            inputs.iter().cloned().chain(named.iter().map(|(_, array)| array.clone())).collect();
        arrays.iter().try_for_each(Array::check)?;
        let call = Signature { inputs: arrays.iter().map(spec).collect(), keywords };
        let found = self.functions.iter().find(|(known, _)| known.fits(&call, !self.shapeless));
        match found {
            Some((_, graph)) if self.shapeless => graph.call_shapeless(&arrays),
            Some((_, graph)) => Ok(graph.call(&arrays)),
            None => Err(Error::argument("import_function::call", self.no_match(&call))),
        }
    }

    /// What can be called, and what was.
    fn no_match(&self, call: &Signature) -> String {
        let counts = |s: &Signature| {
            format!("{} positional inputs and {} keyword inputs", s.positional(), s.keywords.len())
        };
        let mut message =
            "No imported function found which matches the given positional and keyword arguments. \
                           Possible functions include:\n"
                .to_owned();
        for (place, (known, _)) in self.functions.iter().enumerate() {
            message += &format!(" {}. Function with {}:\n{}", place + 1, counts(known), known.shown("   "));
        }
        message + &format!("\nCalled with {}:\n{}", counts(call), call.shown("  "))
    }

    /// What the functions take.
    pub fn signatures(&self) -> impl Iterator<Item = &Signature> {
        self.functions.iter().map(|(signature, _)| signature)
    }

    /// Whether arrays may have other sizes than those that the functions were recorded for.
    pub fn is_shapeless(&self) -> bool {
        self.shapeless
    }

    /// The text that was kept beside the functions; empty if there was none.
    pub fn metadata(&self) -> &str {
        &self.metadata
    }
}
