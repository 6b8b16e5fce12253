//! The file of functions: a `.safetensors` file whose arrays are the constants, and one array of bytes that holds the
//! functions as JSON. It is read as if it were hostile: numbers of values are checked, the rule of every operation says
//! what its results are, and nothing larger than the file is asked for.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use serde::{Deserialize, Serialize};
use smallvec::SmallVec;

use super::{Exporter, Imported, Signature, check_keywords};
use crate::array::{Array, Dtype, HostView, Shape};
use crate::call_site::CallSite;
use crate::device::Device;
use crate::error::{Error, Result};
use crate::io;
use crate::op::{Op, Spec};
use crate::stream::{Stream, default_stream};
use crate::transform::graph::Step;
use crate::transform::refit::{Refit, is_fixed};
use crate::transform::{Graph, Role};

const FORMAT: &str = "pellucid.function";
const VERSION: u32 = 1;
/// The array that holds the functions.
const FUNCTIONS: &str = "functions";

#[derive(Serialize, Deserialize)]
struct Document {
    version: u32,
    shapeless: bool,
    /// The source files that lines are named of.
    sources: Vec<String>,
    functions: Vec<Function>,
}

#[derive(Serialize, Deserialize)]
struct Function {
    inputs: Vec<(Shape, Dtype)>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    keywords: Vec<String>,
    constants: Vec<String>,
    calls: Vec<Call>,
    outputs: Vec<u32>,
}

#[derive(Serialize, Deserialize)]
struct Call {
    op: Op,
    inputs: SmallVec<[u32; 2]>,
    /// Source file and line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    line: Option<(u32, u32)>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    device: Option<Device>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    role: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    of: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    label: Option<Box<str>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    shape_from: Option<Refit<u32>>,
}

/// The elements of an evaluated array.
pub(super) fn bytes(array: &Array) -> Result<Vec<u8>> {
    let view = HostView::new(array)?;
    let mut bytes = vec![0; view.bytes()];
    view.read(0, &mut bytes);
    Ok(bytes)
}

/// The functions as text; `names` says what a constant is called.
pub(super) fn written(exporter: &Exporter, names: &HashMap<u64, String>) -> Result<String> {
    let mut sources = Sources::default();
    let functions =
        exporter.functions.iter().map(|(signature, graph)| sources.function(signature, graph, names));
    let functions = functions.collect::<Option<Vec<_>>>();
    let Some(functions) = functions else {
        return Err(Error::internal("export", "a function uses a value that nothing makes"));
    };
    let document =
        Document { version: VERSION, shapeless: exporter.shapeless, sources: sources.names, functions };
    serde_json::to_string(&document).map_err(|error| Error::internal("export", error.to_string()))
}

#[derive(Default)]
struct Sources {
    names: Vec<String>,
    places: HashMap<&'static str, u32>,
}

impl Sources {
    fn line(&mut self, site: CallSite) -> (u32, u32) {
        let place = *self.places.entry(site.file()).or_insert_with(|| {
            self.names.push(site.file().to_owned());
            self.names.len() as u32 - 1
        });
        (place, site.line())
    }

    /// The function with its values counted anew: arguments, constants, results.
    fn function(
        &mut self,
        signature: &Signature,
        graph: &Graph,
        names: &HashMap<u64, String>,
    ) -> Option<Function> {
        let mut numbers: HashMap<u32, u32> = (0..graph.inputs.len() as u32).map(|n| (n, n)).collect();
        let mut constants = Vec::with_capacity(graph.constants.len());
        for (number, array) in &graph.constants {
            numbers.insert(*number, numbers.len() as u32);
            constants.push(names.get(&array.id())?.clone());
        }
        let mut calls = Vec::with_capacity(graph.steps.len());
        for step in &graph.steps {
            let known = |number: &u32| numbers.get(number).copied();
            calls.push(Call {
                op: step.op.clone(),
                inputs: step.inputs.iter().map(known).collect::<Option<_>>()?,
                line: Some(self.line(step.site)),
                device: step.stream.map(Stream::device),
                role: step.role.name().map(str::to_owned),
                of: step.of.as_ref().and_then(known),
                label: step.label.clone(),
                shape_from: match &step.refit {
                    None => None,
                    Some(Refit::Dims(dims)) => Some(Refit::Dims(dims.clone())),
                    Some(Refit::Like(number)) => Some(Refit::Like(known(number)?)),
                },
            });
            for number in (step.first..).take(step.results.len()) {
                numbers.insert(number, numbers.len() as u32);
            }
        }
        let outputs = graph.outputs.iter().map(|n| numbers.get(n).copied()).collect::<Option<_>>()?;
        let inputs = signature.inputs.iter().map(|spec| (spec.shape.clone(), spec.dtype)).collect();
        Some(Function { inputs, keywords: signature.keywords.clone(), constants, calls, outputs })
    }
}

/// Writes the file.
pub(super) fn save(path: &Path, constants: &[(String, Array)], text: &str, metadata: &str) -> Result<()> {
    let functions = Array::from(text.as_bytes().to_vec());
    let mut arrays: Vec<(&str, &Array)> =
        constants.iter().map(|(name, array)| (name.as_str(), array)).collect();
    arrays.push((FUNCTIONS, &functions));
    let notes = BTreeMap::from([
        ("format".to_owned(), FORMAT.to_owned()),
        ("metadata".to_owned(), metadata.to_owned()),
    ]);
    io::save_safetensors_as("export_function", path, "", arrays, &notes).map(drop)
}

