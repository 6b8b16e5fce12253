"""The published mlx, in a process of its own.

Some calls end mlx's process and some never return (`all` of an empty array, now and then). None of them is in the
tables, but should another turn up, it may not take the suite along: a worker that does not answer is ended and the
function asked for again.
"""

import multiprocessing
import sys

#: Seconds for all cases of one function; they take milliseconds.
PATIENCE = 30.0
ATTEMPTS = 4


def _work(connection, path, package):
    import importlib

    sys.path[:] = path
    from differ import outcome, table

    module = importlib.import_module(package)
    while True:
        name = connection.recv()
        if name is None:
            return
        connection.send([outcome.run(module, item) for item in table.by_function()[name]])


class Reference:
    """Answers with the outcomes of a function's cases, in the order of the table."""

    def __init__(self, package="mlx.core"):
        self._package = package
        self._context = multiprocessing.get_context("spawn")
        self._process = None
        self.restarts = 0

    def outcomes(self, name):
        for _ in range(ATTEMPTS):
            if self._process is None:
                self._start()
            try:
                self._connection.send(name)
                if self._connection.poll(PATIENCE):
                    return self._connection.recv()
            except (EOFError, OSError):
                pass
            self.stop()
            self.restarts += 1
        raise RuntimeError(f"mlx did not answer for {name}, {ATTEMPTS} times")

    def _start(self):
        self._connection, theirs = self._context.Pipe()
        self._process = self._context.Process(target=_work, args=(theirs, list(sys.path), self._package), daemon=True)
        self._process.start()
        theirs.close()

    def stop(self):
        if self._process is not None:
            self._process.kill()
            self._process.join()
            self._connection.close()
            self._process = None
