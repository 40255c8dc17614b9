"""Choose which curves of an experiment are drawn in one picture, and compute their points."""

from __future__ import annotations

import itertools
import json
import math
import statistics
from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from eigenloop.charts import thinned
from eigenloop.comparison.table import Line, Sheet
from eigenloop.experiments import Record
from eigenloop.report import names
from eigenloop.runs.effects import Effect, settings_with

#: The most curves in one picture, so that each has its own colour.
CURVES = 7
#: The most points of a median curve, and of each seed's curve.
POINTS, SEED_POINTS = 100, 50
#: Options of a model that papers put on the horizontal axis.
_SWEPT = {"bits": "bits", "short": "units of the short-term part"}
_STRATEGIES = {
    "ptq-projunn": "PTQ-projUNN",
    "ste-bjorck": "STE-Bjorck",
    "ste-pen": "STE-pen",
    "ste-projunn": "STE-projUNN",
}

Points = tuple[tuple[float, float], ...]
_Key = tuple[str, bool, str]
_Coloured = tuple[Line, int]


@dataclass(frozen=True)
class Series:
    """One row's curve, or one strategy's numbers.

    Attributes:
        hue: the index of its colour, which depends on the row's place in the paper's table.
        middle: its points; the median if there are several seeds.
        seeds: the points of each seed; empty if there is only one.
        lost: whether it ends because training diverged.
        level: whether it has no value on the horizontal axis and is drawn as a horizontal line.
    """

    label: str
    hue: int
    middle: Points
    seeds: tuple[Points, ...] = ()
    lost: bool = False
    level: bool = False


@dataclass(frozen=True)
class Picture:
    """The contents of one picture, independent of how it is drawn.

    Attributes:
        title: what distinguishes it from the experiment's other pictures; may be empty.
        across: the title of the horizontal axis.
        upwards: the title of the vertical axis.
        marked: whether points are drawn as dots, because each is a final result and not a step of a training.
        baseline: the result of guessing; None if there is none.
        most: the largest possible value; None if there is none.
        family: pictures with the same number share the scale of their vertical axis.
    """

    title: str
    across: str
    upwards: str
    series: tuple[Series, ...]
    baseline: float | None
    most: float | None
    family: int
    marked: bool = False


def pictures(sheet: Sheet) -> tuple[Picture, ...]:
    """Choose the pictures of an experiment: one for each task and metric, several if there are more than `CURVES`.

    A row's colour follows from its place among all rows of the paper's picture, run or not, so that it stays the same
    when more are run. Rows are then grouped by the task that was actually run, which a short budget may make easier.
    """
    parts: dict[tuple[_Key, int], list[_Coloured]] = {}
    for rows in _grouped([line for line in sheet.lines if line.plan.settings], _paper_task).values():
        for number, chunk in enumerate(_chunks(rows)):
            for hue, line in enumerate(chunk):
                if line.outcome is not None:
                    parts.setdefault((_key(line, _own_task(line)), number), []).append((line, hue))
    keys = list(dict.fromkeys(key for key, _ in parts))
    titles = dict(zip(keys, _titles(keys), strict=True))
    drawn = []
    for family, key in enumerate(keys):
        own = [rows for (other, _), rows in parts.items() if other == key]
        swept = _against(titles[key], [line for rows in own for line, _ in rows], family)
        drawn += [swept] if swept is not None else []
        drawn += [picture for rows in own if (picture := _along(titles[key], rows, family)) is not None]
    return tuple(drawn)


def _chunks(lines: Sequence[Line]) -> list[list[Line]]:
    """Split rows into pictures of at most `CURVES`, between two models where that is possible."""
    chunks: list[list[Line]] = [[]]
    for _, each in itertools.groupby(lines, _model):
        rows = list(each)
        size = math.ceil(len(rows) / math.ceil(len(rows) / CURVES))
        for start in range(0, len(rows), size):
            part = rows[start : start + size]
            if len(chunks[-1]) + len(part) > CURVES:
                chunks.append([])
            chunks[-1] += part
    return chunks


def _model(line: Line) -> str:
    model = line.plan.settings["model"]
    strategy = model.get("strategy")
    return names.model(str(model["name"])) if strategy is None else _STRATEGIES.get(strategy, str(strategy))


def _grouped(lines: Sequence[Line], task: Callable[[Line], Mapping[str, Any]]) -> dict[_Key, list[Line]]:
    groups: dict[_Key, list[Line]] = {}
    for line in lines:
        groups.setdefault(_key(line, task(line)), []).append(line)
    return groups


def _key(line: Line, task: Mapping[str, Any]) -> _Key:
    problem = settings_with({Effect.NUMBERS}, {"task": task})["task"]
    return line.metric, line.on_training_batches, json.dumps(problem, sort_keys=True)


def _paper_task(line: Line) -> Mapping[str, Any]:
    return line.plan.settings["task"]


