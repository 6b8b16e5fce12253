"""Nothing is left out: every name has a comparison, a stub, a docstring and a row in the table of coverage."""

import ast
import importlib.util
import pathlib
import subprocess
import sys
import types

import pytest

from differ import table

ROOT = pathlib.Path(__file__).resolve().parents[3]
PACKAGE = pathlib.Path(__file__).resolve().parents[1]

#: Names that are compared or checked by a test of their own instead of the tables, and where.
ELSEWHERE = {
    "test_devices_and_memory.py": """Device DeviceType Stream StreamContext ThreadLocalStream clear_cache clear_streams cpu
        default_device default_stream device_count device_info get_active_memory get_array_buffer_size get_cache_memory
        get_memory_limit get_peak_memory gpu is_available new_stream new_thread_local_stream new_thread_unsafe_stream
        reset_peak_memory set_cache_limit set_default_device set_default_stream set_memory_limit set_wired_limit stream
        synchronize""",
    "test_exchange.py": "async_eval depends eval export_to_dot from_dlpack",
    "test_export.py": "FunctionExporter export_function exporter import_function",
    "test_files.py": "load save save_gguf save_safetensors savez savez_compressed",
    "transform_cases.py": "checkpoint compile custom_function grad jvp value_and_grad vjp vmap",
    "test_transforms.py": "disable_compile enable_compile",
    "test_extras.py": "ArrayAt ArrayIterator ArrayLike PrintOptions get_printoptions set_printoptions printoptions",
}
#: Names of the devices page, the memory page and the issue that must be there whatever else is.
REQUIRED = "metal random array Dtype DtypeCategory finfo iinfo".split()


@pytest.fixture
def core(request):
    if request.config.getoption("--subject") != "pellucid.core":
        pytest.skip("about Pellucid")
    import pellucid.core

    return pellucid.core


def public(module):
    return [n for n in dir(module) if not n.startswith("_")]


def test_every_function_is_compared_with_mlx(core):
    import mlx.core

    cases = set(table.by_function())
    named = set(" ".join(ELSEWHERE.values()).split())
    constants = {n for n in public(core) if not callable(getattr(core, n))}
    missing = [n for n in public(core) if n not in cases and n not in named and n not in constants
               and n not in ("Dtype", "DtypeCategory", "DtypeError", "RangeError") and hasattr(mlx.core, n)]
    assert missing == []
    drawn = [n for n in public(core.random) if f"random.{n}" not in cases and n not in ("seed", "state")]
    assert drawn == []
    fused = [n for n in public(core.fast) if f"fast.{n}" not in cases and not n.endswith("_kernel")]
    assert fused == []
    for file, names in ELSEWHERE.items():
        text = (pathlib.Path(__file__).parent / file).read_text()
        assert [n for n in names.split() if n not in text] == [], file


def test_every_member_of_arrays_is_compared_with_mlx(core):
    cases = set(table.by_function())
    attributes = {n.removeprefix("get.") for n in cases if n.startswith("get.")}
    missing = [n for n in public(core.array) if f"array.{n}" not in cases and n not in attributes and n != "at"]
    assert missing == [] and "at.add" in cases


def test_the_required_names_are_there(core):
    named = {n for names in ELSEWHERE.values() for n in names.split()}
    assert [n for n in [*REQUIRED, *sorted(named)] if not hasattr(core, n)] == []


def test_every_function_says_its_signature_and_what_it_does(core):
    for module in (core, core.cuda, core.distributed, core.metal, core.random, core.fast, core.fft, core.linalg):
        for name in public(module):
            thing = getattr(module, name)
            if isinstance(thing, types.BuiltinFunctionType):
                first, _, rest = (thing.__doc__ or "").partition("\n")
                assert first.startswith(f"{name}(") and rest.strip(), name


def load_tool(name):
    spec = importlib.util.spec_from_file_location(name, PACKAGE / "tools" / f"{name}.py")
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    return tool


def declared(path):
    names = set()
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            names.add(node.name)
        elif isinstance(node, ast.AnnAssign):
            names.add(node.target.id)
        elif isinstance(node, ast.ImportFrom):
            names |= {alias.asname or alias.name for alias in node.names}
    return names


def test_the_stubs_are_current(core):
    for path, text in load_tool("stubs").written().items():
        assert path.exists() and path.read_text() == text, f"{path.name}: run python tools/stubs.py"


def test_every_public_name_has_a_stub(core):
    folder = PACKAGE / "python" / "pellucid" / "core"
    for module, file in ((core, "__init__"), *((getattr(core, name), name) for name in ("cuda", "distributed", "metal", "random", "fast", "fft", "linalg"))):
        names = declared(folder / f"{file}.pyi")
        assert [n for n in public(module) if n not in names] == []
    stub = next(n for n in ast.parse((folder / "__init__.pyi").read_text()).body if getattr(n, "name", "") == "array")
    members = {node.name for node in stub.body if isinstance(node, ast.FunctionDef)}
    assert [n for n in public(core.array) if n not in members] == []


def test_the_table_of_coverage_is_current(core):
    import mlx.core

    tool = load_tool("coverage")
    text = tool.PAGE.read_text()
    if f"`mlx.core` {mlx.core.__version__}," not in text:
        pytest.skip(f"the page is about another mlx than {mlx.core.__version__}")
    assert text == tool.page(), "run python tools/coverage.py"
    assert "| `mlx.core` | 318 |" in text


def test_the_tools_check_what_they_write(core):
    for name in ("stubs", "coverage"):
        done = subprocess.run([sys.executable, PACKAGE / "tools" / f"{name}.py", "--check"], capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
