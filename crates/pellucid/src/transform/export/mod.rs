//! Functions in files: what was recorded is written with its constants, and called again by a program that has neither
//! the function nor its arrays.
//!
//! `file.rs` is the format, which `docs/functions.md` describes.

mod file;
mod imported;

use std::collections::HashMap;
use std::path::Path;

pub use imported::{Imported, import};

use super::graph::Graph;
use super::trace::Trace;
use super::tree::Tree;
use crate::array::Array;
use crate::error::{Error, Result};
use crate::op::{Op, Spec};
use crate::stream::current_stream;

/// Names of constants, by the numbers of their arrays.
type Names = HashMap<u64, String>;

/// What a recorded function takes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signature {
    /// Shapes and types of its arrays: those passed by position, then those passed by keyword, ordered by keyword.
    pub inputs: Vec<Spec>,
    /// The keywords, in order; each belongs to one of the last inputs.
    pub keywords: Vec<String>,
}

impl Signature {
    /// How many arrays are passed by position.
    pub fn positional(&self) -> usize {
        self.inputs.len().saturating_sub(self.keywords.len())
    }

    /// Whether a call with these arrays is the same; without `shapes`, arrays may have other sizes.
    fn fits(&self, other: &Signature, shapes: bool) -> bool {
        let alike = |(a, b): (&Spec, &Spec)| {
            a.dtype == b.dtype && if shapes { a.shape == b.shape } else { a.shape.len() == b.shape.len() }
        };
        self.keywords == other.keywords
            && self.inputs.len() == other.inputs.len()
            && self.inputs.iter().zip(&other.inputs).all(alike)
    }

    /// As messages show it: a line for each array.
    fn shown(&self, indent: &str) -> String {
        let names = (1..=self.positional()).map(|place| place.to_string());
        let names = names.chain(self.keywords.iter().map(|keyword| format!("{keyword:?}")));
        let line = |(name, spec): (String, &Spec)| {
            let sizes: Vec<String> = spec.shape.iter().map(usize::to_string).collect();
            format!("{indent}{name}: ({}) {}\n", sizes.join(","), spec.dtype)
        };
        names.zip(&self.inputs).map(line).collect()
    }
}

/// A function that is written to a file: recorded for one or several kinds of arguments, with every constant once.
///
/// ```
/// use pellucid::{Array, transform::{Exporter, import}};
/// # fn main() -> pellucid::Result<()> {
/// # let folder = tempfile::tempdir().unwrap();
/// # let path = folder.path().join("double.function");
/// let mut exporter = Exporter::new();
/// exporter.record(|x: &Array| x + x, &Array::from([1.0f32, 2.0]))?;
/// exporter.record(|x: &Array| x + x, &Array::from(1i32))?;
/// exporter.save(&path)?;
/// let double = import(&path)?;
/// assert_eq!(double.call(&[Array::from(4i32)])?[0].item::<i32>()?, 8);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, Default)]
pub struct Exporter {
    shapeless: bool,
    metadata: String,
    functions: Vec<(Signature, Graph)>,
}

impl Exporter {
    /// A file without functions yet.
    pub fn new() -> Exporter {
        Exporter::default()
    }

    /// Whether functions are recorded for arrays of any size, of the same number of axes.
    pub fn shapeless(mut self, shapeless: bool) -> Exporter {
        self.shapeless = shapeless;
        self
    }

    /// A text that is kept beside the functions.
    pub fn metadata(mut self, metadata: impl Into<String>) -> Exporter {
        self.metadata = metadata.into();
        self
    }

    /// Records what `f` does to the arrays of `x`, which are passed by position in the order of the tree.
    ///
    /// # Errors
    /// [`Error::Argument`] if the function evaluates something that depends on its arguments, or is recorded for such
    /// arguments already; the errors of its arrays.
    #[track_caller]
    pub fn record<T: Tree, U: Tree>(&mut self, f: impl Fn(&T) -> U, x: &T) -> Result<()> {
        let arrays = x.to_leaves();
        arrays.iter().try_for_each(Array::check)?;
        let trace = self.begin();
        let variables = arrays
            .iter()
            .map(|a| trace.placeholder(a.shape_ref().clone(), a.dtype()))
            .collect::<Result<Vec<_>>>()?;
        let made = f(&x.with_leaves(variables.clone()));
        let graph = Graph::from_trace(trace, &variables, &made.to_leaves())?;
        self.add(&[], graph)
    }

    /// A trace that records a function as this file needs it.
    pub fn begin(&self) -> Trace {
        if self.shapeless { Trace::of_any_size() } else { Trace::of_whole() }
    }

    /// Whether there is a function for such arrays already, of which the last are passed by these keywords.
    pub fn has(&self, keywords: &[String], arrays: &[Array]) -> bool {
        let signature = Signature { inputs: arrays.iter().map(spec).collect(), keywords: keywords.to_vec() };
        self.knows(&signature)
    }

    fn knows(&self, signature: &Signature) -> bool {
        self.functions.iter().any(|(known, _)| known.fits(signature, !self.shapeless))
    }

