//! Kernels of the user: in Metal's language, which is translated, or in WGSL.

use pellucid::gpu::{Kernel, MetalKernel, MetalLaunch, Template};
use pellucid::{Array, Dtype, Shape};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict};

use super::shape::argument;
use crate::args::{Input, Int, SizeList};
use crate::array::PyArray;
use crate::device::StreamArg;
use crate::dtype::PyDtype;

/// Three sizes of a grid or a group.
struct Three([u32; 3]);

impl<'py> FromPyObject<'_, 'py> for Three {
    type Error = PyErr;

    fn extract(obj: Borrowed<'_, 'py, PyAny>) -> PyResult<Three> {
        let SizeList(sizes) = obj.extract()?;
        let wrong = || {
            let message =
                format!("[kernel] a grid and a threadgroup are three sizes of 32 bits each, not {sizes:?}");
            PyValueError::new_err(message)
        };
        let all: Vec<u32> =
            sizes.iter().map(|&n| u32::try_from(n).map_err(|_| wrong())).collect::<PyResult<_>>()?;
        Ok(Three(all.try_into().map_err(|_| wrong())?))
    }
}

/// What a name of a template stands for.
struct Value(Template);

impl<'py> FromPyObject<'_, 'py> for Value {
    type Error = PyErr;

    fn extract(obj: Borrowed<'_, 'py, PyAny>) -> PyResult<Value> {
        if let Ok(truth) = obj.cast::<PyBool>() {
            return Ok(Value(Template::Bool(truth.is_true())));
        }
        if let Ok(dtype) = obj.extract::<PyRef<'_, PyDtype>>() {
            return Ok(Value(Template::Type(dtype.0)));
        }
        let Int(value) = obj
            .extract()
            .map_err(|_| PyTypeError::new_err("[kernel] a template argument is a Dtype, an int or a bool"))?;
        Ok(Value(Template::Int(value)))
    }
}

enum Text {
    Metal(MetalKernel),
    /// In Metal's language, with outputs that several threads add to: it cannot be called.
    Atomic,
    Wgsl {
        source: String,
        header: String,
        inputs: Vec<String>,
        outputs: Vec<String>,
    },
}

/// A kernel, called with the arrays it is to read and what it is to make.
#[pyclass(name = "_Kernel", module = "pellucid.core.fast", frozen)]
struct PyKernel {
    name: String,
    text: Text,
}

#[pymethods]
impl PyKernel {
    #[pyo3(signature = (*, inputs, output_shapes, output_dtypes, grid, threadgroup, template = None, init_value = None, verbose = false, stream = None))]
    #[allow(clippy::too_many_arguments, reason = "they are MLX's")]
    fn __call__(
        &self,
        py: Python<'_>,
        inputs: Vec<Input>,
        output_shapes: Vec<SizeList>,
        output_dtypes: Vec<PyRef<'_, PyDtype>>,
        grid: Three,
        threadgroup: Three,
        template: Option<Vec<(String, Value)>>,
        init_value: Option<f64>,
        verbose: bool,
        stream: Option<StreamArg>,
    ) -> PyResult<Vec<PyArray>> {
        if init_value.is_some_and(|value| value != 0.0) {
            let message = format!(
                "[kernel] kernel {:?}: outputs begin as zeros; init_value can be 0 or None",
                self.name
            );
            return Err(PyValueError::new_err(message));
        }
        if output_shapes.len() != output_dtypes.len() {
            let message = format!(
                "[kernel] kernel {:?}: {} output shapes and {} output types; there must be as many",
                self.name,
                output_shapes.len(),
                output_dtypes.len()
            );
            return Err(PyValueError::new_err(message));
        }
        let arrays: Vec<Array> = inputs.into_iter().map(Input::single).collect();
        let shapes = output_shapes.into_iter().map(|SizeList(sizes)| Shape::from(sizes));
        let outputs: Vec<(Shape, Dtype)> = shapes.zip(output_dtypes.iter().map(|dtype| dtype.0)).collect();
        let templates = template.unwrap_or_default();
        let run = || self.run(&arrays, outputs, grid.0, threadgroup.0, templates);
        let (text, made) = crate::call::build(py, stream, || run().map(|(text, made)| Shown { text, made }))?;
        if verbose {
            py.import("builtins")?.getattr("print")?.call1((text,))?;
        }
        Ok(made)
    }

    fn __repr__(&self) -> String {
        format!("<kernel {:?}>", self.name)
    }
}

/// Arrays, and the text that makes them.
struct Shown {
    text: String,
    made: Vec<Array>,
}

impl crate::call::ToPython for Shown {
    type Python = (String, Vec<PyArray>);
    fn to_python(self) -> PyResult<(String, Vec<PyArray>)> {
        Ok((self.text, self.made.to_python()?))
    }
}

