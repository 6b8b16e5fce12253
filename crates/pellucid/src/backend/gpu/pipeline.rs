//! Kernels made ready: compiled once for each text, found again by what they are for.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use parking_lot::{Mutex, RwLock};
use smallvec::SmallVec;

use super::device::Gpu;
use super::wgsl::Text;
use crate::error::{Error, Result};

/// What a kernel is for: its family, and the numbers that its text depends on.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Key {
    pub family: &'static str,
    pub words: SmallVec<[u32; 24]>,
}

/// A kernel ready to launch.
pub(crate) struct Pipeline {
    pub label: String,
    pub pipeline: wgpu::ComputePipeline,
    pub layout: wgpu::BindGroupLayout,
    /// Number of storage buffers, those of flags and parameters not counted.
    pub buffers: u32,
    /// Flags are bound after them.
    pub flags: bool,
    /// Parameters come as immediates, not from a buffer.
    pub immediates: bool,
    /// Parameter words, with a zero at the end that is not the caller's.
    pub params: usize,
    /// Its text.
    pub source: Arc<str>,
}

/// The compiled kernels of a device.
pub(crate) struct Pipelines {
    known: RwLock<HashMap<Key, Arc<Pipeline>>>,
    layouts: Mutex<HashMap<(u32, bool, bool, bool), wgpu::BindGroupLayout>>,
}

/// Whether shaders are compiled with bounds checks and launches compared with the CPU: `PELLUCID_VALIDATE=1`.
pub(crate) fn validating() -> bool {
    static ON: OnceLock<bool> = OnceLock::new();
    *ON.get_or_init(|| std::env::var_os("PELLUCID_VALIDATE").is_some_and(|v| !v.is_empty() && v != "0"))
}

impl Pipelines {
    pub fn new() -> Pipelines {
        Pipelines { known: RwLock::new(HashMap::new()), layouts: Mutex::new(HashMap::new()) }
    }

    /// The kernel for a key, compiled from what `write` gives (a name and the text) if it is new.
    ///
    /// # Errors
    /// [`Error::Internal`] if the text does not compile.
    pub fn get(&self, gpu: &Gpu, key: Key, write: impl FnOnce() -> (String, Text)) -> Result<Arc<Pipeline>> {
        if let Some(known) = self.known.read().get(&key) {
            return Ok(known.clone());
        }
        let (label, text) = write();
        let made = Arc::new(self.compile(gpu, label, text)?);
        Ok(self.known.write().entry(key).or_insert(made).clone())
    }

    /// Names and texts of all kernels compiled so far.
    pub fn sources(&self) -> Vec<(String, Arc<str>)> {
        self.known.read().values().map(|p| (p.label.clone(), p.source.clone())).collect()
    }

    fn compile(&self, gpu: &Gpu, label: String, text: Text) -> Result<Pipeline> {
        let (buffers, params, shared, flags) = (text.inputs + 1, text.params + 1, text.shared, text.flags);
        let most = if gpu.has(wgpu::Features::IMMEDIATES) { gpu.limits.max_immediate_size } else { 0 };
        let immediates = params * 4 <= most as usize;
        let source = text.finish(immediates);
        let layout = self.layout(gpu, buffers, shared, flags, immediates);
        let failed = |error: String| {
            Error::internal("gpu", format!("kernel {label} does not compile: {error}\n{source}"))
        };
        let pipeline = gpu
            .guarded(|| create(gpu, &label, &source, &layout, if immediates { params as u32 * 4 } else { 0 }))
            .map_err(failed)?;
        Ok(Pipeline { label, pipeline, layout, buffers, flags, immediates, params, source: source.into() })
    }

    /// The layout of an output, inputs and, unless they come as immediates, parameters.
    fn layout(
        &self,
        gpu: &Gpu,
        buffers: u32,
        shared: bool,
        flags: bool,
        immediates: bool,
    ) -> wgpu::BindGroupLayout {
        let mut layouts = self.layouts.lock();
        let make = || {
            let params = buffers + u32::from(flags);
            let total = params + u32::from(!immediates);
            let entries: Vec<_> = (0..total)
                .map(|binding| {
                    let input = binding > 0 && binding < buffers;
                    let read_only = input && !shared || binding == params;
                    storage_entry(binding, read_only)
                })
                .collect();
            gpu.device.create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor {
                label: Some("pellucid kernel"),
                entries: &entries,
            })
        };
        layouts.entry((buffers, shared, flags, immediates)).or_insert_with(make).clone()
    }
}

fn storage_entry(binding: u32, read_only: bool) -> wgpu::BindGroupLayoutEntry {
    wgpu::BindGroupLayoutEntry {
        binding,
        visibility: wgpu::ShaderStages::COMPUTE,
        ty: wgpu::BindingType::Buffer {
            ty: wgpu::BufferBindingType::Storage { read_only },
            has_dynamic_offset: false,
            min_binding_size: None,
        },
        count: None,
    }
}

fn create(
    gpu: &Gpu,
    label: &str,
    source: &str,
    layout: &wgpu::BindGroupLayout,
    immediate_size: u32,
) -> wgpu::ComputePipeline {
    let description =
        wgpu::ShaderModuleDescriptor { label: Some(label), source: wgpu::ShaderSource::Wgsl(source.into()) };
    let module = if validating() {
        gpu.device.create_shader_module(description)
    } else {
        // SAFETY: the kernels of this crate stay inside their buffers: every index is computed from shapes and
        // strides that were checked, or clamped; integer divisions and loops are guarded in the text.
        unsafe {
            gpu.device.create_shader_module_trusted(description, wgpu::ShaderRuntimeChecks::unchecked())
        }
    };
    let pipeline_layout = gpu.device.create_pipeline_layout(&wgpu::PipelineLayoutDescriptor {
        label: Some(label),
        bind_group_layouts: &[Some(layout)],
        immediate_size,
    });
    gpu.device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
        label: Some(label),
        layout: Some(&pipeline_layout),
        module: &module,
        entry_point: Some("main"),
        compilation_options: wgpu::PipelineCompilationOptions {
            zero_initialize_workgroup_memory: false,
            ..Default::default()
        },
        cache: None,
    })
}
