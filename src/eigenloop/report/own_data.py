"""The section of the page about a run on a user's data: the data, the network's size, its errors and hardest cases."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from markupsafe import Markup

from eigenloop import charts
from eigenloop.errors import EigenloopError
from eigenloop.report import own_drawing as drawing
from eigenloop.runs import Run

if TYPE_CHECKING:
    from eigenloop.tasks import Sequences
    from eigenloop.tasks.sequences import Outcome

#: The most cases, channels and outputs that are drawn, and time steps of a forecast series.
_CASES, _CHANNELS, _OUTPUTS, _STEPS = 8, 9, 4, 240
_PARTS = {"valid": "validation", "test": "test"}


@dataclass(frozen=True)
class Card:
    """A drawing with its caption; names in the drawing are already escaped."""

    caption: str
    drawing: Markup


@dataclass(frozen=True)
class OwnData:
    """The contents of the section on one run.

    Attributes:
        name: of the file and of the run.
        read: lines that describe the data.
        size: the size of the network, as text.
        part: the split on which the network was evaluated.
        measured: the scores, as text.
        confusion: the confusion matrix; None if the targets are values.
        cards_title: the heading of the cards.
        cards: drawings of hard cases, predictions or forecasts.
        problem: why the network could not be evaluated; None if it was.
    """

    name: str
    read: tuple[str, ...] = ()
    size: str = ""
    part: str = ""
    measured: str = ""
    confusion: charts.Matrix | None = None
    cards_title: str = ""
    cards: tuple[Card, ...] = ()
    problem: str | None = None


def own_data(run: Run, name: str) -> OwnData | None:
    """Evaluate the best network of a run on a user's data, on the test split if there is one; None for other tasks."""
    if run.section("task").get("name") != "sequences":
        return None
    # Imported here, so that a page of other runs does not wait for torch.
    from eigenloop.quantization import size_report
    from eigenloop.tasks import Sequences
    from eigenloop.training import load_run, outcome

    try:
        net, config, _ = load_run(run.folder, device="cpu")
        task = config.task
        assert isinstance(task, Sequences)
        name = f"{task.source.data.name}: {name}"
        size, read = size_report(net), [*task.introduction(), *task.changed_files()]
        words = f"{size.bytes:,} bytes on a device" + (
            f", {size.float_bytes:,} in float32" if size.bytes != size.float_bytes else ""
        )
        if not task.splits:
            return OwnData(
                name, tuple(read), words, problem="There is no validation or test split, so nothing is measured."
            )
        part = task.splits[-1]
        answers = outcome(net, task, part)
    except EigenloopError as error:
        return OwnData(name, problem=f"The network could not be evaluated: {error}")
    measures = answers.measures()
    title, cards = _cards(answers, task)
    table = None
    if "confusion" in measures:
        table = charts.matrix(measures["confusion"], answers.names, title="Confusion matrix")
    return OwnData(name, tuple(read), words, _PARTS[part], _measured(measures), table, title, tuple(cards))


def _measured(measures: dict[str, Any]) -> str:
    if "accuracy" in measures:
        return (
            f"accuracy {measures['accuracy']:.4f}, balanced accuracy {measures['balanced_accuracy']:.4f}, F1 "
            f"{measures['f1']:.4f}, from {measures['count']:,} predictions; always the most frequent class: "
            f"accuracy {measures['guess']['accuracy']:.4f}."
        )
    guess = "naive forecast: the last value" if "skill" in measures else "always the training mean"
    return (
        f"RMSE {measures['rmse']:.5g}, MAE {measures['mae']:.5g}, from {measures['count']:,} predictions; {guess}: "
        f"RMSE {measures['guess']['rmse']:.5g}."
    )


def _cards(answers: Outcome, task: Sequences) -> tuple[str, list[Card]]:
    if answers.kind == "forecast":
        return "Forecasts of the last steps; each begins at its dot", _forecasts(answers, task)
    if not answers.kind.endswith("class"):
        return "Predicted against true values", _values(answers)
    return _hardest(answers, task)


