"""Axes: ticks are nice, inside the range, in order and neither few nor many."""

import math
from itertools import pairwise

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from eigenloop.report import scales
from eigenloop.report.dodging import dodged

ANY = st.floats(allow_nan=False, allow_infinity=False)


@given(ANY, ANY)
def test_linear_axes(one: float, other: float) -> None:
    low, high = min(one, other), max(one, other)
    scale = scales.linear(low, high)
    ticks = [tick.value for tick in scale.ticks]
    assert all(scale.low <= tick <= scale.high for tick in ticks)
    assert all(a < b for a, b in pairwise(ticks))
    assert 2 <= len(ticks) <= 7
    assert scale.at(scale.low) == 0
    assert scale.at(scale.high) == 1
    if abs(low) <= scales.HUGE and abs(high) <= scales.HUGE:
        assert scale.low <= low <= high <= scale.high
    assert all(tick.label for tick in scale.ticks)


@given(st.floats(1e-9, 1e9), st.floats(1.001, 1e6))
def test_linear_ticks_are_round_numbers(low: float, ratio: float) -> None:
    ticks = scales.linear_ticks(low, low * ratio)
    steps = {float(f"{b - a:.6g}") for a, b in pairwise(ticks)}
    assert len(steps) <= 1
    for step in steps:
        digits = float(f"{step:.5e}".split("e")[0])
        assert digits in (1.0, 2.0, 2.5, 5.0)


@given(st.floats(min_value=0, exclude_min=True), st.floats(min_value=0, exclude_min=True))
def test_logarithmic_axes(one: float, other: float) -> None:
    assume(math.isfinite(one) and math.isfinite(other))
    scale = scales.logarithmic(min(one, other), max(one, other))
    ticks = [tick.value for tick in scale.ticks]
    labels = [tick.label for tick in scale.ticks if tick.label]
    assert all(scale.low <= tick <= scale.high for tick in ticks)
    assert all(a < b for a, b in pairwise(ticks))
    assert 2 <= len(labels) <= 7
    assert len(set(labels)) == len(labels)


@pytest.mark.parametrize(
    ("low", "high", "labels"),
    [
        (1e-4, 10.0, ["10⁻⁴", "10⁻³", "10⁻²", "10⁻¹", "1", "10"]),
        (0.012, 0.08, ["0.02", "0.05"]),
        (0.8, 30.0, ["1", "10"]),
    ],
)
def test_labels_of_logarithmic_axes(low: float, high: float, labels: list[str]) -> None:
    assert [tick.label for tick in scales.logarithmic(low, high).ticks if tick.label] == labels


def test_places_on_a_logarithmic_axis() -> None:
    scale = scales.logarithmic(1e-4, 1.0)
    assert scale.at(1e-2) == pytest.approx(0.5)
    assert scale.at(0.0) is scale.at(-1.0) is None


@given(st.lists(st.floats(0, 340), max_size=20))
def test_labels_do_not_collide(wanted: list[float]) -> None:
    found = dodged(wanted, 17, 340)
    order = sorted(found)
    assert all(b - a >= 16.8 for a, b in pairwise(order))
    assert all(0 <= place <= 340 for place in found)
    ranks = sorted(range(len(wanted)), key=lambda i: wanted[i])
    assert all(found[a] < found[b] for a, b in pairwise(ranks)), "the order of the curves is that of their labels"


def test_labels_with_room_stay_where_they_are() -> None:
    assert dodged([10, 100, 300], 17, 340) == [10, 100, 300]
