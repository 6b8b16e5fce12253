//! Kernels made ready: each compiled once, and found again by what it is.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use parking_lot::Mutex;

use super::device::Gpu;
use super::kernel::{Cache, Kernel};
use super::wgsl::Text;
use crate::error::{Error, Result};
use crate::variable;

/// A kernel ready to launch.
pub(crate) struct Pipeline {
    /// Invocations of a workgroup.
    pub workgroup: [u32; 3],
    pub label: String,
    pub pipeline: wgpu::ComputePipeline,
    pub layout: wgpu::BindGroupLayout,
    /// Number of buffers, those of flags and parameters not counted.
    pub buffers: u32,
    /// Flags are bound after them.
    pub flags: bool,
    /// Parameters come as immediates, not from a buffer.
    pub immediates: bool,
    /// Parameter words, with a zero at the end that is not the caller's; none for kernels of the user.
    pub params: usize,
    /// Its text.
    pub source: Arc<str>,
}

/// A kernel of the user: its name and text, and what it is bound to.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Custom {
    pub label: String,
    pub text: String,
    /// The same in Metal's language, and its workgroup.
    pub msl: Option<(String, [u32; 3])>,
    pub outputs: u32,
    pub inputs: u32,
    pub shared: bool,
}

/// Which bindings a kernel has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Bindings {
    outputs: u32,
    inputs: u32,
    shared: bool,
    /// Inputs that lie in uniform memory, a bit each; there are none beyond 64.
    uniforms: u64,
    flags: bool,
    /// Parameters come from a buffer, bound last.
    params: bool,
}

/// The compiled kernels of a device.
pub(crate) struct Pipelines {
    known: Cache<Arc<Pipeline>>,
    layouts: Mutex<HashMap<Bindings, wgpu::BindGroupLayout>>,
}

/// Whether shaders are compiled with bounds checks and launches compared with the CPU: `PELLUCID_VALIDATE=1`.
pub(crate) fn validating() -> bool {
    static ON: OnceLock<bool> = OnceLock::new();
    *ON.get_or_init(|| variable::flag("PELLUCID_VALIDATE") == Some(true))
}

impl Pipelines {
    pub fn new() -> Pipelines {
        Pipelines { known: Cache::new(), layouts: Mutex::new(HashMap::new()) }
    }

    /// A kernel, compiled if it is new.
    ///
    /// # Errors
    /// [`Error::Internal`] if the text does not compile.
    pub fn get<K: Kernel>(&self, gpu: &Gpu, kernel: &K) -> Result<Arc<Pipeline>> {
        if let Some(known) = self.known.get(kernel) {
            return Ok(known);
        }
        let made = Arc::new(self.compile(gpu, kernel.label(), kernel.text())?);
        Ok(self.known.keep(kernel.clone(), made))
    }

    /// A kernel of the user.
    ///
    /// # Errors
    /// [`Error::Argument`] if the device's compiler refuses the text.
    pub fn get_custom(&self, gpu: &Gpu, kernel: Custom) -> Result<Arc<Pipeline>> {
        if let Some(known) = self.known.get(&kernel) {
            return Ok(known);
        }
        let Custom { label, text, msl, outputs, inputs, shared } = kernel.clone();
        let layout =
            self.layout(gpu, Bindings { outputs, inputs, shared, uniforms: 0, flags: false, params: false });
        let pipeline = gpu
            .guarded(|| match &msl {
                Some((msl, workgroup)) if gpu.has(wgpu::Features::PASSTHROUGH_SHADERS) => {
                    let module = metal_module(gpu, &label, msl, *workgroup);
                    create(gpu, &label, &module, "main0", &layout, 0)
                }
                // With the checks: nobody has proved that it stays inside its buffers.
                _ => create(gpu, &label, &checked_module(gpu, &label, &text), "main", &layout, 0),
            })
            .map_err(|error| {
                Error::argument("kernel", format!("kernel {label:?} does not compile here: {error}"))
            })?;
        let made = Arc::new(Pipeline {
            workgroup: workgroup_size(&text),
            label,
            pipeline,
            layout,
            buffers: outputs + inputs,
            flags: false,
            immediates: false,
            params: 0,
            source: msl.map_or(text, |(msl, _)| msl).into(),
        });
        Ok(self.known.keep(kernel, made))
    }

    /// Names and texts of all kernels compiled so far.
    pub fn sources(&self) -> Vec<(String, Arc<str>)> {
        self.known.values().iter().map(|p| (p.label.clone(), p.source.clone())).collect()
    }