def _own_task(line: Line) -> Mapping[str, Any]:
    own = line.outcome.runs[0].config.get("task") if line.outcome is not None else None
    return own or _paper_task(line)


def _titles(keys: Sequence[_Key]) -> list[str]:
    """Return a title for each group: the settings in which the groups differ."""
    tasks = [json.loads(task) for _, _, task in keys]
    options = sorted({option for task in tasks for option in task})
    varying = [option for option in options if len({json.dumps(task.get(option)) for task in tasks}) > 1]
    several = len({(metric, trained) for metric, trained, _ in keys}) > 1
    titles = []
    for (metric, trained, _), task in zip(keys, tasks, strict=True):
        parts = [f"{'training ' if trained else ''}{names.quantity(metric)}"] if several else []
        parts += [
            str(task[option]) if option == "name" else f"{option.replace('_', ' ')} {names.setting(task[option])}"
            for option in varying
            if task.get(option) is not None
        ]
        titles.append(", ".join(parts))
    return titles


def _along(title: str, rows: Sequence[_Coloured], family: int) -> Picture | None:
    """Return the picture of rows against the training step; None if no row has a curve."""
    series = [curve for line, hue in rows if (curve := _row(line, hue)) is not None]
    if not series:
        return None
    lines = [line for line, _ in rows]
    metric = names.quantity(lines[0].metric)
    upwards = f"training {metric}" if lines[0].on_training_batches and "loss" in metric else metric
    return Picture(
        title, "training step", _with_unit(upwards, lines[0]), tuple(series), _baseline(lines), _most(lines[0]), family
    )


def _against(title: str, lines: Sequence[Line], family: int) -> Picture | None:
    """Return the picture of numbers against an option of the model; None if fewer than three values were run."""
    for option, words in _SWEPT.items():
        places: dict[str, list[tuple[float, float]]] = {}
        levels: dict[str, float] = {}
        for line in lines:
            if line.outcome is None or line.outcome.mean is None or line.outcome.status == "diverged":
                continue
            place = line.plan.settings["model"].get(option)
            if isinstance(place, (int, float)):
                places.setdefault(_model(line), []).append((float(place), line.outcome.mean))
            else:
                levels[line.row.label] = line.outcome.mean
        if len({place for points in places.values() for place, _ in points}) >= 3:
            curves = [Series(name, hue, tuple(sorted(points))) for hue, (name, points) in enumerate(places.items())]
            ends = [place for series in curves for place, _ in series.middle]
            for label, mean in levels.items():
                level = ((min(ends), mean), (max(ends), mean))
                curves.append(Series(label, len(curves) % CURVES, level, level=True))
            upwards = _with_unit(names.quantity(lines[0].metric), lines[0])
            return Picture(title, words, upwards, tuple(curves), _baseline(lines), _most(lines[0]), family, marked=True)
    return None


def _with_unit(quantity: str, line: Line) -> str:
    return f"{quantity} in %" if line.percent else quantity


def _most(line: Line) -> float | None:
    return line.scale if "accuracy" in line.metric else None


def _baseline(lines: Sequence[Line]) -> float | None:
    for line in lines:
        if line.outcome is not None and line.outcome.baseline is not None:
            return line.outcome.baseline * line.scale
    return None


def _row(line: Line, hue: int) -> Series | None:
    if line.outcome is None:
        return None
    curves = [points for run in line.outcome.runs if (points := _thinned(line, run, POINTS))]
    if not curves:
        return None
    lost = line.outcome.status == "diverged"
    if len(curves) == 1:
        return Series(line.row.label, hue, curves[0], lost=lost)
    grid = [place for place, _ in max(curves, key=lambda points: points[-1][0])]
    middle = []
    for place in grid:
        values = [value for points in curves if (value := _at(points, place)) is not None]
        if values:
            middle.append((place, statistics.median(values)))
    seeds = [points for run in line.outcome.runs if (points := _thinned(line, run, SEED_POINTS))]
    return Series(line.row.label, hue, tuple(middle), tuple(seeds), lost=lost)


def _thinned(line: Line, run: Record, limit: int) -> Points:
    """Return the curve of a run with at most `limit` points: medians of stretches, and the first and last point."""
    curve = line.curve_of(run)
    x, y, *_ = thinned([float(step) for step, _ in curve], [value for _, value in curve], limit)
    places = zip(x, y, strict=True)
    return tuple((place, value * line.scale) for place, value in places if place is not None and value is not None)


def _at(points: Points, place: float) -> float | None:
    """Interpolate a curve linearly at `place`; None outside its range."""
    if not points[0][0] <= place <= points[-1][0]:
        return None
    after = bisect_left(points, place, key=lambda point: point[0])
    (x1, y1) = points[after]
    if x1 == place or after == 0:
        return y1
    (x0, y0) = points[after - 1]
    return y0 + (y1 - y0) * (place - x0) / (x1 - x0)
