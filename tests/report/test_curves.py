"""The figures of the report: what is drawn can be read back as the numbers it was made from."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest
import synthetic_runs as synthetic

from eigenloop import runs
from eigenloop.charts import Chart, Figure
from eigenloop.charts.paths import HEIGHT, WIDTH
from eigenloop.charts.thinning import LIMIT
from eigenloop.report import write
from eigenloop.report.curves import conditioning, defects, learning
from eigenloop.report.groups import grouped


def drawn(make: Callable[..., Figure | None], *folders: Path) -> Figure | None:
    (group,) = grouped([runs.read(folder) for folder in folders])
    return make(group, "key")


def points(path: str) -> list[tuple[float, float]]:
    """Follow a path of relative steps."""
    x = y = 0.0
    found = []
    for command, a, b in re.findall(r"([Ml])(-?\d+) (-?\d+)", path):
        x, y = (float(a), float(b)) if command == "M" else (x + float(a), y + float(b))
        found.append((x / WIDTH, 1 - y / HEIGHT))
    return found


def read_back(chart: Chart, curve: int) -> list[tuple[float, float]]:
    low, high = chart.y.low, chart.y.high
    return [
        (x * chart.x.high, low * (high / low) ** y if chart.y.log else low + y * (high - low))
        for x, y in points(chart.curves[curve].line)
    ]


@pytest.mark.parametrize("axis", ["steps", "time"])
@pytest.mark.parametrize("quantity", ["loss", "accuracy"])
def test_curves_are_the_numbers(tmp_path: Path, axis: str, quantity: str) -> None:
    folder = synthetic.solved_scornn(tmp_path / "run")
    figure = drawn(learning, folder)
    assert figure is not None
    chart = next(c for c in figure.charts if c.choice == (quantity, axis))
    assert chart.y.log == (quantity == "loss")
    valid = next(i for i, curve in enumerate(chart.curves) if " strong " in curve.style)
    lines = runs.read(folder).lines["valid"]
    found = read_back(chart, valid)
    assert len(found) == len(lines)
    for (x, y), line in zip(found, lines, strict=True):
        assert x == pytest.approx(line.step if axis == "steps" else line.seconds, abs=chart.x.high / WIDTH)
        step = (chart.y.high / chart.y.low) ** (1 / HEIGHT) - 1 if chart.y.log else 0
        assert y == pytest.approx(line.values[quantity], rel=step, abs=(chart.y.high - chart.y.low) / HEIGHT)


def test_long_curves_are_thinned_and_keep_their_spread(tmp_path: Path) -> None:
    folder = synthetic.write_run(tmp_path / "run", metrics=synthetic.lines(2.0, 0.002, every=1, steps=10_000))
    figure = drawn(learning, folder)
    assert figure is not None
    chart = figure.charts[0]
    train = next(curve for curve in chart.curves if " faint " in curve.style)
    assert len(points(train.line)) == LIMIT
    assert len(points(train.band)) == 2 * LIMIT
    upper, lower = points(train.band)[:LIMIT], points(train.band)[LIMIT:][::-1]
    for (_, high), (_, median), (_, low) in zip(upper, points(train.line), lower, strict=True):
        assert low <= median <= high
    assert (chart.lines[0].x[0], chart.lines[0].x[-1]) == (1, 10_000)


def test_what_never_changes_makes_no_curve(tmp_path: Path) -> None:
    figure = drawn(learning, synthetic.solved_scornn(tmp_path / "run"))
    assert figure is not None
    assert figure.picks == [("quantity", ["loss", "accuracy", "gradient norm"]), ("axis", ["steps", "time"])]


def test_the_baseline_is_drawn_where_it_is(tmp_path: Path) -> None:
    figure = drawn(learning, synthetic.lstm_at_the_baseline(tmp_path / "run"))
    assert figure is not None
    (mark,) = figure.charts[0].references
    scale = figure.charts[0].y
    assert (scale.low, scale.log) == (0.0, False), "it stays at one height after the first steps"
    place = synthetic.BASELINE / scale.high
    assert mark.place == pytest.approx(100 * (1 - place), abs=0.01)
    assert mark.label == "baseline 0.0204"


def test_a_diverged_curve_ends_with_a_cross(tmp_path: Path) -> None:
    figure = drawn(learning, synthetic.diverged_rnn(tmp_path / "run"))
    assert figure is not None
    chart = figure.charts[0]
    assert chart.y.high < 100
    crosses = [place for curve in chart.curves for place in curve.lost]
    assert len(crosses) == 2, "training and validation stop being finite once each"
    assert all(0 <= part <= 100 for place in crosses for part in place)


def test_one_spike_does_not_flatten_everything(tmp_path: Path) -> None:
    metrics = [{"kind": "train", "step": step, "score": -1.0 + step % 2} for step in range(1, 200)]
    metrics += [{"kind": "train", "step": step, "loss": 1.0 + 0.5 * (step % 2)} for step in range(200, 400)]
    metrics.append({"kind": "train", "step": 400, "loss": 1e25})
    figure = drawn(learning, synthetic.write_run(tmp_path / "run", metrics=metrics))
    assert figure is not None
    assert figure.charts[0].y.high < 100
    tops = [int(top) for top in re.findall(r" (-?\d+)", figure.charts[0].curves[0].line)]
    assert max(map(abs, tops)) <= 3 * HEIGHT


def test_defects_are_drawn_for_those_who_measure_them(tmp_path: Path) -> None:
    folders = [synthetic.solved_scornn(tmp_path / "a"), synthetic.lstm_at_the_baseline(tmp_path / "b")]
    figure = drawn(defects, *folders)
    assert figure is not None
    assert figure.charts[0].y.log
    assert [key.label for key in figure.keys] == ["scoRNN"]
    assert figure.notes == ("Not measured for LSTM.",)
    assert [mark.label for mark in figure.charts[0].references] == ["one rounding of float32"]
    assert drawn(defects, folders[1]) is None


def test_defects_that_are_always_zero_are_only_mentioned(tmp_path: Path) -> None:
    zero = [{"kind": "train", "step": step, "loss": 1.0, "defect": 0.0} for step in (1, 2)]
    folder = synthetic.write_run(tmp_path / "zero", settings=synthetic.config("dtriv"), metrics=zero)
    assert drawn(defects, folder) is None
    figure = drawn(defects, folder, synthetic.solved_scornn(tmp_path / "scornn"))
    assert figure is not None
    assert figure.notes == ("Exactly 0 throughout, so not on this scale: dtriv.",)


def test_conditioning_is_drawn_for_quantized_runs(tmp_path: Path) -> None:
    lines = [
        {"kind": "train", "step": step, "loss": 1.0, "defect": 1e-7, "singular_ratio": ratio}
        for step, ratio in ((1, 0.8), (2, 0.7))
    ]
    folders = [
        synthetic.write_run(tmp_path / "a", settings=synthetic.config("qornn"), metrics=lines),
        synthetic.solved_scornn(tmp_path / "b"),
    ]
    figure = drawn(conditioning, *folders)
    assert figure is not None
    assert [key.label for key in figure.keys] == ["QORNN"]
    assert (figure.charts[0].y.high, figure.charts[0].y.log) == (1.0, False)
    assert [height for _, height in read_back(figure.charts[0], 0)] == [
        pytest.approx(0.8, abs=0.001),
        pytest.approx(0.7, abs=0.001),
    ]
    assert [mark.label for mark in figure.charts[0].references] == ["orthogonal"]
    learned = drawn(learning, *folders)
    assert learned is not None
    assert "smallest / largest singular value" not in learned.picks[0][1]
    assert drawn(conditioning, folders[1]) is None
    write(folders, tmp_path / "page.html")
    assert "Conditioning in few bits" in (tmp_path / "page.html").read_text()
    write(folders[1:], tmp_path / "page.html")
    assert "Conditioning in few bits" not in (tmp_path / "page.html").read_text()


def test_nothing_to_draw(tmp_path: Path) -> None:
    assert drawn(learning, synthetic.write_run(tmp_path / "run")) is None
