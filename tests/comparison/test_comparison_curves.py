"""Which curves stand in one picture, and through which points they go."""

from pathlib import Path
from typing import Any

import made_up
import pytest
from made_up import record

from eigenloop.comparison import curves
from eigenloop.comparison.series import CURVES, POINTS, pictures


def test_a_picture_for_each_task_with_the_same_colours(tmp_path: Path) -> None:
    rows: dict[str, Any] = {}
    for length in (20, 40):
        for name in ("gru", "ours"):
            row = made_up.ROWS[name]
            rows[f"{name}-{length}"] = row | {"settings": row["settings"] | {"task": {"length": length}}}
    made = made_up.experiment(rows=rows)
    found = pictures(made_up.sheet(tmp_path, made, gru_20=record(1.0), ours_20=record(1.0), ours_40=record(1.0)))
    assert [picture.title for picture in found] == ["length 20", "length 40"]
    assert [[series.hue for series in picture.series] for picture in found] == [[0, 1], [1]]
    assert found[0].upwards == "training loss"
    assert found[0].baseline == pytest.approx(1 / 6)


def test_too_many_curves_for_one_picture(tmp_path: Path) -> None:
    rows = {f"row-{i}": made_up.ROWS["gru"] for i in range(CURVES + 3)}
    made = made_up.experiment(rows=rows)
    made_up.keep(tmp_path, made, **{row: record(1.0) for row in rows})
    found = pictures(made_up.sheet(tmp_path, made))
    assert [len(picture.series) for picture in found] == [5, 5]


def test_evaluations_unless_training_is_compared(tmp_path: Path) -> None:
    made = made_up.experiment(measure="test")
    (picture,) = pictures(made_up.sheet(tmp_path, made, gru=record(1.0, curve=[(10, 0.5), (20, None), (30, 0.25)])))
    assert picture.series[0].middle == ((10.0, 0.5), (30.0, 0.25))
    assert picture.upwards == "loss"


def test_the_median_of_seeds_where_they_have_other_steps(tmp_path: Path) -> None:
    one, two = [(0, 1.0), (10, 3.0)], [(0, 5.0), (5, 5.0), (20, 5.0)]
    runs = [record(1.0, seed=0, train_curve=one), record(1.0, seed=1, train_curve=two)]
    (picture,) = pictures(made_up.sheet(tmp_path, made_up.experiment(), gru=runs))
    assert picture.series[0].middle == ((0.0, 3.0), (5.0, 3.5), (20.0, 5.0))
    assert len(picture.series[0].seeds) == 2


def test_curves_are_thinned_and_keep_their_ends(tmp_path: Path) -> None:
    curve = [(i, 1.0 + i) for i in range(200)]
    (picture,) = pictures(made_up.sheet(tmp_path, made_up.experiment(), gru=record(1.0, train_curve=curve)))
    middle = picture.series[0].middle
    assert len(middle) == POINTS
    assert (middle[0], middle[-1]) == ((0.0, 1.0), (199.0, 200.0))


def test_numbers_against_bits(tmp_path: Path) -> None:
    rows: dict[str, Any] = {"float": made_up.ROWS["gru"] | {"label": "float"}}
    for bits in (2, 5, 8):
        model = {"name": "qornn", "hidden_size": 4, "bits": bits}
        rows[f"bits-{bits}"] = made_up.ROWS["gru"] | {"settings": {"model": model}}
    made = made_up.experiment(rows=rows)
    found = {f"bits_{bits}": record(1 / bits) for bits in (2, 5, 8)}
    swept, along = pictures(made_up.sheet(tmp_path, made, float=record(0.01), **found))
    assert (swept.across, along.across) == ("bits", "training step")
    assert swept.series[0].middle == ((2.0, 0.5), (5.0, 0.2), (8.0, 0.125))
    assert swept.series[1].level


@pytest.mark.parametrize(("last", "log"), [(0.05, False), (0.0001, True)])
def test_a_logarithmic_axis_where_curves_span_more_than_a_decade(tmp_path: Path, last: float, log: bool) -> None:
    run = record(last, train_curve=[(0, 0.2), (10, 0.1), (20, last)])
    (figure,) = curves.figures(made_up.sheet(tmp_path, made_up.experiment(), gru=run))
    (chart,) = figure.charts
    assert chart.y.log == log
    assert [mark.label for mark in chart.references] == ["baseline 0.167"]
    assert chart.lines[0].y == (0.2, 0.1, last)


def test_pictures_of_a_family_have_the_same_vertical_axis(tmp_path: Path) -> None:
    rows = {f"row-{i}": made_up.ROWS["gru"] for i in range(CURVES + 3)}
    made = made_up.experiment(rows=rows)
    for i, row in enumerate(rows):
        made_up.keep(tmp_path, made, **{row: record(1.0, train_curve=[(0, 1.0 + i), (10, 0.5)])})
    first, second = (figure.charts[0] for figure in curves.figures(made_up.sheet(tmp_path, made)))
    assert first.y == second.y
    assert first.y.high > CURVES + 3


def test_seeds_are_drawn_but_only_their_median_is_read(tmp_path: Path) -> None:
    runs = [record(1.0, seed=seed, train_curve=[(0, 1.0), (10, 0.1 * seed)]) for seed in (1, 2, 3)]
    (figure,) = curves.figures(made_up.sheet(tmp_path, made_up.experiment(), gru=runs))
    assert [line.weight for line in figure.charts[0].lines] == ["seed", "seed", "seed", "strong"]
    assert figure.charts[0].values.rows[-1][1:] == ("0.2",)
    assert figure.notes == (curves.SEEDS,)


def test_a_diverged_run_ends_with_a_cross(tmp_path: Path) -> None:
    run = record(None, status="diverged", train_curve=[(0, 0.2), (10, 0.4), (20, None)])
    (figure,) = curves.figures(made_up.sheet(tmp_path, made_up.experiment(), gru=run))
    assert len(figure.charts[0].curves[0].lost) == 1
    assert figure.keys[0].label.endswith("(diverged)")


def test_curves_without_a_finite_value_are_left_out(tmp_path: Path) -> None:
    lost = record(None, status="diverged", train_curve=[(1, None)])
    assert curves.figures(made_up.sheet(tmp_path, made_up.experiment(), gru=lost)) == ()
