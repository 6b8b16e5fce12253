//! Kernels that are written in Metal's language, on any GPU.

use super::Kernel;
use super::msl::{self, Fault, Given, Seen, Setting};
use crate::array::{Array, Dtype, Shape, as_many, fail, ok};
use crate::error::{Error, Result};
use crate::ops;

/// Invocations of a workgroup that every GPU can run.
const MOST_INVOCATIONS: u32 = 256;

/// A kernel in Metal's language, written as for MLX: the body of a function that sees its arrays under the names given,
/// and `x_shape`, `x_strides` and `x_ndim` for an array `x`. For every call it is translated to WGSL for the arrays it is
/// called with, so it runs on every GPU.
///
/// What is translated: numbers of all types and vectors of them with C's conversions, arrays, pointers into arrays,
/// control flow, Metal's mathematical functions, threadgroup memory and barriers, functions and templates in the header.
/// Sixteen-bit floats are computed in 32 bits. What is not (exchange between the threads of a simdgroup, atomics,
/// structures, references) is an error that names the line.
///
/// ```
/// use pellucid::{Array, Device, Dtype, gpu, with_device};
/// # fn main() -> pellucid::Result<()> {
/// let square = gpu::MetalKernel::new("square", "uint i = thread_position_in_grid.x;\nout[i] = x[i] * x[i];")
///     .input("x")
///     .output("out");
/// let x = Array::from([1.0f32, 2.0, 3.0]);
/// let launch = gpu::MetalLaunch::new([3, 1, 1], [32, 1, 1]).output([3], Dtype::Float32);
/// assert!(square.wgsl(&[&x], &launch)?.contains("out[v1_i] = (x[v1_i] * x[v1_i]);"));
/// if gpu::is_available() {
///     let y = with_device(Device::gpu(), || square.call(&[&x], &launch))?.remove(0);
///     assert_eq!(y.to_vec::<f32>()?, [1.0, 4.0, 9.0]);
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct MetalKernel {
    name: String,
    source: String,
    header: String,
    inputs: Vec<String>,
    outputs: Vec<String>,
}

/// What a name of a template stands for in one call.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Template {
    /// An element type.
    Type(Dtype),
    /// A whole number.
    Int(i64),
    /// A truth.
    Bool(bool),
}

/// Where a [`MetalKernel`] is launched, and what it makes.
#[derive(Clone, Debug)]
pub struct MetalLaunch {
    grid: [u32; 3],
    threadgroup: [u32; 3],
    outputs: Vec<(Shape, Dtype)>,
    templates: Vec<(String, Template)>,
}

impl MetalLaunch {
    /// As many threads as `grid` says, in groups of `threadgroup`.
    pub fn new(grid: [u32; 3], threadgroup: [u32; 3]) -> MetalLaunch {
        MetalLaunch { grid, threadgroup, outputs: Vec::new(), templates: Vec::new() }
    }

    /// The shape and the type of the next output.
    pub fn output(mut self, shape: impl Into<Shape>, dtype: Dtype) -> MetalLaunch {
        self.outputs.push((shape.into(), dtype));
        self
    }

    /// What a name of a template stands for.
    pub fn template(mut self, name: impl Into<String>, value: Template) -> MetalLaunch {
        self.templates.push((name.into(), value));
        self
    }

    /// Groups as Metal forms them: no larger than the grid.
    fn group(&self) -> [u32; 3] {
        std::array::from_fn(|i| self.threadgroup[i].min(self.grid[i]).max(1))
    }
}

impl MetalKernel {
    /// A kernel with this name and body; name its inputs and outputs next.
    pub fn new(name: impl Into<String>, source: impl Into<String>) -> MetalKernel {
        MetalKernel {
            name: name.into(),
            source: source.into(),
            header: String::new(),
            inputs: Vec::new(),
            outputs: Vec::new(),
        }
    }

    /// Names an array that it reads. One without axes is a single value in the text.
    pub fn input(mut self, name: impl Into<String>) -> MetalKernel {
        self.inputs.push(name.into());
        self
    }

    /// Names an array that it writes.
    pub fn output(mut self, name: impl Into<String>) -> MetalKernel {
        self.outputs.push(name.into());
        self
    }

    /// Functions and constants to put before the kernel.
    pub fn header(mut self, text: impl Into<String>) -> MetalKernel {
        self.header = text.into();
        self
    }

    /// The WGSL that a call with these arrays runs: header and body.
    ///
    /// # Errors
    /// [`Error::Argument`] with the line of what is not translated; [`Error::Dtype`] for complex64 and float64.
    pub fn wgsl(&self, inputs: &[&Array], launch: &MetalLaunch) -> Result<String> {
        let (text, _) = self.translated(inputs, launch)?;
        Ok(format!("{}{}", text.header, text.body))
    }

    /// The kernel applied to arrays, on this thread's stream: one result for each output.
    ///
    /// # Errors
    /// The arrays fail as [`wgsl`](MetalKernel::wgsl) does, and as [`Kernel::call`] does.
    #[track_caller]
    pub fn call(&self, inputs: &[&Array], launch: &MetalLaunch) -> Vec<Array> {
        as_many(self.made(inputs, launch), self.outputs.len())
    }

