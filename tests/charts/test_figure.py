"""Figures as HTML: what is read from them is what they were given."""

import json
import math

import pytest
from html_reader import read

from eigenloop.charts import Dot, Figure, Key, Line, compared, draw, matrix, rules, scales, scatter
from eigenloop.charts.chart import Chart

RED, BLUE = Key(0, "c0", "red <1>"), Key(1, "c1", "blue")


def chart(*lines: Line, **options: object) -> Chart:
    given: dict[str, object] = {
        "title": "a title",
        "x": scales.linear(0, 100),
        "y": scales.linear(0, 10),
        "x_title": "step",
        "y_title": "loss",
    }
    return draw(lines, **given | options)  # type: ignore[arg-type]


def test_the_table_has_the_value_nearest_to_each_tick() -> None:
    red = Line(RED, tuple(range(0, 101, 10)), tuple(k / 10 for k in range(0, 101, 10)))
    short = Line(BLUE, (0, 35, 41), (1.0, 2.0, 3.0), name="validation")
    unread = Line(BLUE, (0, 100), (9.0, 9.0), weight="seed")
    values = chart(red, short, unread).values
    assert values.columns == ("step", "red <1>", "blue, validation")
    assert values.rows == (
        ("0", "0", "1"),
        ("20", "2", "2"),
        ("40", "4", "3"),
        ("60", "6", "\N{EN DASH}"),
        ("80", "8", "\N{EN DASH}"),
        ("100", "10", "\N{EN DASH}"),
    )


def test_the_page_gets_title_description_table_and_numbers() -> None:
    one = chart(Line(RED, (0, 50, 100), (1, 2.34567, None)), choice=("loss", "steps"))
    other = chart(Line(RED, (0, 7, 9), (1, 2.34567, None)), choice=("loss", "time"))
    reader = read(Figure("key", (one, other), (RED,), notes=("a & b",)).__html__())
    svgs = [attributes for tag, attributes in reader.tags if tag == "svg" and attributes.get("role") == "img"]
    ids = {attributes.get("id") for _, attributes in reader.tags}
    assert len(svgs) == 2
    assert all(set((attributes["aria-labelledby"] or "").split()) <= ids for attributes in svgs)
    assert "red <1>: from 1 to 2.35, then no longer finite." in reader.text
    assert "a & b" in reader.text
    (block,) = reader.blocks
    assert json.loads(block) == {
        "columns": [[0, 50, 100], [1, 2.346, None], [0, 7, 9]],
        "charts": [[[0, 0, 0, 1]], [[0, 0, 2, 1]]],
    }
    radios = [attributes for tag, attributes in reader.tags if attributes.get("type") == "radio"]
    assert [attributes["data-pick"] for attributes in radios] == ["axis", "axis"], "there is one quantity only"


def test_the_rules_hide_what_is_not_picked() -> None:
    one, other = chart(choice=("loss", "steps")), chart(choice=("loss", "time"))
    written = str(rules([Figure("key", (one, other), (RED, BLUE))]))
    assert '[data-pick="axis"][value="1"]:not(:checked)) [data-axis="1"]' in written
    assert '[data-pick="key"][value="1"]:not(:checked)) .key-1' in written
    assert rules([]) == ""


def test_lines_dots_and_crosses() -> None:
    made = chart(
        Line(RED, (0, 50, 60, 100), (5, None, 10, None)),
        Line(BLUE, (0, 100), (0, 10), weight="dots"),
        Line(BLUE, (0, 100), (0, 10), (0, 9), (1, 10), weight="faint"),
    )
    alone, dots, spread = made.curves
    assert (alone.line, alone.dots, alone.lost) == ("", "M0 500h0M1200 0h0", ((0.0, 50.0), (60.0, 0.0)))
    assert (dots.line, dots.dots) == ("M0 1000l2000 -1000", "M0 1000h0M2000 0h0")
    assert spread.band == "M0 900l2000 -900l0 100l-2000 900z"
    assert [end.text for end in made.ends] == ["red <1>", "blue"]


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_values_that_are_not_finite_are_refused(bad: float) -> None:
    with pytest.raises(ValueError, match="give None for a value that is not finite"):
        Line(RED, (0, 1), (1.0, bad))
    with pytest.raises(ValueError, match="2 places, but 1, 1, 1, 1 heights"):
        Line(RED, (0, 1), (1.0,))


def test_a_scatter_plot_with_its_diagonal() -> None:
    points = [Dot(10.0**k, 2 * 10.0**k, f"run {k}", hollow=k == 0) for k in range(-4, 1)]
    made = scatter({"runs": points}, title="t", x_title="published", y_title="ours", diagonal="the same")
    assert made.x == made.y
    assert made.x.log
    cloud, rings, same = made.curves
    assert [name for *_, name in cloud.points] == ["run -4", "run -3", "run -2", "run -1"]
    assert [name for *_, name in rings.points] == ["run 0"]
    assert "rings key-0" in rings.style, "hidden together with the others of its group"
    assert all(100 - top > left for left, top, _ in cloud.points), "twice as large lies above the diagonal"
    assert same.line == "M0 1000l2000 -1000", "from corner to corner"
    assert (made.x_title, made.y_title) == ("published, log scale", "ours, log scale")
    assert made.values.rows[0] == ("run -4", "0.0001", "0.0002")
    assert made.description.startswith("runs: 4 points; runs: 1 points; the same: from ")


def test_a_matrix_of_counts_is_a_table() -> None:
    made = matrix([[8, 2], [0, 5]], ["cat", "dog"], title="Confusion")
    reader = read(made.__html__())
    assert "Confusion. Rows: true; columns: predicted" in reader.text
    shades = [attributes["style"] for tag, attributes in reader.tags if tag == "td"]
    assert shades == ["--shade: 88%", "--shade: 17%", "--shade: 0%", "--shade: 100%"]
    deep = [attributes.get("class") for tag, attributes in reader.tags if tag == "td"]
    assert deep == ["deep", None, None, "deep"]
    with pytest.raises(ValueError, match="as many rows and columns"):
        matrix([[1, 2]], ["a", "b"], title="")
    with pytest.raises(ValueError, match="negative"):
        matrix([[-1]], ["a"], title="")


def test_numbers_as_dots_on_a_line() -> None:
    strip = compared([0.001, 0.01, None], 0.1, rising=False)
    assert strip is not None
    assert [strip.place(value) for value in (0.001, 0.01, 0.1, 5.0, None)] == [4.0, 50.0, 96.0, 96.0, None]
    assert strip.hint == "\N{LEFTWARDS ARROW} better"
    assert 'cx="50.0%"' in strip.dot(0.01)
    assert "<circle" not in strip.dot(None)
    assert "baseline" in strip.head("baseline")
    rising = compared([0.2, 0.8], 0.9, rising=True)
    assert rising is not None
    assert rising.place(0.5) == 50.0
    assert rising.hint == "", "the name of the reference is in its way"
    assert compared([0.5, None], None, rising=True) is None
