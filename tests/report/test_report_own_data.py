"""The page of a run on own data: drawings against the numbers they are made of."""

import re
from pathlib import Path

import numpy as np
import pytest
from training.own_data import adding, config_of, copying, separable, wave

from eigenloop.charts import Key
from eigenloop.report import own_figures, write
from eigenloop.training import load_run, outcome, train


def page_of(tmp_path: Path, data: Path, **training: int) -> str:
    train(config_of(data, **{"steps": 10, "eval_every": 5, **training}), tmp_path / "run")
    return write([tmp_path / "run"], tmp_path / "report.html").read_text()


def test_classes(tmp_path: Path) -> None:
    page = page_of(tmp_path, separable(tmp_path / "watch.npz"), steps=1)
    assert "watch.npz: 90 cases, 12 steps each, 2 channels (ax, ay), float64" in page
    net, config, _ = load_run(tmp_path / "run")
    found = outcome(net, config.task, "test")  # type: ignore[arg-type]
    assert found.truth is not None
    cells = re.findall(r'<td style="--shade: (\d+)%"(?: class="deep")?>([\d,]+)</td>', page)
    counts = np.zeros((3, 3), int)
    np.add.at(counts, (found.truth, found.classes), 1)
    assert [int(count) for _, count in cells] == counts.ravel().tolist()
    shares = 100 * counts / counts.sum(1, keepdims=True)
    shades = np.array([int(shade) for shade, _ in cells])
    assert (np.diff(shades[np.argsort(shares.ravel(), kind="stable")]) >= 0).all()  # darker with the share
    wrong = np.flatnonzero(found.classes != found.truth)
    assert len(wrong)  # one step is not enough
    hardest = max(wrong, key=lambda row: found.predicted[row].max())
    captions = re.findall(r"<figcaption>(case .*?)</figcaption>", page)
    assert len(captions) == min(8, len(wrong))
    named = f"{found.names[found.truth[hardest]]}, predicted as {found.names[found.classes[hardest]]}"
    assert captions[0].startswith(f"case {found.case_names[found.case[hardest]]}: {named}")


@pytest.mark.parametrize(
    ("make", "sign"),
    [(adding, "Predicted against true values"), (copying, "most wrong steps"), (wave, "Forecasts of the last steps")],
)
def test_other_kinds(tmp_path: Path, make, sign: str) -> None:  # type: ignore[no-untyped-def]
    page = page_of(tmp_path, make(tmp_path / "own.npz"))
    assert sign in page
    assert len(re.findall(r'<svg class="chart"|<div class="traces">\s*<figure>', page)) >= 1
    (tmp_path / "own.npz").unlink()
    gone = write([tmp_path / "run"], tmp_path / "report.html").read_text()
    assert "The network could not be evaluated" in gone


def test_predictions_are_drawn_where_they_are(tmp_path: Path) -> None:
    page = page_of(tmp_path, adding(tmp_path / "own.npz"))
    net, config, _ = load_run(tmp_path / "run")
    found = outcome(net, config.task, "test")  # type: ignore[arg-type]
    assert found.truth is not None
    names = re.findall(r"<circle [^>]*><title>case (.*?): true (.*?), predicted (.*?)</title>", page)
    assert [name for name, _, _ in names] == [str(found.case_names[case]) for case in found.case]
    assert [float(true.replace(",", "")) for _, true, _ in names] == pytest.approx(found.truth[:, 0].tolist(), rel=0.01)


def test_forecasts_begin_where_the_series_was_seen() -> None:
    key = Key(0, "c0", "x")
    ahead = [(1, np.array([0.0, 3.0])), (3, np.array([4.0, 9.0]))]
    line = own_figures.forecast_line(key, np.array([0.0, 1.0, 2.0, 3.0, 5.0]), ahead, 10)
    assert list(line.points()) == [(11, 1.0), (12, 0.0), (13, 3.0), (13, 3.0), (14, 4.0)], "9 is after the series' end"
    assert line.x[3] is None, "forecasts are not joined"
    series = own_figures.series_line(key, np.array([0.0, np.nan, 2.0]), 10)
    assert list(series.points()) == [(10, 0.0), (12, 2.0)]
    assert None not in series.y, "a missing value is a gap and no cross"


@pytest.mark.parametrize("make", [adding, wave])
def test_a_network_that_predicts_no_finite_value_has_a_page(tmp_path: Path, make) -> None:  # type: ignore[no-untyped-def]
    train(config_of(make(tmp_path / "own.npz"), steps=2), tmp_path / "run")
    net, config, _ = load_run(tmp_path / "run")
    found = outcome(net, config.task, "test")  # type: ignore[arg-type]
    found.predicted[:] = np.nan
    drawn = own_figures.drawn(found, config.task, "own")  # type: ignore[arg-type]
    assert drawn is not None
    assert [len(figure.charts) for figure in drawn.figures] == [1]
    drawn.figures[0].__html__()
