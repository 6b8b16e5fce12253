"""Ctrl-C ends a wait at once, and a forked child works or says why not."""

import os
import subprocess
import sys
import textwrap

import pytest


@pytest.fixture(autouse=True)
def only_pellucid(request):
    if request.config.getoption("--subject") == "mlx.core":
        pytest.skip("mlx does neither")


def program(text, **kwargs):
    command = [sys.executable, "-u", "-c", textwrap.dedent(text)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **kwargs)


INTERRUPTED = """
    import threading, os, signal
    import pellucid.core as mx

    x = mx.full((1024, 1024), 1 / 1024)
    short = mx.add(x, 1)
    y = x
    for _ in range({count}):
        y = y @ x
    threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
    try:
        {wait}
        print("not interrupted")
    except KeyboardInterrupt:
        print("interrupted")
    mx.eval(short)
    print("goes on:", memoryview(short)[0, 0])
    {after}
"""


@pytest.mark.parametrize("wait", ["mx.eval(y)", "y[0, 0].item()", "mx.async_eval(y); mx.synchronize()", "print(y)"])
def test_ctrl_c_ends_a_wait_and_the_program_goes_on(wait):
    # The evaluation would take minutes: that the program ends within the time limit shows that it was given up. The
    # short evaluation is on another stream, since one stream keeps its order; so would a view of it.
    text = INTERRUPTED.replace("short = mx.add(x, 1)", "short = mx.add(x, 1, stream=mx.new_stream(mx.cpu))")
    process = program(text.format(count=20_000, wait=wait, after="os._exit(0)"))
    try:
        out, _ = process.communicate(timeout=60)
    finally:
        process.kill()
    assert out.splitlines() == ["interrupted", "goes on: 1.0009765625"]


def test_an_interrupted_array_is_complete_when_it_is_waited_for_again():
    after = "print(abs(y[5, 7].item() * 1024 - 1) < 1e-3)"
    process = program(INTERRUPTED.format(count=150, wait="mx.eval(y)", after=after))
    out, _ = process.communicate(timeout=600)
    assert out.splitlines()[-1] == "True"


def test_code_that_is_made_without_end_does_not_fill_the_memory():
    text = """
        import resource
        import pellucid.core as mx

        a = mx.ones(3)
        def run(first, last):
            for i in range(first, last):
                exec(compile("mx.add(a, a)", f"<generated {i}>", "exec"), {"mx": mx, "a": a})

        run(0, 40_000)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        run(40_000, 120_000)
        grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
        print("good" if grown < 8_000 else f"{grown} kilobytes more")
    """
    out, _ = program(text).communicate(timeout=300)
    assert out == "good\n"


def test_the_child_of_a_process_at_rest_works():
    text = """
        import os, sys
        import pellucid.core as mx

        mx.eval(mx.ones((1000, 1000)) @ mx.ones((1000, 1000)))
        for _ in range(5):
            child = os.fork()
            if child == 0:
                good = mx.sum(mx.ones((3000, 1000))).item() == 3e6
                os._exit(0 if good else 1)
            assert os.waitpid(child, 0)[1] == 0
        print("good")
    """
    out, _ = program(text).communicate(timeout=120)
    assert out == "good\n"


def test_the_child_of_a_process_that_computes_is_told_to_spawn():
    text = """
        import os, threading
        import pellucid.core as mx

        done = False
        def work():
            while not done:
                mx.eval(mx.exp(mx.ones(100)))

        threads = [threading.Thread(target=work) for _ in range(3)]
        for thread in threads:
            thread.start()
        for _ in range(30):
            child = os.fork()
            if child == 0:
                try:
                    mx.eval(mx.ones(3) + 1)
                    os._exit(1)
                except RuntimeError as error:
                    os._exit(0 if "spawn" in str(error) else 2)
            assert os.waitpid(child, 0)[1] == 0
        done = True
        print("good")
    """
    out, _ = program(text, env={**os.environ, "PYTHONWARNINGS": "ignore"}).communicate(timeout=120)
    assert out == "good\n"
