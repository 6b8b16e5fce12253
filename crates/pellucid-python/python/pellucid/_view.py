"""``pellucid.view``: a trace in the browser."""

from __future__ import annotations

import base64
import html
import os
import pathlib
import shutil
import subprocess
import tempfile
import webbrowser

_PLACE = "<!-- trace -->"


def view(path: str | os.PathLike[str], *, browse: bool = True) -> subprocess.Popen[bytes] | pathlib.Path:
    """Shows the trace ``path`` in the browser.

    With the ``pellucid`` command in the search path (or named by ``PELLUCID_COMMAND``), its viewer is started and the
    process is returned. Without it, a page that holds the viewer and the trace is written to a temporary file, opened,
    and its path is returned. With ``browse=False`` nothing is opened.
    """
    path = pathlib.Path(path)
    if not path.is_file():
        raise FileNotFoundError(f"[view] There is no file {str(path)!r}.")
    command = os.environ.get("PELLUCID_COMMAND") or shutil.which("pellucid")
    if command and browse:
        return subprocess.Popen([command, "view", str(path)])
    folder = tempfile.mkdtemp(prefix="pellucid-")
    written = page(path, pathlib.Path(folder) / (path.stem + ".html"))
    if browse:
        webbrowser.open(written.as_uri())
    return written


def page(path: str | os.PathLike[str], destination: str | os.PathLike[str]) -> pathlib.Path:
    """Writes one HTML file that holds the viewer and the trace; it opens in any browser, without a server."""
    from pellucid import core

    path, destination = pathlib.Path(path), pathlib.Path(destination)
    head, _, tail = core._viewer_html().partition(_PLACE)
    data = base64.b64encode(path.read_bytes()).decode("ascii")
    name = html.escape(path.name, quote=True)
    with destination.open("w", encoding="utf-8", newline="\n") as out:
        out.write(head)
        out.write(f'<script type="application/octet-stream" id="trace" data-name="{name}">{data}</script>')
        out.write(tail)
    return destination
