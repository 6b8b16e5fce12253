"""Which package is tested, and what is printed at the end."""

import importlib
import os

import pytest

from differ import compare


def pytest_addoption(parser):
    parser.addoption(
        "--subject",
        default=os.environ.get("PELLUCID_SUBJECT", "pellucid.core"),
        help="the package that is compared with mlx.core; mlx.core itself checks the suite",
    )


@pytest.fixture(scope="session")
def subject(request):
    """The package under test, `import pellucid.core as mx`."""
    return importlib.import_module(request.config.getoption("--subject"))


@pytest.fixture(scope="session")
def mx(subject):
    return subject


@pytest.fixture(scope="session")
def reference():
    """The published mlx, which answers from a process of its own."""
    from differ.reference import Reference

    mlx = Reference()
    yield mlx
    mlx.stop()
    compare.RESTARTS += mlx.restarts


def pytest_terminal_summary(terminalreporter):
    if not compare.COMPARED:
        return
    write = terminalreporter.write_line
    write(f"{sum(compare.COMPARED.values())} comparisons with mlx, of {len(compare.COMPARED)} functions")
    if compare.RESTARTS:
        write(f"  mlx did not answer and was started again: {compare.RESTARTS}")
    for name, number in sorted(compare.SETTLED.items()):
        write(f"  settled by NumPy: {name} {number}")
    for why, number in sorted(compare.EXCUSED.items()):
        write(f"  meant to differ: {number} ({why})")
    for name, why in sorted(compare.SKIPPED.items()):
        write(f"  skipped: {name} ({why})")
