"""What the examples share: the data, a bar for the terminal, and the option that captures a step."""

from __future__ import annotations

import argparse
import contextlib
import pathlib
import sys
import time
from collections.abc import Iterator
from typing import Any

import pellucid
import pellucid.core as mx

DATA = pathlib.Path(__file__).resolve().parents[1] / "data"


def digits() -> tuple[mx.array, mx.array, mx.array, mx.array]:
    """Images of handwritten digits with values from 0 to 1 and what they show: 1,438 to learn from, 359 to test with."""
    data = mx.load(str(DATA / "digits.npz"))
    images, labels = data["images"].astype(mx.float32) / 16, data["labels"].astype(mx.int32)
    # Every fifth image is kept for the test: the file is ordered by the people who wrote.
    learn = mx.array([i for i in range(len(labels)) if i % 5 != 4])
    test = mx.arange(4, len(labels), 5)
    return images[learn], labels[learn], images[test], labels[test]


def characters(name: str) -> tuple[mx.array, str]:
    """A text as the numbers of its characters, and the characters by their numbers."""
    text = (DATA / name).read_text(encoding="utf-8")
    # The same characters for every text, so that a model of one can go on with another.
    known = "\n " + "".join(map(chr, range(ord("!"), ord("~") + 1)))
    return mx.array([known.index(c) for c in text]), known


def batches(count: int, size: int) -> Iterator[mx.array]:
    """The numbers below ``count`` in random order, ``size`` at a time; the last ones that fill no batch are left out."""
    order = mx.random.permutation(count)
    for start in range(0, count - size + 1, size):
        yield order[start : start + size]


class Bar:
    """A bar of the work that is done, drawn on a terminal and nowhere else."""

    def __init__(self, what: str, total: int) -> None:
        self.what, self.total, self.done = what, total, 0
        self.start = time.perf_counter()
        self.shown = sys.stderr.isatty()

    def advance(self, note: str = "") -> None:
        self.done += 1
        if self.shown:
            filled = 30 * self.done // self.total
            rate = self.done / (time.perf_counter() - self.start)
            end = "\n" if self.done == self.total else ""
            line = f"\r{self.what} {'█' * filled}{'░' * (30 - filled)} {self.done}/{self.total} {rate:.1f}/s {note}\x1b[K"
            print(line, end=end, file=sys.stderr, flush=True)


def arguments(text: str) -> argparse.Namespace:
    """The command line of every example."""
    parser = argparse.ArgumentParser(description=text)
    parser.add_argument("--seed", type=int, default=0, help="what the random numbers begin with (0)")
    parser.add_argument("--capture", metavar="FILE", help="write a trace of one step of training to this file")
    chosen = parser.parse_args()
    mx.random.seed(chosen.seed)
    return chosen


def captured(path: str | None) -> Any:
    """Captures what the block runs if a file was asked for."""
    return pellucid.capture(path) if path else contextlib.nullcontext()
