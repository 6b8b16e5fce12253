"""Reads traces: tables for pyarrow, pandas and polars, arrays for NumPy.

    import pellucid.trace

    trace = pellucid.trace.open("run.pltrace")
    trace.manifest["counts"]
    trace.pandas("launches").sort_values("start_ns")
    trace.tensor(17)

In a notebook a trace shows its summary. Only NumPy is needed; pyarrow, pandas and polars when they are asked for. The
file's format is described in ``docs/trace-format.md``.
"""

from __future__ import annotations

import importlib
import importlib.util
import io
import json
import os
import zipfile
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

#: The tables of a trace, as the folders of the file are called.
TABLES = ("ops", "launches", "dispatches", "memory", "sync", "stats")
_OTHER_NAMES = {"allocations": "memory", "waits": "sync"}
_VERSION = 2


class TraceError(ValueError):
    """The file is not a trace, or is damaged."""


def open(path: str | os.PathLike[str]) -> Trace:
    """Opens the trace ``path``. The file stays open until the trace is closed or forgotten."""
    return Trace(path)


def _need(package: str, purpose: str) -> Any:
    try:
        return importlib.import_module(package)
    except ImportError as error:
        root = package.partition(".")[0]
        raise ImportError(f"{purpose} needs {root}; install it with `pip install {root}`", name=root) from error