def _hardest(answers: Outcome, task: Sequences) -> tuple[str, list[Card]]:
    """Return drawings of the wrong cases with the highest confidence, or of those with the most wrong time steps."""
    assert answers.truth is not None
    wrong = answers.classes != answers.truth
    cases = np.unique(answers.case)
    if answers.kind == "step-class":
        share = np.array([wrong[answers.case == case].mean() for case in cases])
        chosen = cases[np.argsort(-share, kind="stable")][:_CASES]
        chosen = chosen[[wrong[answers.case == case].any() for case in chosen]]
        captions = [f"{_case(answers, case)}: {wrong[answers.case == case].mean():.1%} of its steps" for case in chosen]
    else:
        rows = np.flatnonzero(wrong)
        rows = rows[np.argsort(-answers.predicted[rows].max(1), kind="stable")][:_CASES]
        chosen = answers.case[rows]
        captions = [
            f"{_case(answers, answers.case[row])}: {answers.names[answers.truth[row]]}, predicted as "
            f"{answers.names[answers.classes[row]]} ({answers.predicted[row].max():.2f})"
            for row in rows
        ]
    if not len(chosen):
        return "No case was wrong", []
    shown = _channels(task)
    values = [np.asarray(task.sequences.case(int(case)), np.float64)[:, shown] for case in chosen]
    low = np.nanmin([np.nanmin(each, axis=0) for each in values], axis=0)
    high = np.nanmax([np.nanmax(each, axis=0) for each in values], axis=0)
    cards = []
    for case, each, caption in zip(chosen, values, captions, strict=True):
        marked = None
        if answers.kind == "step-class":
            marked = np.zeros(len(each), bool)
            marked[answers.step[(answers.case == case) & wrong]] = True
        svg = drawing.sequence(each, low, high, described=caption, wrong=marked)
        cards.append(Card(caption, Markup(svg)))
    names = ", ".join(task.channel_names[k] for k in shown)
    more = f" of {len(task.channel_names)}" if len(shown) < len(task.channel_names) else ""
    what = "cases with most wrong steps, marked below" if answers.kind == "step-class" else "wrong with most confidence"
    return f"Hardest cases: {what}. {len(shown)}{more} channels from top to bottom: {names}", cards


def _case(answers: Outcome, case: int) -> str:
    return f"case {answers.case_names[case]}"


def _channels(task: Sequences) -> Sequence[int]:
    """Return the channels that are drawn: all, or a regular selection if there are too many."""
    count = len(task.channel_names)
    return [int(k) for k in np.unique(np.linspace(0, count - 1, min(count, _CHANNELS)).round())]


def _values(answers: Outcome) -> list[Card]:
    assert answers.truth is not None
    cards = []
    for k, name in enumerate(answers.names[:_OUTPUTS]):
        svg = drawing.against(answers.truth[:, k].astype(np.float64), answers.predicted[:, k], name=name)
        cards.append(Card(name, Markup(svg)))
    return cards


def _forecasts(answers: Outcome, task: Sequences) -> list[Card]:
    """Return drawings of the end of the first case, with consecutive forecasts of the full horizon."""
    if not len(answers):
        return []
    horizon = answers.predicted.shape[1]
    rows = np.flatnonzero(answers.case == answers.case[0])
    rows = rows[np.argsort(answers.step[rows])]
    last = int(answers.step[rows[-1]])
    begin = max(int(answers.step[rows[0]]), last - _STEPS + horizon)
    kept = [row for row in rows if answers.step[row] >= begin and (last - answers.step[row]) % horizon == 0]
    series = np.asarray(task.sequences.case(int(answers.case[0])), np.float64)[begin : last + horizon + 1]
    cards = []
    for k, name in enumerate(answers.names[:_OUTPUTS]):
        ahead = [(int(answers.step[row]) - begin, answers.predicted[row, :, k]) for row in kept]
        svg = drawing.forecasts(series[:, k], ahead, name=name)
        steps = "1 step" if horizon == 1 else f"{horizon} steps"
        caption = f"channel {name}, {_case(answers, int(answers.case[0]))}, {steps} ahead"
        cards.append(Card(caption, Markup(svg)))
    return cards
