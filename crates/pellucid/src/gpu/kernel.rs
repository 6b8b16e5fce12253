//! Kernels written by the user, in WGSL, as nodes of the graph like all others.

use std::sync::{Arc, OnceLock};

use super::HostCall;
use crate::array::{Array, Dtype, Shape, ShapeList, Sizes, as_many, fail, ok};
use crate::backend::gpu;
use crate::error::{Error, Result};
use crate::op::{CustomKernel, HostVersion, Op, Port};
use crate::ops;

/// A kernel of your own. The text is the body of a WGSL function; the arrays have the names you give them, and these are
/// known besides:
///
/// | name | meaning |
/// |---|---|
/// | `id` | `vec3<u32>`: which invocation of the grid this is |
/// | `local`, `group` | `vec3<u32>`: which of its workgroup, and which workgroup |
/// | `x_shape` | for an array `x`: its shape, an array of `u32`; made only if the text mentions it |
///
/// Inputs are row-major. What an output is not given stays zero. Indices are checked by the GPU: those out of range read
/// or write some element inside, never beyond.
///
/// ```
/// use pellucid::{Array, Device, Dtype, gpu, with_device};
/// # fn main() -> pellucid::Result<()> {
/// let scale = gpu::Kernel::new("scale", "if (id.x < arrayLength(&x)) { y[id.x] = 2.0 * x[id.x]; }")
///     .input("x", Dtype::Float32)
///     .output("y", Dtype::Float32)
///     .on_host(|call| {
///         let doubled: Vec<f32> = call.input::<f32>(0)?.iter().map(|v| 2.0 * v).collect();
///         call.output::<f32>(0)?.copy_from_slice(&doubled);
///         Ok(())
///     });
/// let x = Array::from([1.0f32, 2.0, 3.0]);
/// let y = scale.call(&[&x], [3, 1, 1], [[3]]).remove(0);
/// assert_eq!(y.to_vec::<f32>()?, [2.0, 4.0, 6.0]);
/// # Ok(())
/// # }
/// ```
///
/// Without a version for the host a kernel runs on GPUs only. Mistakes in the text are found before anything runs (in a
/// build with the feature `gpu`, which brings the compiler):
///
/// ```
/// # use pellucid::{Dtype, gpu};
/// let wrong = gpu::Kernel::new("wrong", "let i = id.x;\ny[i] = z;").output("y", Dtype::Float32);
/// let message = wrong.check().unwrap_err().to_string();
/// assert!(message.contains("line 2, column 8") && message.contains("y[i] = z;"), "{message}");
/// ```
#[derive(Clone, Debug)]
pub struct Kernel {
    spec: CustomKernel,
    checked: OnceLock<Result<()>>,
}

impl Kernel {
    /// A kernel with this name and WGSL body; give it inputs and outputs next.
    pub fn new(name: impl Into<String>, wgsl: impl Into<String>) -> Kernel {
        let spec = CustomKernel {
            name: name.into(),
            header: String::new(),
            body: wgsl.into(),
            msl: None,
            inputs: Vec::new(),
            outputs: Vec::new(),
            workgroup: [64, 1, 1],
            grid: [1, 1, 1],
            host: HostVersion::default(),
        };
        Kernel { spec, checked: OnceLock::new() }
    }

    fn with(mut self, change: impl FnOnce(&mut CustomKernel)) -> Kernel {
        change(&mut self.spec);
        self.checked = OnceLock::new();
        self
    }

    /// Adds an array that it reads: float32, float16, int32, uint32, int64, uint64 or complex64.
    pub fn input(self, name: impl Into<String>, dtype: Dtype) -> Kernel {
        self.with(|spec| spec.inputs.push(Port { name: name.into(), dtype }))
    }

    /// Adds an array that it writes.
    pub fn output(self, name: impl Into<String>, dtype: Dtype) -> Kernel {
        self.with(|spec| spec.outputs.push((Port { name: name.into(), dtype }, Shape::default())))
    }

    /// WGSL to put before the kernel: functions, constants, workgroup variables.
    pub fn header(self, wgsl: impl Into<String>) -> Kernel {
        self.with(|spec| spec.header = wgsl.into())
    }

