"""Many threads with streams of their own and shared ones: right results, no deadlock, and the GIL is free meanwhile."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

THREADS = 8
ROUNDS = 25


@pytest.fixture(autouse=True)
def only_pellucid(request):
    if request.config.getoption("--subject") == "mlx.core":
        pytest.skip("a stream of mlx works in the thread that made it")


def in_threads(work):
    start = threading.Barrier(THREADS)

    def wait_and_work(number):
        start.wait()
        return work(number)

    with ThreadPoolExecutor(THREADS) as pool:
        return [future.result(timeout=120) for future in [pool.submit(wait_and_work, n) for n in range(THREADS)]]


def expected(number):
    return float(sum(range(100)) * (number + 1) + 100 * ROUNDS)


def chain(mx, number, stream=None):
    a = mx.arange(100, stream=stream) * (number + 1)
    for _ in range(ROUNDS):
        a = mx.add(a, 1, stream=stream)
    return mx.sum(a, stream=stream)


def test_threads_with_the_default_stream(mx):
    assert in_threads(lambda n: chain(mx, n).item()) == [expected(n) for n in range(THREADS)]


def test_threads_with_streams_of_their_own(mx):
    def work(number):
        stream = mx.new_stream(mx.cpu)
        with mx.stream(stream):
            return chain(mx, number).item()

    assert in_threads(work) == [expected(n) for n in range(THREADS)]


def test_threads_that_share_one_stream(mx):
    stream = mx.new_stream(mx.cpu)
    assert in_threads(lambda n: chain(mx, n, stream).item()) == [expected(n) for n in range(THREADS)]


def test_threads_that_share_arrays_which_nobody_has_evaluated(mx):
    base = mx.arange(1000) * 2
    results = in_threads(lambda n: mx.sum(base + n).item())
    assert results == [999000 + 1000 * n for n in range(THREADS)]


def test_an_array_of_one_thread_is_evaluated_in_another(mx):
    made = in_threads(lambda n: chain(mx, n, mx.new_stream(mx.cpu)))
    mx.async_eval(made)
    assert [a.item() for a in made] == [expected(n) for n in range(THREADS)]


def test_a_stream_of_one_block_is_not_that_of_other_threads(mx):
    mine = mx.new_stream(mx.cpu)
    seen = []
    with mx.stream(mine):
        thread = threading.Thread(target=lambda: seen.append(mx.default_stream(mx.default_device())))
        thread.start()
        thread.join()
        assert mx.default_stream(mx.cpu) == mine
    assert seen != [mine]


def test_a_thread_local_stream_is_another_one_in_each_thread(mx):
    local = mx.new_thread_local_stream(mx.cpu)

    def work(number):
        with mx.stream(local):
            return chain(mx, number).item()

    assert in_threads(work) == [expected(n) for n in range(THREADS)]


def test_writes_and_reads_of_one_array_from_many_threads_never_tear(mx):
    shared = mx.zeros((64,))

    def work(number):
        for _ in range(20):
            shared[:] = number
            values = set(shared.tolist())
            assert values <= set(map(float, range(THREADS)))

    in_threads(work)


def test_python_runs_while_an_evaluation_does(mx):
    a = mx.random.normal((700, 700))
    mx.eval(a)
    ticks, done = [], threading.Event()

    def tick():
        while not done.is_set():
            ticks.append(time.perf_counter())
            time.sleep(0.0005)

    thread = threading.Thread(target=tick)
    thread.start()
    while not ticks:
        time.sleep(0.001)
    before = len(ticks)
    for _ in range(6):
        a = mx.matmul(a, a) * 1e-3
    mx.eval(a)
    during = len(ticks) - before
    done.set()
    thread.join()
    # With the GIL held there would be none in the whole evaluation.
    assert during >= 2


def test_random_numbers_of_threads_do_not_repeat(mx):
    drawn = in_threads(lambda n: tuple(mx.random.uniform(shape=(4,)).tolist()))
    assert all(len(set(numbers)) == 4 for numbers in drawn)


def test_captures_of_many_threads_are_one_file(mx, tmp_path):
    import pellucid

    with pellucid.capture(tmp_path / "threads.pltrace", mode="timeline") as captured:
        in_threads(lambda n: chain(mx, n, mx.new_stream(mx.cpu)).item())
    assert captured.summary["launches"] >= THREADS
    assert len(set(captured.trace().launches["stream"].to_pylist())) >= THREADS