impl PyKernel {
    fn run(
        &self,
        arrays: &[Array],
        outputs: Vec<(Shape, Dtype)>,
        grid: [u32; 3],
        threadgroup: [u32; 3],
        templates: Vec<(String, Value)>,
    ) -> pellucid::Result<(String, Vec<Array>)> {
        let given: Vec<&Array> = arrays.iter().collect();
        match &self.text {
            Text::Atomic => Err(argument(
                "metal_kernel",
                format!(
                    "kernel {name:?} wants atomic outputs, which WGSL has for integers alone and which are not translated; \
                     let one thread make each element, or write it as wgsl_kernel({name:?}, …) with an atomic variable of \
                     the workgroup in its header",
                    name = self.name
                ),
            )),
            Text::Metal(kernel) => {
                let mut launch = MetalLaunch::new(grid, threadgroup);
                for (shape, dtype) in outputs {
                    launch = launch.output(shape, dtype);
                }
                for (name, Value(value)) in templates {
                    launch = launch.template(name, value);
                }
                Ok((kernel.wgsl(&given, &launch)?, kernel.call(&given, &launch)))
            }
            Text::Wgsl { source, header, inputs, outputs: names } => {
                if inputs.len() != given.len() || names.len() != outputs.len() {
                    let message = format!(
                        "kernel {:?} takes {} arrays and makes {}, not {} and {}",
                        self.name,
                        inputs.len(),
                        names.len(),
                        given.len(),
                        outputs.len()
                    );
                    return Err(argument("kernel", message));
                }
                let mut before = header.clone();
                for (name, Value(value)) in templates {
                    before.push_str(&match value {
                        Template::Int(value) => format!("\nconst {name}: i32 = {value};"),
                        Template::Bool(truth) => format!("\nconst {name}: bool = {truth};"),
                        _ => {
                            let message =
                                "a template of WGSL is an int or a bool; types are those of the arrays"
                                    .to_owned();
                            return Err(argument("kernel", message));
                        }
                    });
                }
                let group = std::array::from_fn(|i| threadgroup[i].min(grid[i]).max(1));
                let mut kernel = Kernel::new(&self.name, source).header(&before).workgroup_size(group);
                for (name, a) in inputs.iter().zip(arrays) {
                    kernel = kernel.input(name, a.dtype());
                }
                for (name, (_, dtype)) in names.iter().zip(&outputs) {
                    kernel = kernel.output(name, *dtype);
                }
                let shapes: Vec<Shape> = outputs.into_iter().map(|(shape, _)| shape).collect();
                Ok((format!("{before}\n{source}"), kernel.call(&given, grid, &shapes)))
            }
        }
    }
}

/// What may be asked of Metal's compiler; WGSL has one way to compute, so it is checked and changes nothing.
fn check_options(options: Option<&Bound<'_, PyAny>>) -> PyResult<()> {
    let Some(options) = options else { return Ok(()) };
    let options = options.cast::<PyDict>().map_err(|_| {
        PyTypeError::new_err("[metal_kernel] compile_options is a dictionary, as {\"math_mode\": \"safe\"}")
    })?;
    for (name, value) in options {
        let (name, value) = (name.str()?.to_string(), value.str()?.to_string());
        if name != "math_mode" || !["safe", "relaxed", "fast"].contains(&value.as_str()) {
            let message = format!(
                "[metal_kernel] compile_options has {name:?}: {value:?}; the option is \"math_mode\": \"safe\", \
                 \"relaxed\" or \"fast\""
            );
            return Err(PyValueError::new_err(message));
        }
    }
    Ok(())
}

/// metal_kernel(name: str, input_names: Sequence[str], output_names: Sequence[str], source: str, header: str = '', ensure_row_contiguous: bool = True, atomic_outputs: bool = False, compile_options: object | None = None) -> Callable[..., list[array]]
///
/// A kernel in Metal's language, translated to WGSL when it is called, so that it runs on every GPU.
#[pyfunction]
#[pyo3(signature = (name, input_names, output_names, source, header = "", ensure_row_contiguous = true, atomic_outputs = false, compile_options = None))]
#[allow(clippy::too_many_arguments, reason = "they are MLX's")]
fn metal_kernel(
    name: &str,
    input_names: Vec<String>,
    output_names: Vec<String>,
    source: &str,
    header: &str,
    ensure_row_contiguous: bool,
    atomic_outputs: bool,
    compile_options: Option<Bound<'_, PyAny>>,
) -> PyResult<PyKernel> {
    // Arrays are row-major here in any case; strides say so.
    let _ = ensure_row_contiguous;
    check_options(compile_options.as_ref())?;
    if output_names.is_empty() {
        return Err(PyValueError::new_err(format!("[metal_kernel] kernel {name:?} has no output")));
    }
    let mut kernel = MetalKernel::new(name, source).header(header);
    for input in input_names {
        kernel = kernel.input(input);
    }
    for output in output_names {
        kernel = kernel.output(output);
    }
    // Programs make their kernels when they are imported, and call them where they can be used.
    let text = if atomic_outputs { Text::Atomic } else { Text::Metal(kernel) };
    Ok(PyKernel { name: name.to_owned(), text })
}

/// wgsl_kernel(name: str, input_names: Sequence[str], output_names: Sequence[str], source: str, header: str = '') -> Callable[..., list[array]]
///
/// A kernel in WGSL, called as those of metal_kernel are: `id`, `local` and `group` say which invocation it is.
#[pyfunction]
#[pyo3(signature = (name, input_names, output_names, source, header = ""))]
fn wgsl_kernel(
    name: &str,
    input_names: Vec<String>,
    output_names: Vec<String>,
    source: &str,
    header: &str,
) -> PyKernel {
    let text = Text::Wgsl {
        source: source.to_owned(),
        header: header.to_owned(),
        inputs: input_names,
        outputs: output_names,
    };
    PyKernel { name: name.to_owned(), text }
}

pub fn register(fast: &Bound<'_, PyModule>) -> PyResult<()> {
    crate::add_functions!(fast: metal_kernel, wgsl_kernel);
    Ok(())
}
