"""The package is light: nothing is imported before it is used."""

import subprocess
import sys
import time

import pytest

MOST = 0.3
ATTEMPTS = 7

pytestmark = pytest.mark.usefixtures("subject")


def best(code):
    times = []
    for _ in range(ATTEMPTS):
        start = time.perf_counter()
        subprocess.run([sys.executable, "-c", code], check=True)
        times.append(time.perf_counter() - start)
    return min(times)


def test_import_takes_less_than_three_tenths_of_a_second(request):
    name = request.config.getoption("--subject")
    whole, python = best(f"import {name}"), best("pass")
    print(f"import {name}: {whole:.3f} s with Python's own {python:.3f} s")
    assert whole - python < MOST


def test_the_core_imports_no_other_package(request):
    name = request.config.getoption("--subject")
    if name != "pellucid.core":
        pytest.skip("about Pellucid")
    code = (
        "import sys, pellucid.core\n"
        "print([m for m in ('numpy', 'pyarrow', 'pandas', 'polars', 'mlx', 'ml_dtypes') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout == "[]\n"


def test_the_version_is_that_of_the_package(request):
    if request.config.getoption("--subject") != "pellucid.core":
        pytest.skip("about Pellucid")
    from importlib.metadata import version

    import pellucid

    assert pellucid.__version__ == version("pellucid") == pellucid.core.__version__
    assert {"capture", "core", "trace", "view"} <= set(dir(pellucid))
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        pellucid.nothing