    /// Invocations of a workgroup; 64 in a row unless this says otherwise, 256 in all at most.
    pub fn workgroup_size(self, size: [u32; 3]) -> Kernel {
        self.with(|spec| spec.workgroup = size)
    }

    /// The kernel as a whole in Metal's own language, with an entry point `main0` whose buffers are the outputs, then
    /// the inputs. Where a GPU is reached through Metal and takes such text, it is used instead of the WGSL, unchecked.
    pub fn msl(self, source: impl Into<String>) -> Kernel {
        self.with(|spec| spec.msl = Some(source.into()))
    }

    /// What the kernel does on the host: used on the CPU, where a GPU lacks a type, and to compare with in
    /// `PELLUCID_VALIDATE=1`. It belongs to this kernel, and stays in this process: a trace does not carry it.
    pub fn on_host(self, version: impl Fn(&mut HostCall) -> Result<()> + Send + Sync + 'static) -> Kernel {
        self.with(|spec| spec.host = HostVersion::new(version))
    }

    /// Checks names, types and text; [`call`](Kernel::call) does so too.
    ///
    /// # Errors
    /// [`Error::Argument`] with the line and a mark under the place for a mistake in the text.
    pub fn check(&self) -> Result<()> {
        let check = || {
            self.spec.check()?;
            gpu::check_text(&self.spec)
        };
        self.checked.get_or_init(check).clone()
    }

    /// The kernel applied to arrays, on this thread's stream: `grid` invocations, rounded up to whole workgroups, and
    /// one result for each output, with the shapes given: an array, a slice or a `Vec` of them, or a tuple where they have
    /// different numbers of axes.
    ///
    /// ```
    /// # use pellucid::{Device, Dtype, gpu, with_device};
    /// # fn main() -> pellucid::Result<()> {
    /// let kernel = gpu::Kernel::new("two", "rows[id.x] = 1.0;\ntotal[0] = 2.0;")
    ///     .output("rows", Dtype::Float32)
    ///     .output("total", Dtype::Float32)
    ///     .on_host(|call| {
    ///         call.output::<f32>(0)?.fill(1.0);
    ///         call.output::<f32>(1)?[0] = 2.0;
    ///         Ok(())
    ///     });
    /// let results = with_device(Device::cpu(), || kernel.call(&[], [6, 1, 1], ([2, 3], ())))?;
    /// assert_eq!((results[0].shape(), results[1].item::<f32>()?), (&[2, 3][..], 2.0));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// The arrays fail as [`check`](Kernel::check) does, and for inputs or shapes that do not fit its declaration.
    #[track_caller]
    pub fn call(&self, inputs: &[&Array], grid: [u32; 3], shapes: impl ShapeList) -> Vec<Array> {
        as_many(self.made(inputs, grid, &shapes.shapes()), self.spec.outputs.len())
    }

    #[track_caller]
    fn made(&self, inputs: &[&Array], grid: [u32; 3], shapes: &[Sizes]) -> Vec<Array> {
        ok!(inputs);
        ok!(self.check());
        let (name, spec) = (&self.spec.name, &self.spec);
        if inputs.len() != spec.inputs.len() || shapes.len() != spec.outputs.len() {
            let message = format!(
                "kernel {name:?} takes {} arrays and makes {}, not {} and {}",
                spec.inputs.len(),
                spec.outputs.len(),
                inputs.len(),
                shapes.len()
            );
            return fail(Error::argument("kernel", message));
        }
        let mut outputs = Vec::with_capacity(shapes.len());
        for ((port, _), sizes) in spec.outputs.iter().zip(shapes) {
            outputs.push((port.clone(), ok!(sizes.shape("kernel"))));
        }
        let spec = CustomKernel { outputs, grid, ..spec.clone() };
        spec.note_host_version();
        let mut rows = Vec::with_capacity(inputs.len());
        for a in inputs {
            rows.push(ops::contiguous(a));
        }
        Array::apply_many(Op::Custom(Arc::new(spec)), &rows)
    }
}
