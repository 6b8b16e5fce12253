"""``pellucid.capture``: a block of code, and a file that says what it ran."""

from __future__ import annotations

import os
from types import TracebackType
from typing import Any

MODES = ("timeline", "stats", "replay", "full")


class capture:
    """Captures what the block runs into the file ``path``, which must not exist yet.

    ``mode`` says how much is recorded: ``"timeline"`` (no data), ``"stats"`` (figures of every array), ``"replay"``
    (also the arrays a replay needs; the default) or ``"full"`` (every result). ``max_bytes`` limits the file's size;
    what does not fit is left out, and the file says so.

    Work of the block that was not evaluated is not recorded: call ``mx.eval`` inside. The end of the block waits for
    the work that was started in it. If the block raises, the file is completed and the exception goes on.

    After the block, ``summary`` says what was written::

        with pellucid.capture("run.pltrace") as captured:
            mx.eval(a + b)
        print(captured.summary["launches"])
    """

    def __init__(
        self, path: str | os.PathLike[str], mode: str | None = None, *, max_bytes: int | None = None
    ) -> None:
        if mode is not None and mode not in MODES:
            raise ValueError(f"[capture] There is no mode {mode!r}; the modes are {', '.join(MODES)}.")
        self.path = os.fspath(path)
        self.mode = mode
        self.max_bytes = max_bytes
        self.summary: dict[str, Any] | None = None

    def __enter__(self) -> capture:
        from pellucid import core

        core._capture_start(self.path, self.mode, self.max_bytes)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        from pellucid import core

        if error is None:
            self.summary = core._capture_stop()
            return
        try:
            self.summary = core._capture_stop()
        except RuntimeError:
            # The block's own exception matters more than a file that could not be completed.
            pass

    def trace(self) -> Any:
        """The finished file, opened with :func:`pellucid.trace.open`."""
        from pellucid import trace

        return trace.open(self.path)