    fn compile(&self, gpu: &Gpu, label: String, text: Text) -> Result<Pipeline> {
        let (buffers, params, flags) = (text.inputs + 1, text.params + 1, text.flags);
        let (shared, uniforms) = (text.shared, text.uniforms);
        let most = if gpu.has(wgpu::Features::IMMEDIATES) { gpu.limits.max_immediate_size } else { 0 };
        let immediates = params * 4 <= most as usize;
        let source = text.finish(immediates);
        let bindings =
            Bindings { outputs: 1, inputs: buffers - 1, shared, uniforms, flags, params: !immediates };
        let layout = self.layout(gpu, bindings);
        let failed = |error: String| {
            Error::internal("gpu", format!("kernel {label} does not compile: {error}\n{source}"))
        };
        let pipeline = gpu
            .guarded(|| {
                let module = if validating() {
                    checked_module(gpu, &label, &source)
                } else {
                    trusted_module(gpu, &label, &source)
                };
                let size = if immediates { params as u32 * 4 } else { 0 };
                create(gpu, &label, &module, "main", &layout, size)
            })
            .map_err(failed)?;
        let workgroup = workgroup_size(&source);
        Ok(Pipeline {
            workgroup,
            label,
            pipeline,
            layout,
            buffers,
            flags,
            immediates,
            params,
            source: source.into(),
        })
    }

    /// The layout of outputs, inputs, flags and parameters.
    fn layout(&self, gpu: &Gpu, bindings: Bindings) -> wgpu::BindGroupLayout {
        use wgpu::BufferBindingType::{Storage, Uniform};
        let make = || {
            let Bindings { outputs, inputs, shared, uniforms, flags, params } = bindings;
            let buffers = outputs + inputs;
            let last = buffers + u32::from(flags);
            let entries: Vec<_> = (0..last + u32::from(params))
                .map(|binding| {
                    let input = binding >= outputs && binding < buffers;
                    let read_only = input && !shared || binding == last;
                    let uniform = input && uniforms.unbounded_shr(binding - outputs) & 1 == 1;
                    buffer_entry(binding, if uniform { Uniform } else { Storage { read_only } })
                })
                .collect();
            gpu.device.create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor {
                label: Some("pellucid kernel"),
                entries: &entries,
            })
        };
        self.layouts.lock().entry(bindings).or_insert_with(make).clone()
    }
}

/// The size of a workgroup that a text declares.
fn workgroup_size(text: &str) -> [u32; 3] {
    let sizes =
        text.split("@workgroup_size(").nth(1).and_then(|rest| rest.split(')').next()).unwrap_or_default();
    let mut sizes = sizes.split(',').map(|size| size.trim().parse().unwrap_or(1));
    std::array::from_fn(|_| sizes.next().unwrap_or(1))
}

fn buffer_entry(binding: u32, ty: wgpu::BufferBindingType) -> wgpu::BindGroupLayoutEntry {
    wgpu::BindGroupLayoutEntry {
        binding,
        visibility: wgpu::ShaderStages::COMPUTE,
        ty: wgpu::BindingType::Buffer { ty, has_dynamic_offset: false, min_binding_size: None },
        count: None,
    }
}

/// Compiles text with checks of bounds, divisions and loops.
fn checked_module(gpu: &Gpu, label: &str, source: &str) -> wgpu::ShaderModule {
    let source = wgpu::ShaderSource::Wgsl(source.into());
    gpu.device.create_shader_module(wgpu::ShaderModuleDescriptor { label: Some(label), source })
}

/// Compiles text of this crate without checks.
fn trusted_module(gpu: &Gpu, label: &str, source: &str) -> wgpu::ShaderModule {
    let source = wgpu::ShaderSource::Wgsl(source.into());
    let description = wgpu::ShaderModuleDescriptor { label: Some(label), source };
    // SAFETY: the kernels of this crate stay inside their buffers: every index is computed from shapes and strides that
    // were checked, or clamped; integer divisions and loops are guarded in the text.
    unsafe { gpu.device.create_shader_module_trusted(description, wgpu::ShaderRuntimeChecks::unchecked()) }
}

/// Hands text in Metal's language to the driver.
fn metal_module(gpu: &Gpu, label: &str, msl: &str, [x, y, z]: [u32; 3]) -> wgpu::ShaderModule {
    let entry_points =
        [wgpu::PassthroughShaderEntryPoint { name: "main0".into(), workgroup_size: (x, y, z) }];
    // SAFETY: what the text does is the user's responsibility, as `Kernel::msl` says.
    unsafe {
        gpu.device.create_shader_module_passthrough(wgpu::ShaderModuleDescriptorPassthrough {
            label: Some(label),
            entry_points: entry_points.as_slice().into(),
            msl: Some(msl.into()),
            ..Default::default()
        })
    }
}

fn create(
    gpu: &Gpu,
    label: &str,
    module: &wgpu::ShaderModule,
    entry_point: &str,
    layout: &wgpu::BindGroupLayout,
    immediate_size: u32,
) -> wgpu::ComputePipeline {
    let pipeline_layout = gpu.device.create_pipeline_layout(&wgpu::PipelineLayoutDescriptor {
        label: Some(label),
        bind_group_layouts: &[Some(layout)],
        immediate_size,
    });
    gpu.device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
        label: Some(label),
        layout: Some(&pipeline_layout),
        module,
        entry_point: Some(entry_point),
        compilation_options: wgpu::PipelineCompilationOptions {
            zero_initialize_workgroup_memory: false,
            ..Default::default()
        },
        cache: None,
    })
}
