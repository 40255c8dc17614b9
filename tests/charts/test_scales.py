"""Axes: ticks are nice, inside the range, in order and neither few nor many."""

import math
from itertools import pairwise

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from eigenloop.charts import scales

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


@pytest.mark.parametrize(("seconds", "labels"), [(90, "0 20 40 60 80"), (7200, "0 25 50 75 100"), (14400, "0 1 2 3 4")])
def test_time_has_ticks_in_its_unit(seconds: float, labels: str) -> None:
    scale, name = scales.duration(seconds)
    assert [tick.label for tick in scale.ticks] == labels.split()
    assert name in ("seconds", "minutes", "hours")
    assert [tick.value for tick in scale.ticks] == [float(label) * scale.unit for label in labels.split()]
    assert scale.high == seconds


@given(st.lists(ANY, max_size=30), st.lists(ANY, max_size=3), st.sampled_from([None, 1.0]))
def test_any_values_have_an_axis(values: list[float], references: list[float], most: float | None) -> None:
    scale = scales.fitting(values, references, most=most)
    assert math.isfinite(scale.low)
    assert scale.low < scale.high
    assert not (scale.log and most)
    places = [scale.at(reference) for reference in references if abs(reference) <= scales.HUGE]
    assert scale.log or all(place is not None and -1e-9 <= place <= 1 + 1e-9 for place in places)


def test_a_logarithmic_axis_for_what_spans_a_factor() -> None:
    assert scales.fitting([1.0, 0.04]).log
    assert not scales.fitting([1.0, 0.06]).log
    assert not scales.fitting([1.0, -0.001]).log
    assert not scales.fitting([1.0, 0.001], most=1.0).log
    assert scales.fitting([1.0, 0.5], log=True).log


def test_zero_where_it_costs_little() -> None:
    assert scales.fitting([1.0, 0.4]).low == 0
    assert scales.fitting([1.0, 0.6]).low == pytest.approx(0.6 - 0.06 * 0.4)
    assert scales.fitting([0.95, 0.2], most=1.0).high == 1.0


def test_a_spike_is_cut_off_and_a_reference_is_not() -> None:
    usual = [1.0, 0.5] * 30
    assert scales.fitting([*usual, 1e6]).high == pytest.approx(4 * 1.06)
    assert scales.fitting([*usual, 3.9]).high > 3.9, "what is no spike is not cut off"
    assert scales.fitting(usual, [1e6]).high > 1e6
    falling = [10.0 ** (-k / 20) for k in range(100)]
    cut = scales.fitting([*falling, 1e6])
    assert cut.log
    assert cut.high < 100