/// Reads the file.
pub(super) fn load(path: &Path) -> Result<Imported> {
    const FUNCTION: &str = "import_function";
    let (mut arrays, mut notes) = io::load_safetensors_as(FUNCTION, path)?;
    let wrong = |message: String| Error::format(FUNCTION, path, message);
    if notes.get("format").map(String::as_str) != Some(FORMAT) {
        return Err(wrong("the file holds arrays, but no function; export_function writes one".to_owned()));
    }
    let text = match arrays.remove(FUNCTIONS) {
        Some(text) if text.dtype() == Dtype::Uint8 && text.ndim() == 1 => text,
        _ => return Err(wrong(format!("the array {FUNCTIONS:?} is missing or is not bytes"))),
    };
    text.eval()?;
    let document = parsed(&bytes(&text)?).map_err(wrong)?;
    let functions = document
        .functions
        .into_iter()
        .enumerate()
        .map(|(place, function)| {
            let function = checked(function, &document.sources, &arrays);
            function.map_err(|error| match error {
                Wrong::Content(message) => wrong(format!("function {place}: {message}")),
                Wrong::Other(error) => error,
            })
        })
        .collect::<Result<Vec<_>>>()?;
    let metadata = notes.remove("metadata").unwrap_or_default();
    Ok(Imported { shapeless: document.shapeless, metadata, functions })
}

fn parsed(text: &[u8]) -> std::result::Result<Document, String> {
    #[derive(Deserialize)]
    struct Version {
        version: u32,
    }
    // The version first: a later one may say things that this one does not know.
    let Version { version } = serde_json::from_slice(text).map_err(|error| error.to_string())?;
    if version != VERSION {
        return Err(format!("functions of version {version}; this library reads version {VERSION}"));
    }
    serde_json::from_slice(text).map_err(|error| error.to_string())
}

/// What is wrong with a function.
enum Wrong {
    Content(String),
    Other(Error),
}

impl From<String> for Wrong {
    fn from(message: String) -> Wrong {
        Wrong::Content(message)
    }
}

/// The function, if all of it fits together.
fn checked(
    function: Function,
    sources: &[String],
    arrays: &io::Arrays,
) -> std::result::Result<(Signature, Graph), Wrong> {
    let inputs: Vec<Spec> = function.inputs.into_iter().map(|(shape, dtype)| Spec { shape, dtype }).collect();
    for spec in &inputs {
        spec.shape.check("import_function", spec.dtype.size()).map_err(|error| error.to_string())?;
    }
    let signature = Signature { inputs: inputs.clone(), keywords: function.keywords };
    check_keywords(&signature)?;
    let mut values: Vec<Spec> = inputs.clone();
    let mut constants = Vec::with_capacity(function.constants.len());
    for name in function.constants {
        let array = arrays.get(&name).ok_or_else(|| format!("there is no array {name:?}"))?;
        constants.push((values.len() as u32, array.clone()));
        values.push(super::spec(array));
    }
    let mut steps = Vec::with_capacity(function.calls.len());
    for (place, call) in function.calls.into_iter().enumerate() {
        let step = step(call, &values, sources).map_err(|wrong| match wrong {
            Wrong::Content(message) => Wrong::Content(format!("call {place}: {message}")),
            other => other,
        })?;
        values.extend(step.results.iter().cloned());
        if u32::try_from(values.len()).is_err() {
            return Err(Wrong::Content(format!("more than {} values", u32::MAX)));
        }
        steps.push(step);
    }
    if let Some(number) = function.outputs.iter().find(|&&number| number as usize >= values.len()) {
        return Err(Wrong::Content(format!("value {number} is returned, but there are {}", values.len())));
    }
    let recorded = steps.len();
    let count = values.len() as u32;
    let graph = Graph { inputs, constants, steps, outputs: function.outputs, values: count, recorded };
    Ok((signature, graph))
}

fn step(call: Call, values: &[Spec], sources: &[String]) -> std::result::Result<Step, Wrong> {
    let known = |number: u32| {
        values.get(number as usize).ok_or_else(|| {
            Wrong::Content(format!("value {number} is used before it is made; there are {}", values.len()))
        })
    };
    if matches!(call.op, Op::Load(_)) {
        return Err(Wrong::Content("a function in a file reads no other files".to_owned()));
    }
    let specs =
        call.inputs.iter().map(|&number| known(number)).collect::<std::result::Result<Vec<_>, _>>()?;
    let given: Vec<(&Shape, Dtype)> = specs.iter().map(|spec| (&spec.shape, spec.dtype)).collect();
    let results = call.op.infer(&given).map_err(|error| error.to_string())?;
    let fixed = is_fixed(&call.op).then(|| specs.iter().map(|spec| spec.shape.clone()).collect());
    if let Some(Refit::Like(number)) = &call.shape_from {
        known(*number)?;
    }
    if let Some(number) = call.of {
        known(number)?;
    }
    let role = match call.role.as_deref() {
        None => Role::Forward,
        Some(name) => {
            Role::from_name(name).ok_or_else(|| format!("{name:?} is not a role that a call can have"))?
        }
    };
    let (source, line) = match call.line {
        None => ("", 0),
        Some((source, line)) => {
            let name = sources.get(source as usize).ok_or_else(|| {
                format!("a line of source {source} is named, but there are {}", sources.len())
            })?;
            (name.as_str(), line)
        }
    };
    let stream = call.device.map(default_stream).transpose().map_err(Wrong::Other)?;
    Ok(Step {
        op: call.op,
        inputs: call.inputs,
        first: values.len() as u32,
        results,
        site: CallSite::shared(source, line),
        stream,
        role,
        of: call.of,
        label: call.label,
        refit: call.shape_from,
        fixed,
    })
}
