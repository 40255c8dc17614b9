"""The page of a run on own data: drawings against the numbers they are made of."""

import re
from pathlib import Path

import numpy as np
import pytest
from training.own_data import adding, config_of, copying, separable, wave

from eigenloop.report import own_drawing as drawing
from eigenloop.report import write
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
    assert page.count("<figure><svg") >= 1
    (tmp_path / "own.npz").unlink()
    gone = write([tmp_path / "run"], tmp_path / "report.html").read_text()
    assert "The network could not be evaluated" in gone


def points(path: str) -> list[tuple[float, float]]:
    return [(float(x), float(y)) for x, y in re.findall(r"[ML]([\d.-]+) ([\d.-]+)", path)]


def test_a_sequence_is_drawn_to_scale() -> None:
    values = np.array([[0.0, 5.0], [1.0, np.nan], [2.0, 5.0]])
    svg = drawing.sequence(
        values, np.array([0.0, 5.0]), np.array([2.0, 5.0]), described="<a>", wrong=np.array([True, False, True])
    )
    first, second = re.findall(r'<path class="line" d="(.*?)"', svg)
    assert points(first) == [(0, 18), (120, 10), (240, 2)]
    assert points(second) == [(0, 30), (240, 30)]
    assert second.count("M") == 2  # a gap where a value is missing
    assert "&lt;a&gt;" in svg
    assert re.findall(r'class="wrong" x1="([\d.]+)" x2="([\d.]+)"', svg) == [("0.0", "80.0"), ("160.0", "240.0")]


def test_forecasts_begin_where_the_series_was_seen() -> None:
    svg = drawing.forecasts(np.array([0.0, 1.0, 2.0, 3.0]), [(1, np.array([0.0, 3.0, 9.0]))], name="x")
    series, ahead = re.findall(r'<path class="\w+" d="(.*?)"', svg)
    assert points(series)[1] == points(ahead)[0]
    assert len(points(ahead)) == 3  # what lies behind the end of the series is left out
    cloud = drawing.against(np.array([0.0, 10.0]), np.array([0.0, 5.0]), name="x")
    assert re.findall(r'cx="([\d.]+)" cy="([\d.]+)"', cloud) == [("0.0", "300.0"), ("300.0", "150.0")]