    /// Adds a function that was recorded. Its last arguments are passed by these keywords, which must be in order.
    ///
    /// # Errors
    /// [`Error::Argument`] if there is one for such arguments already, or the keywords are not in order.
    pub fn add(&mut self, keywords: &[String], graph: Graph) -> Result<()> {
        let signature = Signature { inputs: graph.inputs().to_vec(), keywords: keywords.to_vec() };
        check_keywords(&signature).map_err(|message| Error::argument("export", message))?;
        if self.knows(&signature) {
            let message = "Attempting to export a function twice with the same signature is not allowed.";
            return Err(Error::argument("export_function", message));
        }
        let graph = self.portable(graph)?;
        self.functions.push((signature, graph));
        Ok(())
    }

    /// What the graph names of this process, told as another one understands it: its own stream is the caller's, and
    /// what it reads from files is a constant.
    fn portable(&self, mut graph: Graph) -> Result<Graph> {
        let here = current_stream()?;
        let mut steps = Vec::with_capacity(graph.steps.len());
        for mut step in graph.steps {
            step.stream = step.stream.filter(|&stream| stream != here);
            match step.op {
                Op::Load(_) => {
                    graph.constants.push((step.first, Array::from_op(step.op, crate::array::Inputs::new())));
                }
                _ => steps.push(step),
            }
        }
        graph.steps = steps;
        Ok(graph)
    }

    /// The functions that were recorded: what each takes, and what it does.
    pub fn functions(&self) -> impl Iterator<Item = (&Signature, &Graph)> {
        self.functions.iter().map(|(signature, graph)| (signature, graph))
    }

    /// Writes the file: the new one is there whole, or the old one as it was.
    ///
    /// # Errors
    /// [`Error::Io`] if it cannot be written; what made the evaluation of a constant impossible.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<()> {
        let (arrays, names) = self.constants()?;
        let text = file::written(self, &names)?;
        file::save(path.as_ref(), &arrays, &text, &self.metadata)
    }

    /// All constants, each once, and the name of each by the number of its array.
    fn constants(&self) -> Result<(Vec<(String, Array)>, Names)> {
        /// Constants up to this size are compared by their elements; larger ones are the same if they are one array.
        const SMALL: usize = 1 << 10;
        let all = || self.functions.iter().flat_map(|(_, graph)| graph.constants());
        crate::eval::eval(all())?;
        let (mut arrays, mut names) = (Vec::new(), HashMap::new());
        let mut small: HashMap<(Spec, Vec<u8>), String> = HashMap::new();
        for array in all() {
            if names.contains_key(&array.id()) {
                continue;
            }
            let key = match array.nbytes() <= SMALL {
                true => Some((spec(array), file::bytes(array)?)),
                false => None,
            };
            let name = match key.as_ref().and_then(|key| small.get(key)) {
                Some(name) => name.clone(),
                None => {
                    let name = format!("constant.{}", arrays.len());
                    arrays.push((name.clone(), array.clone()));
                    name
                }
            };
            if let Some(key) = key {
                small.entry(key).or_insert_with(|| name.clone());
            }
            names.insert(array.id(), name);
        }
        Ok((arrays, names))
    }
}

fn spec(array: &Array) -> Spec {
    Spec { shape: array.shape_ref().clone(), dtype: array.dtype() }
}

/// Keywords are told apart and found by their order.
fn check_keywords(signature: &Signature) -> std::result::Result<(), String> {
    if signature.keywords.len() > signature.inputs.len() {
        let (keywords, inputs) = (signature.keywords.len(), signature.inputs.len());
        return Err(format!("{keywords} keywords are named for {inputs} arrays"));
    }
    match signature.keywords.windows(2).find(|pair| pair[0] >= pair[1]) {
        Some(pair) => Err(format!("the keywords {:?} and {:?} are not in order", pair[0], pair[1])),
        None => Ok(()),
    }
}

/// Writes a function to a file, recorded for arrays like those of `x`. See [`Exporter`] for several kinds of arguments.
///
/// ```
/// use pellucid::{Array, transform};
/// # fn main() -> pellucid::Result<()> {
/// # let folder = tempfile::tempdir().unwrap();
/// # let path = folder.path().join("scaled.function");
/// let weight = Array::from([2.0f32, 3.0]);
/// transform::export(&path, |x: &Array| x * &weight, &Array::from([1.0f32, 1.0]))?;
/// let scaled = transform::import(&path)?;
/// assert_eq!(scaled.call(&[Array::from([5.0f32, 7.0])])?[0].to_vec::<f32>()?, [10.0, 21.0]);
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// Those of [`Exporter::record`] and [`Exporter::save`].
#[track_caller]
pub fn export<T: Tree, U: Tree>(path: impl AsRef<Path>, f: impl Fn(&T) -> U, x: &T) -> Result<()> {
    let mut exporter = Exporter::new();
    exporter.record(f, x)?;
    exporter.save(path)
}
