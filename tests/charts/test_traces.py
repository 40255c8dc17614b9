"""Sequences side by side: paths against the values they are made of."""

import re

import numpy as np
import pytest
from html_reader import read

from eigenloop.charts import Trace, sequences


def points(path: str) -> list[tuple[float, float]]:
    return [(float(x), float(y)) for x, y in re.findall(r"[ML]([\d.-]+) ([\d.-]+)", path)]


def test_a_sequence_is_drawn_to_scale() -> None:
    values = np.array([[0.0, 5.0], [1.0, np.nan], [2.0, 5.0]])
    (drawing,) = sequences([Trace("<a>", values, np.array([True, False, True]))]).drawings
    assert points(drawing.paths[0]) == [(0, 18), (120, 10), (240, 2)]
    assert points(drawing.paths[1]) == [(0, 30), (240, 30)], "a constant is drawn in the middle"
    assert drawing.paths[1].count("M") == 2, "a gap where a value is missing"
    assert drawing.marks == ((0.0, 80.0), (160.0, 240.0))


def test_channels_have_the_same_scale_in_all_sequences() -> None:
    low, high = (Trace(str(k), np.array([[k], [k + 1.0]])) for k in (0, 3))
    drawn = sequences([low, high]).drawings
    assert points(drawn[0].paths[0])[0] == (0, 18)
    assert points(drawn[1].paths[0])[-1] == (240, 2)
    with pytest.raises(ValueError, match="the same number of channels"):
        sequences([low, Trace("", np.zeros((2, 2)))])


def test_a_long_sequence_keeps_its_peaks() -> None:
    values = np.zeros((100_000, 1))
    values[[31_234, 77_777]] = [[1.0], [-1.0]]
    (drawing,) = sequences([Trace("", values)]).drawings
    heights = [y for _, y in points(drawing.paths[0])]
    assert (min(heights), max(heights)) == (2, 18)
    assert len(drawing.paths[0]) < 10_000


def test_odd_sequences_can_be_drawn() -> None:
    assert sequences([]).drawings == ()
    nothing, single = sequences([Trace("", np.full((3, 1), np.nan)), Trace("", np.array([[2.0]]))]).drawings
    assert nothing.paths == ("",)
    assert points(single.paths[0]) == [(120, 10)]


def test_captions_are_escaped() -> None:
    reader = read(sequences([Trace("<b> & c", np.zeros((2, 1)))]).__html__())
    assert reader.text.strip() == "<b> & c"
    assert [attributes["aria-label"] for tag, attributes in reader.tags if tag == "svg"] == ["<b> & c"]