class Trace:
    """A trace that is open for reading; also a context manager that closes it."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = os.fspath(path)
        try:
            self._archive = zipfile.ZipFile(self.path)
        except zipfile.BadZipFile as error:
            raise TraceError(
                f"{self.path!r} is not a complete trace: {error}. `pellucid recover` saves what is whole."
            ) from error
        try:
            self.manifest: dict[str, Any] = self._read_manifest()
        except BaseException:
            self._archive.close()
            raise

    def _read_manifest(self) -> dict[str, Any]:
        try:
            manifest = json.loads(self._archive.read("manifest.json"))
        except KeyError:
            raise TraceError(f"{self.path!r} has no manifest.json, so it is not a trace") from None
        except (ValueError, zipfile.BadZipFile) as error:
            raise TraceError(f"the manifest of {self.path!r} cannot be read: {error}") from error
        if not isinstance(manifest, dict) or manifest.get("format") != "pltrace":
            raise TraceError(f"{self.path!r} is not a trace: its manifest does not say so")
        if not isinstance(manifest.get("version"), int) or manifest["version"] > _VERSION:
            raise TraceError(f"{self.path!r} has version {manifest.get('version')!r}; up to {_VERSION} can be read")
        return manifest

    def close(self) -> None:
        """Closes the file. The manifest and tables that were read stay."""
        self._archive.close()

    def __enter__(self) -> Trace:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        counts = self.manifest.get("counts", {})
        return f"<trace {self.path!r}: {counts.get('ops', 0)} ops, {counts.get('launches', 0)} launches>"

    def _repr_html_(self) -> str:
        from pellucid._summary import page

        return page(self)

    # Tables

    def _chunks(self, name: str) -> list[bytes]:
        name = _OTHER_NAMES.get(name, name)
        if name not in TABLES:
            known = ", ".join([*TABLES, *_OTHER_NAMES])
            raise KeyError(f"there is no table {name!r}; the tables are {known}")
        members = sorted(m for m in self._archive.namelist() if m.startswith(name + "/") and m.endswith(".arrow"))
        return [self._archive.read(member) for member in members]

    def arrow(self, name: str) -> Any:
        """A table for pyarrow. A table without rows has no columns: the file does not have it."""
        pa = _need("pyarrow", "a table")
        ipc = _need("pyarrow.ipc", "a table")
        chunks = self._chunks(name)
        if not chunks:
            return pa.table({})
        try:
            return pa.concat_tables(ipc.open_stream(chunk).read_all() for chunk in chunks)
        except pa.ArrowInvalid as error:
            raise TraceError(f"the table {name} of {self.path!r} cannot be read: {error}") from error

    def pandas(self, name: str) -> pandas.DataFrame:
        """A table for pandas."""
        _need("pandas", "a pandas table")
        frame: pandas.DataFrame = self.arrow(name).to_pandas()
        return frame

    def polars(self, name: str) -> polars.DataFrame:
        """A table for polars, which reads it without pyarrow."""
        pl = _need("polars", "a polars table")
        chunks = self._chunks(name)
        frames = [pl.read_ipc_stream(io.BytesIO(chunk)) for chunk in chunks]
        frame: polars.DataFrame = pl.concat(frames) if frames else pl.DataFrame()
        return frame

    @property
    def ops(self) -> pyarrow.Table:
        """One row per operation."""
        return self.arrow("ops")

    @property
    def launches(self) -> pyarrow.Table:
        """One row per kernel launch."""
        return self.arrow("launches")

    @property
    def dispatches(self) -> pyarrow.Table:
        """One row per kernel that a GPU was given; empty for work on the CPU, and in files of version 1."""
        return self.arrow("dispatches")

    @property
    def allocations(self) -> pyarrow.Table:
        """One row per change of memory; the file's table ``memory``."""
        return self.arrow("memory")

    memory = allocations

    @property
    def waits(self) -> pyarrow.Table:
        """One row per wait; the file's table ``sync``."""
        return self.arrow("sync")

    sync = waits

    @property
    def stats(self) -> pyarrow.Table:
        """One row of figures per array."""
        return self.arrow("stats")

    # Arrays and kernels

    @property
    def tensors(self) -> list[int]:
        """The numbers of the arrays whose elements are in the file."""
        names = (m.removeprefix("tensors/").removesuffix(".npy") for m in self._members("tensors", ".npy"))
        return sorted(int(name) for name in names if name.isdecimal())

    def tensor(self, array: int) -> np.ndarray[Any, Any]:
        """The elements of an array. ``bfloat16`` has ml_dtypes' type if that is installed, else they are ``float32``."""
        member = f"tensors/{int(array)}.npy"
        try:
            data = self._archive.read(member)
        except KeyError:
            mode = self.manifest.get("mode")
            raise KeyError(f"the elements of array {array} are not in the file, whose mode is {mode!r}") from None
        try:
            elements: np.ndarray[Any, Any] = np.load(io.BytesIO(data), allow_pickle=False)
        except ValueError as error:
            raise TraceError(f"{member} cannot be read: {error}") from error
        if elements.dtype == np.uint16 and self._dtype(array) == "bfloat16":
            return _bfloat16(elements)
        return elements

    def _dtype(self, array: int) -> str | None:
        """The element type of an array, as the table of operations has it."""
        if not hasattr(self, "_dtypes"):
            self._dtypes: dict[int, str] = {}
            for outputs, dtypes in self._rows("ops", "outputs", "dtypes"):
                self._dtypes.update(zip(outputs, dtypes))
        return self._dtypes.get(array)

    def _rows(self, table: str, *columns: str) -> Iterator[tuple[Any, ...]]:
        """Rows as Python values, read by whichever package is installed."""
        if importlib.util.find_spec("pyarrow") is None and importlib.util.find_spec("polars") is not None:
            frame = self.polars(table)
            values = [frame[column].to_list() for column in columns] if frame.height else []
        else:
            read = self.arrow(table)
            values = [read[column].to_pylist() for column in columns] if read.num_rows else []
        yield from zip(*values)

    @property
    def kernels(self) -> Mapping[str, str]:
        """The source of each kernel by its member's name, as in the column ``source`` of the launches."""
        return {
            member: self._archive.read(member).decode("utf-8", "replace") for member in self._members("kernels", "")
        }

    def _members(self, folder: str, ending: str) -> list[str]:
        return sorted(m for m in self._archive.namelist() if m.startswith(folder + "/") and m.endswith(ending))


def _bfloat16(bits: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    try:
        import ml_dtypes
    except ImportError:
        # The upper half of a float32 is the same number.
        return (bits.astype(np.uint32) << 16).view(np.float32)
    return bits.view(ml_dtypes.bfloat16)

