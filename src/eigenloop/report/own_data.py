"""The section of the page about a run on a user's data: the data, the network's size and its scores."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from eigenloop import charts
from eigenloop.errors import EigenloopError
from eigenloop.report.own_figures import Drawn, drawn
from eigenloop.runs import Run

_PARTS = {"valid": "validation", "test": "test"}


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
        drawn: drawings of hard cases, predictions or forecasts; None if nothing was predicted.
        problem: why the network could not be evaluated; None if it was.
    """

    name: str
    read: tuple[str, ...] = ()
    size: str = ""
    part: str = ""
    measured: str = ""
    confusion: charts.Matrix | None = None
    drawn: Drawn | None = None
    problem: str | None = None


def own_data(run: Run, name: str, key: str) -> OwnData | None:
    """Evaluate the best network of a run on a user's data, on the test split if there is one; None for other tasks.

    Args:
        run: the run.
        name: its name on the page.
        key: the prefix of the anchors of its figures.
    """
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
    table = None
    if "confusion" in measures:
        table = charts.matrix(measures["confusion"], answers.names, title="Confusion matrix")
    return OwnData(name, tuple(read), words, _PARTS[part], _measured(measures), table, drawn(answers, task, key))


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
