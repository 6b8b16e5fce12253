//! Parameters by path: lists of them, files, and what differs between a file and a model.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::Path;

use pellucid::io::{self, Arrays};
use pellucid::{Array, Error, Result, Shape};

use super::{Module, Param, Visit, VisitMut, Visitor, VisitorMut};

struct Named {
    found: Vec<(String, Array)>,
    /// Only what is learnt.
    trainable: bool,
}

impl Visitor for Named {
    fn parameter(&mut self, path: &str, parameter: &Param) {
        if !self.trainable || !parameter.is_frozen() {
            self.found.push((path.to_owned(), parameter.array().clone()));
        }
    }

    fn buffer(&mut self, path: &str, array: &Array) {
        if !self.trainable {
            self.found.push((path.to_owned(), array.clone()));
        }
    }
}

fn named(module: &(impl Module + ?Sized), trainable: bool) -> Vec<(String, Array)> {
    let mut named = Named { found: Vec::new(), trainable };
    Visit::all(module, &mut named);
    named.found
}

pub(super) fn parameters(module: &(impl Module + ?Sized)) -> Vec<(String, Array)> {
    named(module, false)
}

pub(super) fn trainable(module: &(impl Module + ?Sized)) -> Vec<(String, Array)> {
    named(module, true)
}

/// How the arrays of a file differ from those of a model.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Differences {
    /// Paths of the model that were not given.
    pub missing: Vec<String>,
    /// Names that are no path of the model.
    pub unexpected: Vec<String>,
    /// Paths whose shapes differ: that of the model, and that which was given.
    pub misshapen: Vec<(String, Shape, Shape)>,
}

impl Differences {
    /// True if there are none.
    pub fn is_empty(&self) -> bool {
        self.missing.is_empty() && self.unexpected.is_empty() && self.misshapen.is_empty()
    }

    fn between(module: &(impl Module + ?Sized), given: &Arrays) -> Differences {
        let own = parameters(module);
        let paths: BTreeSet<&str> = own.iter().map(|(path, _)| path.as_str()).collect();
        let mut found = Differences {
            unexpected: given.keys().filter(|name| !paths.contains(name.as_str())).cloned().collect(),
            ..Differences::default()
        };
        for (path, array) in &own {
            match given.get(path) {
                None => found.missing.push(path.clone()),
                Some(new) if new.shape() != array.shape() => {
                    found.misshapen.push((path.clone(), array.shape_ref().clone(), new.shape_ref().clone()));
                }
                Some(_) => {}
            }
        }
        found
    }
}

impl fmt::Display for Differences {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut parts = Vec::new();
        if !self.missing.is_empty() {
            parts.push(format!("{} missing: {}", self.missing.len(), self.missing.join(", ")));
        }
        if !self.unexpected.is_empty() {
            parts.push(format!("{} unexpected: {}", self.unexpected.len(), self.unexpected.join(", ")));
        }
        if !self.misshapen.is_empty() {
            let each = self
                .misshapen
                .iter()
                .map(|(path, own, given)| format!("{path} is {given} and must be {own}"))
                .collect::<Vec<_>>();
            parts.push(format!("{} of another shape: {}", each.len(), each.join(", ")));
        }
        f.write_str(&parts.join("; "))
    }
}

pub(super) fn save(module: &(impl Module + ?Sized), path: &Path) -> Result<()> {
    let notes = BTreeMap::from([("format".to_owned(), "mlx".to_owned())]);
    io::save_safetensors(path, parameters(module), &notes).map(drop)
}

fn read(path: &Path) -> Result<Arrays> {
    io::load(path)?.into_arrays()
}

fn refused(path: &Path, differences: &Differences) -> Error {
    let message = format!("the parameters are not those of the model: {differences}");
    Error::Format { function: "load_weights", path: path.to_owned(), message }
}

pub(super) fn load(module: &mut (impl Module + ?Sized), path: &Path) -> Result<()> {
    let given = read(path)?;
    let differences = Differences::between(module, &given);
    if !differences.is_empty() {
        return Err(refused(path, &differences));
    }
    replace(module, given);
    Ok(())
}

pub(super) fn load_partly(module: &mut (impl Module + ?Sized), path: &Path) -> Result<Differences> {
    let given = read(path)?;
    let differences = Differences::between(module, &given);
    if !differences.misshapen.is_empty() {
        return Err(refused(path, &differences));
    }
    replace(module, given);
    Ok(differences)
}

pub(super) fn update(module: &mut (impl Module + ?Sized), given: Arrays) -> Result<Differences> {
    let differences = Differences::between(module, &given);
    if !differences.misshapen.is_empty() {
        let message = format!("the arrays do not fit the model: {differences}");
        return Err(Error::Argument { function: "update", message });
    }
    replace(module, given);
    Ok(differences)
}

fn replace(module: &mut (impl Module + ?Sized), given: Arrays) {
    struct Replace(Arrays);
    impl VisitorMut for Replace {
        fn parameter(&mut self, path: &str, parameter: &mut Param) {
            if let Some(new) = self.0.remove(path) {
                parameter.set(new);
            }
        }

        fn buffer(&mut self, path: &str, array: &mut Array) {
            if let Some(new) = self.0.remove(path) {
                *array = new;
            }
        }
    }
    VisitMut::all(module, &mut Replace(given));
}
