//! `pellucid.core.cuda` and the kernels that are written for it: there is no CUDA here, and everything says so.

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;

/// is_available() -> bool
///
/// Whether CUDA can be used: False. NVIDIA's GPUs are reached through Vulkan, see gpu.
#[pyfunction]
fn is_available() -> bool {
    false
}

fn refused(function: &str, name: &str) -> PyErr {
    PyRuntimeError::new_err(format!(
        "[{function}] kernel {name:?} is written for CUDA, which Pellucid does not use: it reaches GPUs through Vulkan, \
         Metal and DirectX 12. Kernels of your own are WGSL, in Rust: gpu::Kernel::new({name:?}, …)"
    ))
}

/// cuda_kernel(name: str, input_names: Sequence[str], output_names: Sequence[str], source: str, header: str = '', ensure_row_contiguous: bool = True, shared_memory: int = 0) -> object
///
/// Refused with a RuntimeError that shows the way: there is no CUDA here.
#[pyfunction]
#[pyo3(signature = (name, input_names, output_names, source, header = "", ensure_row_contiguous = true, shared_memory = 0))]
fn cuda_kernel(
    name: &str,
    input_names: Vec<String>,
    output_names: Vec<String>,
    source: &str,
    header: &str,
    ensure_row_contiguous: bool,
    shared_memory: i64,
) -> PyResult<Py<PyAny>> {
    let _ = (input_names, output_names, source, header, ensure_row_contiguous, shared_memory);
    Err(refused("cuda_kernel", name))
}

/// precompiled_cuda_kernel(*, name: str, compiled_source: bytes, inputs: Sequence[array | scalar], output_shapes: Sequence[Sequence[int]], output_dtypes: Sequence[Dtype], scalars: Sequence[scalar], grid: tuple[int, int, int], threadgroup: tuple[int, int, int], shared_memory: int = 0, init_value: float | None = None, ensure_row_contiguous: bool = False, stream: StreamOrDevice = None) -> list[array]
///
/// Refused with a RuntimeError that shows the way: there is no CUDA here.
#[pyfunction]
#[pyo3(signature = (*, name, compiled_source, inputs, output_shapes, output_dtypes, scalars, grid, threadgroup, shared_memory = 0, init_value = None, ensure_row_contiguous = false, stream = None))]
#[allow(clippy::too_many_arguments)] // They are MLX's.
fn precompiled_cuda_kernel(
    name: &str,
    compiled_source: Py<PyAny>,
    inputs: Py<PyAny>,
    output_shapes: Py<PyAny>,
    output_dtypes: Py<PyAny>,
    scalars: Py<PyAny>,
    grid: Py<PyAny>,
    threadgroup: Py<PyAny>,
    shared_memory: i64,
    init_value: Option<f64>,
    ensure_row_contiguous: bool,
    stream: Option<Py<PyAny>>,
) -> PyResult<Vec<Py<PyAny>>> {
    let _ = (compiled_source, inputs, output_shapes, output_dtypes, scalars, grid, threadgroup);
    let _ = (shared_memory, init_value, ensure_row_contiguous, stream);
    Err(refused("precompiled_cuda_kernel", name))
}

pub fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    let cuda = crate::submodule(m, "cuda", "CUDA, which is not used here.")?;
    crate::add_functions!(&cuda: is_available);
    let fast = m.getattr("fast")?.cast_into::<PyModule>()?;
    crate::add_functions!(&fast: cuda_kernel, precompiled_cuda_kernel);
    Ok(())
}
