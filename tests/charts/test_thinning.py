"""Thinning: nothing is lost at the ends, and the spread is that of the values it stands for."""

import math
import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eigenloop.charts import thinned
from eigenloop.charts.thinning import stretches


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


@given(st.lists(st.floats() | st.none(), min_size=4, max_size=60), st.integers(3, 20))
def test_a_point_stands_for_the_finite_values_of_its_stretch(values: list[float | None], limit: int) -> None:
    places, medians, low, high = thinned(range(len(values)), values, limit)
    parts = stretches(len(values), limit)
    assert len(places) == len(medians) == len(parts)
    assert (places[0], places[-1]) == (0, len(values) - 1)
    assert bool(low) == bool(high) == (len(values) > limit)
    for i, part in enumerate(parts):
        kept = [value for k in part if (value := values[k]) is not None and math.isfinite(value)]
        assert places[i] in part
        if not kept:
            assert medians[i] is None
            continue
        assert medians[i] in (statistics.median(kept), statistics.median_low(kept))
        assert math.isfinite(medians[i] or 0.0), "the mean of two large values overflows"
        if low:
            assert (low[i], high[i]) == (min(kept), max(kept))


def test_a_short_curve_stays_as_it_is() -> None:
    assert thinned([1, 2, 5], [0.5, math.nan, None]) == ((1, 2, 5), (0.5, None, None), (), ())


def test_too_few_points_are_refused() -> None:
    with pytest.raises(ValueError, match="at least 3"):
        stretches(10, 2)
