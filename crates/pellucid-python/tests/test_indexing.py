"""Indices against NumPy, which checks what the comparison with mlx cannot: the same random indices, and masks."""

import numpy as np
import pytest

from differ import cases_fuzz, outcome
from differ.cases_index import as_numpy

# Every index of the fuzz tables, with NumPy as the judge.
CASES = list(cases_fuzz.cases())


def test_random_reads_give_what_numpy_gives(mx):
    reads = [item for item in CASES if item.function == "operator.getitem"]
    for item in reads:
        expected = item.args[0].data[as_numpy(item.args[1])]
        result = outcome.run(mx, item)
        if result.error is not None and mixed(item.args[1]):
            continue
        assert result.error is None, (item, result)
        # NumPy puts the axes of separated index arrays first, and so does mlx.
        assert result.value.shape == expected.shape, item
        assert np.array_equal(result.value.elements, expected), item
    assert len(reads) == cases_fuzz.READS


def mixed(at):
    return isinstance(at, tuple) and any(isinstance(part, tuple) for part in at)


def test_random_writes_give_what_numpy_gives(mx):
    writes = [item for item in CASES if item.function == "set"]
    for item in writes:
        expected = item.args[0].data.copy()
        expected[as_numpy(item.args[1])] = as_numpy(item.args[2])
        result = outcome.run(mx, item)
        assert result.error is None, (item, result)
        assert np.array_equal(result.value.elements, expected), item
    assert len(writes) == cases_fuzz.WRITES


def test_a_write_changes_only_the_array_it_is_written_to(mx):
    a = mx.arange(6)
    b, view = a, a[2:4]
    a[2] = 100
    assert b.tolist() == [0, 1, 100, 3, 4, 5] and view.tolist() == [2, 3]


def test_slots_named_twice_add_up_with_at(mx):
    a = mx.zeros((3,))
    assert a.at[mx.array([0, 0, 2])].add(1.0).tolist() == [2, 0, 1]
    assert a.tolist() == [0, 0, 0]


def test_iteration_gives_the_rows(mx):
    rows = list(mx.arange(6).reshape(3, 2))
    assert [row.tolist() for row in rows] == [[0, 1], [2, 3], [4, 5]]
    with pytest.raises(TypeError):
        iter(mx.array(1.0)).__next__()


def test_deleting_is_refused(mx):
    with pytest.raises((TypeError, AttributeError)):
        del mx.arange(3)[0]
