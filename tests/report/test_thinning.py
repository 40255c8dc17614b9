"""Thinning: nothing is lost at the ends, and the spread is that of the values it stands for."""

import math
import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eigenloop.report.thinning import stretches, summarise


@given(count=st.integers(0, 5000), limit=st.integers(3, 400))
def test_stretches_cover_every_position_once(count: int, limit: int) -> None:
    found = stretches(count, limit)
    assert [i for part in found for i in part] == list(range(count))
    assert len(found) == min(count, limit)
    assert all(len(part) >= 1 for part in found)
    if count:
        assert (list(found[0]), list(found[-1])) == ([0], [count - 1])
        inner = [len(part) for part in found[1:-1]]
        assert not inner or max(inner) - min(inner) <= 1


@given(st.lists(st.floats(), min_size=1))
def test_the_spread_of_a_stretch(values: list[float]) -> None:
    kept = [value for value in values if math.isfinite(value)]
    found = summarise(values)
    if not kept:
        assert found is None
        return
    assert found is not None
    assert (found.low, found.high) == (min(kept), max(kept))
    assert found.median == statistics.median(kept) or math.isinf(found.median)


def test_what_was_not_measured_is_left_out() -> None:
    assert summarise([None, 2.0, math.nan, 4.0]) == (3.0, 2.0, 4.0)
    assert summarise([None, math.nan]) is None


def test_too_few_points_are_refused() -> None:
    with pytest.raises(ValueError, match="at least 3"):
        stretches(10, 2)
