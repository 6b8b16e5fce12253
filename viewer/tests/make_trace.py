"""Writes the traces of the tests: python make_trace.py KIND PATH, or `all FOLDER`.

Kinds: sample, changed, large, streams, graph, and every name in traces/hostile.py and traces/stories.py.
"""

import os
import sys

from traces import hostile, large, sample, stories

KINDS = {
    "sample": sample.write,
    "changed": lambda path: sample.write(path, changed=True),
    "large": large.write,
    "streams": lambda path: large.write(path, count=6_000, streams=60),
    "graph": lambda path: large.write(path, count=100_000),
    **hostile.KINDS,
    **stories.KINDS,
}


def main():
    kind, path = sys.argv[1:3]
    if kind == "all":
        os.makedirs(path, exist_ok=True)
        for name, write in KINDS.items():
            if name not in ("large", "graph"):
                write(os.path.join(path, f"{name}.pltrace"))
    else:
        KINDS[kind](path)


if __name__ == "__main__":
    main()
