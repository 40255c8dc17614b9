"""What a network predicts on a user's data, drawn: its hardest cases, predicted against true values, or forecasts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from eigenloop import charts
from eigenloop.charts import Figure, Key, Line, Trace, Traces, scales
from eigenloop.text.typography import quantity

if TYPE_CHECKING:
    from eigenloop.tasks import Sequences
    from eigenloop.tasks.sequences import Outcome

#: The most cases, channels, outputs and points that are drawn, and time steps of a forecast series.
_CASES, _CHANNELS, _OUTPUTS, _POINTS, _STEPS = 8, 9, 4, 1500, 240


@dataclass(frozen=True)
class Drawn:
    """Drawings under one heading.

    Attributes:
        heading: what they show, a sentence without its full stop.
        cases: sequences, if the network tells classes apart.
        figures: charts, if it predicts values.
        narrow: whether the charts stand side by side.
    """

    heading: str
    cases: Traces | None = None
    figures: tuple[Figure, ...] = ()
    narrow: bool = False


def drawn(answers: Outcome, task: Sequences, key: str) -> Drawn | None:
    """Return drawings of a network's predictions; None if there are none."""
    if not len(answers):
        return None
    if answers.kind == "forecast":
        return Drawn("Forecasts of the last steps of a series", figures=_forecasts(answers, task, key))
    if not answers.kind.endswith("class"):
        return Drawn(
            "Predicted against true values; dotted: both are equal", figures=_predicted(answers, key), narrow=True
        )
    return _hardest(answers, task)


def _hardest(answers: Outcome, task: Sequences) -> Drawn:
    """Return the wrong cases with the highest confidence, or those with the most wrong time steps."""
    assert answers.truth is not None
    wrong = answers.classes != answers.truth
    if not wrong.any():
        return Drawn("No case was wrong")
    shown = _channels(task)
    chosen = _most_wrong_steps(answers, wrong) if answers.kind == "step-class" else _most_confident(answers, wrong)
    traces = []
    for case, caption, steps in chosen:
        values = np.asarray(task.sequences.case(case), np.float64)[:, shown]
        marked = None if steps is None else np.isin(np.arange(len(values)), steps)
        traces.append(Trace(caption, values, marked))
    names = ", ".join(task.channel_names[k] for k in shown)
    more = f" of {len(task.channel_names)}" if len(shown) < len(task.channel_names) else ""
    what = "cases with most wrong steps, marked below" if answers.kind == "step-class" else "wrong with most confidence"
    heading = f"Hardest cases: {what}. {len(shown)}{more} channels from top to bottom: {names}"
    return Drawn(heading, charts.sequences(traces))


#: A case to be drawn: its number, its caption and the time steps to be marked.
_Chosen = list[tuple[int, str, NDArray[np.int64] | None]]


def _most_wrong_steps(answers: Outcome, wrong: NDArray[np.bool_]) -> _Chosen:
    cases = np.unique(answers.case[wrong])
    share = np.array([wrong[answers.case == case].mean() for case in cases])
    return [
        (
            int(cases[at]),
            f"{_case(answers, cases[at])}: {share[at]:.1%} of its steps",
            answers.step[wrong & (answers.case == cases[at])],
        )
        for at in np.argsort(-share, kind="stable")[:_CASES]
    ]


def _most_confident(answers: Outcome, wrong: NDArray[np.bool_]) -> _Chosen:
    assert answers.truth is not None
    rows = np.flatnonzero(wrong)
    rows = rows[np.argsort(-answers.predicted[rows].max(1), kind="stable")][:_CASES]
    return [
        (
            int(answers.case[row]),
            f"{_case(answers, answers.case[row])}: {answers.names[answers.truth[row]]}, predicted as "
            f"{answers.names[answers.classes[row]]} ({answers.predicted[row].max():.2f})",
            None,
        )
        for row in rows
    ]


def _case(answers: Outcome, case: int) -> str:
    return f"case {answers.case_names[case]}"


def _channels(task: Sequences) -> Sequence[int]:
    """Return the channels that are drawn: all, or a regular selection if there are too many."""
    count = len(task.channel_names)
    return [int(k) for k in np.unique(np.linspace(0, count - 1, min(count, _CHANNELS)).round())]


