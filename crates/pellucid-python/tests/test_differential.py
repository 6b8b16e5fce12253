"""Every function against the published mlx: same type, same shape, same elements, same exception."""

import pytest

from differ import compare, differences, outcome, table

LEAST = 5000
SHOWN = 8


@pytest.mark.parametrize("name", sorted(table.by_function()))
def test_gives_what_mlx_gives(name, subject, reference):
    try:
        outcome.function(subject, name)
    except AttributeError:
        compare.SKIPPED[name] = "not implemented"
        pytest.skip(f"{name} is not implemented")
    wrong = []
    for item, theirs in zip(table.by_function()[name], reference.outcomes(name), strict=True):
        ours = outcome.run(subject, item)
        problem = compare.compare(item, ours, theirs)
        if problem is not None:
            wrong.append(f"{item!r:.400}\n    {problem:.600}")
    assert not wrong, f"{len(wrong)} of {len(table.by_function()[name])} calls:\n" + "\n".join(wrong[:SHOWN])


@pytest.fixture
def everything(request):
    """For tests that look back on all comparisons."""
    ran = sum("test_gives_what_mlx_gives" in item.name for item in request.session.items)
    if ran < len(table.by_function()):
        pytest.skip("only some functions were chosen")


def test_there_were_enough_comparisons(everything):
    total = sum(compare.COMPARED.values())
    print(f"{total} comparisons")
    assert total >= LEAST


def test_every_difference_that_is_meant_to_be_was_seen(everything, request):
    if request.config.getoption("--subject") == "mlx.core":
        pytest.skip("mlx does not differ from itself")
    reasons = {row.why for row in [*differences.ELEMENTS, *differences.CALLS]}
    assert reasons - set(compare.EXCUSED) == set(), "these are stale"
