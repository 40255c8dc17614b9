from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eigenloop.text.durations import clock, duration, time_unit
from eigenloop.text.typography import MISSING, THIN

SECONDS = {"d": 86400, "h": 3600, "min": 60, "s": 1}


@given(st.floats(0.01, 1e8))
def test_a_duration_is_read_back(seconds: float) -> None:
    """The second unit is cut off, not rounded: at most one of it is missing."""
    parts = [part.split(THIN) for part in duration(seconds).split(" ")]
    assert 1 <= len(parts) <= 2
    units = list(SECONDS)
    smallest = units[min(units.index(parts[0][1]) + 1, 3)] if seconds >= 9.95 else "s"
    read = sum(float(count) * SECONDS[unit] for count, unit in parts)
    assert -0.051 * max(1, seconds if seconds < 9.95 else 1) - 0.5 <= seconds - read <= SECONDS[smallest] + 0.5


@given(st.floats(0, 1e7))
def test_a_clock_is_read_back(seconds: float) -> None:
    read = 0
    for part in clock(seconds).removesuffix(" s").split(":"):
        read = 60 * read + int(part)
    assert read == round(seconds)


@pytest.mark.parametrize("nothing", [None, math.nan, math.inf])
def test_no_duration(nothing: float | None) -> None:
    assert duration(nothing) == MISSING


@pytest.mark.parametrize(
    ("seconds", "unit"), [(10, "seconds"), (179, "seconds"), (181, "minutes"), (4 * 3600, "hours"), (9e5, "days")]
)
def test_units_of_time(seconds: float, unit: str) -> None:
    size, name = time_unit(seconds)
    assert name == unit
    assert size == {"seconds": 1, "minutes": 60, "hours": 3600, "days": 86400}[unit]