def _predicted(answers: Outcome, key: str) -> tuple[Figure, ...]:
    """Return a scatter plot of each output, with a diagonal where the prediction is right."""
    assert answers.truth is not None
    rows = np.arange(len(answers))
    notes: tuple[str, ...] = ()
    if len(rows) > _POINTS:
        rows = np.sort(np.random.default_rng(0).choice(len(rows), _POINTS, replace=False))
        notes = (f"{_POINTS:,} of {len(answers):,} predictions, drawn at random.",)
    figures = []
    for k, name in enumerate(answers.names[:_OUTPUTS]):
        known = rows[np.isfinite(answers.truth[rows, k] + answers.predicted[rows, k])]
        chart = charts.scatter(
            {name: [_dot(answers, int(row), k) for row in known]},
            title=f"{name}, predicted against true",
            x_title="true",
            y_title="predicted",
            diagonal="both are equal",
            log=False,
            height=300,
        )
        figures.append(Figure(f"{key}-{k}", (chart,), (), heading=name, notes=notes))
    return tuple(figures)


def _dot(answers: Outcome, row: int, output: int) -> charts.Dot:
    assert answers.truth is not None
    true, predicted = float(answers.truth[row, output]), float(answers.predicted[row, output])
    name = f"{_case(answers, answers.case[row])}: true {quantity(true)}, predicted {quantity(predicted)}"
    return charts.Dot(true, predicted, name)


def _forecasts(answers: Outcome, task: Sequences, key: str) -> tuple[Figure, ...]:
    """Return charts of the end of the first case, with consecutive forecasts of the full horizon."""
    case, horizon = int(answers.case[0]), answers.predicted.shape[1]
    rows = np.flatnonzero(answers.case == case)
    rows = rows[np.argsort(answers.step[rows])]
    last = int(answers.step[rows[-1]])
    begin = max(int(answers.step[rows[0]]), last - _STEPS + horizon)
    kept = [row for row in rows if answers.step[row] >= begin and (last - answers.step[row]) % horizon == 0]
    series = np.asarray(task.sequences.case(case), np.float64)[begin : last + horizon + 1]
    ahead = "1 step" if horizon == 1 else f"{horizon} steps"
    keys = (Key(0, "c0", "series"), Key(1, "c1 dotted", f"forecast, {ahead} ahead", "forecast"))
    figures = []
    for k, name in enumerate(answers.names[:_OUTPUTS]):
        pieces = [(int(answers.step[row]) - begin, answers.predicted[row, :, k]) for row in kept]
        lines = [series_line(keys[0], series[:, k], begin), forecast_line(keys[1], series[:, k], pieces, begin)]
        heights = [height for line in lines for _, height in line.points()]
        low, high = min(heights, default=0.0), max(heights, default=1.0)
        room = scales.ROOM * (high - low)
        chart = charts.draw(
            lines,
            title=f"{name}, {_case(answers, case)}",
            x=scales.linear(begin, begin + max(len(series) - 1, 1)),
            y=scales.linear(low - room, high + room),
            x_title="time step",
            y_title="value",
            ends=False,
            height=200,
        )
        note = f"{_case(answers, case).capitalize()}. Each forecast begins at the last value that the network has seen."
        figures.append(Figure(f"{key}-{k}", (chart,), keys, heading=f"channel {name}", notes=(note,)))
    return tuple(figures)


def series_line(key: Key, series: NDArray[np.float64], begin: int) -> Line:
    """Return the line of a series, (T,), whose first value is of time step `begin`; missing values leave a gap."""
    return _line(key, [(begin + step, value) for step, value in enumerate(series.tolist())], "strong")


def forecast_line(
    key: Key, series: NDArray[np.float64], ahead: Sequence[tuple[int, NDArray[np.float64]]], begin: int
) -> Line:
    """Return the line of consecutive forecasts of a series, (T,); each begins at the last value that it saw.

    Args:
        key: its entry in the legend.
        series: the series from time step `begin` on.
        ahead: for each forecast the position in `series` of the last value seen, and the values that follow.
        begin: the time step of the first value.
    """
    points: list[tuple[int | None, float]] = []
    for at, values in ahead:
        seen = [float(series[at]), *values.tolist()][: len(series) - at]
        points += [*((begin + at + step, value) for step, value in enumerate(seen)), (None, 0.0)]
    return _line(key, points, "dotted")


def _line(key: Key, points: Sequence[tuple[int | None, float]], weight: charts.Weight) -> Line:
    # A place that is None breaks the line; a value that is None would draw a cross, as for a run that diverged.
    places = tuple(place if np.isfinite(value) else None for place, value in points)
    return Line(key, places, tuple(value if np.isfinite(value) else 0.0 for _, value in points), weight=weight)