    #[track_caller]
    fn made(&self, inputs: &[&Array], launch: &MetalLaunch) -> Vec<Array> {
        ok!(inputs);
        let (text, group) = ok!(self.translated(inputs, launch));
        let mut kernel = Kernel::new(&self.name, text.body).header(text.header).workgroup_size(group);
        let mut given = Vec::new();
        for (name, a) in self.inputs.iter().zip(inputs) {
            let Some(element) = msl::element_of(a.dtype()) else {
                return fail(self.no_type(name, a.dtype()));
            };
            let carrier = msl::carrier(element);
            kernel = kernel.input(name, carrier);
            given.push(if a.dtype() == carrier { (*a).clone() } else { ops::astype(a, carrier) });
        }
        for (name, (_, dtype)) in self.outputs.iter().zip(&launch.outputs) {
            let Some(element) = msl::element_of(*dtype) else { return fail(self.no_type(name, *dtype)) };
            kernel = kernel.output(name, msl::carrier(element));
        }
        let shapes: Vec<Shape> = launch.outputs.iter().map(|(shape, _)| shape.clone()).collect();
        let made = kernel.call(&given.iter().collect::<Vec<_>>(), launch.grid, &shapes);
        let wanted = launch.outputs.iter().map(|(_, dtype)| *dtype);
        made.into_iter()
            .zip(wanted)
            .map(|(a, dtype)| if a.dtype() == dtype { a } else { ops::astype(&a, dtype) })
            .collect()
    }

    /// The text, and the workgroup it is for.
    fn translated(&self, inputs: &[&Array], launch: &MetalLaunch) -> Result<(msl::Translated, [u32; 3])> {
        let counts = (inputs.len(), launch.outputs.len());
        if counts != (self.inputs.len(), self.outputs.len()) {
            let message = format!(
                "kernel {:?} takes {} arrays and makes {}, not {} and {}",
                self.name,
                self.inputs.len(),
                self.outputs.len(),
                counts.0,
                counts.1
            );
            return Err(Error::argument("metal_kernel", message));
        }
        let mut group = launch.group();
        let text = format!("{}\n{}", self.source, self.header);
        let seen_groups = text.contains("threadgroup") || text.contains("simdgroup");
        let threads = group.iter().fold(1u32, |all, &n| all.saturating_mul(n));
        if threads > MOST_INVOCATIONS {
            if seen_groups {
                let message = format!(
                    "kernel {:?}: a threadgroup of {group:?} has {threads} threads; every GPU runs {MOST_INVOCATIONS} at \
                     most, so use a smaller one",
                    self.name
                );
                return Err(Error::argument("metal_kernel", message));
            }
            // The text does not say how threads are grouped, so any grouping does.
            let x = group[0].min(MOST_INVOCATIONS);
            let y = group[1].min(MOST_INVOCATIONS / x);
            group = [x, y, group[2].min(MOST_INVOCATIONS / (x * y))];
        }
        let mut arrays = Vec::new();
        let ins = self.inputs.iter().zip(inputs).map(|(name, a)| (name, a.shape(), a.dtype(), false));
        let outs = self
            .outputs
            .iter()
            .zip(&launch.outputs)
            .map(|(name, (shape, dtype))| (name, &shape[..], *dtype, true));
        for (name, shape, dtype, is_output) in ins.chain(outs) {
            let element = msl::element_of(dtype).ok_or_else(|| self.no_type(name, dtype))?;
            arrays.push(Seen { name, element, shape, is_output });
        }
        let mut templates = Vec::new();
        for (name, value) in &launch.templates {
            let given = match *value {
                Template::Type(dtype) => {
                    Given::Type(msl::element_of(dtype).ok_or_else(|| self.no_type(name, dtype))?)
                }
                Template::Int(value) => Given::Whole(value),
                Template::Bool(truth) => Given::Truth(truth),
            };
            templates.push((name.clone(), given));
        }
        let setting = Setting { arrays, templates, grid: launch.grid, threadgroup: group, text };
        let text = msl::translate(&self.source, &self.header, &setting).map_err(|fault| self.told(&fault))?;
        Ok((text, group))
    }

    fn no_type(&self, name: &str, dtype: Dtype) -> Error {
        Error::dtype(
            "metal_kernel",
            format!("kernel {:?}: {name} of {dtype} has no type on GPUs; use astype", self.name),
        )
    }

    /// A fault with its line, and the way on.
    fn told(&self, fault: &Fault) -> Error {
        let (what, text) = if fault.in_header { ("header", &self.header) } else { ("source", &self.source) };
        let line = text.lines().nth(fault.line.saturating_sub(1)).unwrap_or("").trim();
        let quoted =
            |names: &[String]| names.iter().map(|name| format!("{name:?}")).collect::<Vec<_>>().join(", ");
        let first = self.outputs.first().map_or("out", String::as_str);
        let message = format!(
            "kernel {:?}, line {} of its {what}: {} (in {line:?}). Kernels run as WGSL, and this text has something that \
             is not translated to it. Written in WGSL it runs on every GPU: wgsl_kernel({:?}, [{}], [{}], \
             \"if (id.x < arrayLength(&{first})) {{ {first}[id.x] = … }}\") of pellucid.core.fast, or gpu::Kernel in Rust; \
             thread_position_in_grid is id there, thread_position_in_threadgroup is local, threadgroup_position_in_grid is \
             group",
            self.name,
            fault.line,
            fault.message,
            self.name,
            quoted(&self.inputs),
            quoted(&self.outputs)
        );
        Error::argument("metal_kernel", message)
    }
}
