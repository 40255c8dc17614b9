"""Print the scores of a network on a user's data as tables: by class, by target value, by steps ahead."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Table

if TYPE_CHECKING:
    from eigenloop.tasks import Sequences

#: Larger confusion matrices are only in --json.
_MOST_CLASSES = 20
#: The most steps ahead that are listed.
_MOST_AHEAD = 24


def show(part: str, measures: Mapping[str, Any], task: Sequences) -> None:
    """Print the scores on a split."""
    if task.known_kind.endswith("class"):
        _show_classes(part, measures, task)
    else:
        _show_values(part, measures, task)


def _show_classes(part: str, measures: Mapping[str, Any], task: Sequences) -> None:
    counted = "steps" if task.known_kind == "step-class" else task.whole_unit
    guess = measures["guess"]["accuracy"]
    print(
        f"{part}: {measures['count']:,} {counted}{_votes(part, task)}, accuracy {measures['accuracy']:.4f} "
        f"(always the most frequent class: {guess:.4f}), balanced accuracy {measures['balanced_accuracy']:.4f}, "
        f"F1 {measures['f1']:.4f}, loss {measures['loss']:.4g}{'' if task.counted is None else f' of {task.counted}'}"
    )
    rows = [
        [name, *(f"{row[key]:.3f}" for key in ("precision", "recall", "f1")), f"{row['count']:,}"]
        for name, row in measures["classes"].items()
    ]
    table(["class", "precision", "recall", "F1", counted], rows)
    names = list(measures["classes"])
    if len(names) > _MOST_CLASSES:
        print(f"the confusion matrix of {len(names)} classes is too wide for a page: see --json")
        return
    print("confusion matrix (rows: true class, columns: predicted class):")
    table(["", *names], [[name, *map(str, row)] for name, row in zip(names, measures["confusion"], strict=True)])


def _votes(part: str, task: Sequences) -> str:
    """Return how many windows voted; empty if each sequence is predicted at once."""
    if task.counted is None:
        return ""
    return f" by the votes of {len(task.windowing.for_evaluation(task.pieces[part])[0]):,} {task.counted}"


def _show_values(part: str, measures: Mapping[str, Any], task: Sequences) -> None:
    forecast = task.known_kind == "forecast"
    counted = "forecasts" if forecast else "steps" if task.known_kind == "step-values" else task.whole_unit
    guess, rest = measures["guess"], f"skill {measures['skill']:.4f}" if forecast else f"R^2 {measures['r2']:.4f}"
    named = "naive forecast: the last value" if forecast else "always the training mean"
    print(
        f"{part}: {measures['count']:,} {counted}{_votes(part, task)}, RMSE {measures['rmse']:.5g}, "
        f"MAE {measures['mae']:.5g}, {rest} ({named}: RMSE {guess['rmse']:.5g}, MAE {guess['mae']:.5g})"
    )
    if "outputs" in measures:
        keys = [key for key in ("rmse", "mae", "r2") if key in next(iter(measures["outputs"].values()))]
        rows = [[name, *(f"{row[key]:.5g}" for key in keys)] for name, row in measures["outputs"].items()]
        table(["", *(key.upper().replace("R2", "R^2") for key in keys)], rows)
    if forecast and len(measures["ahead"]) > 1:
        rows = [
            [str(step), *(f"{value:.5g}" for value in (row["rmse"], row["mae"], row["guess"]["rmse"]))]
            for step, row in enumerate(measures["ahead"][:_MOST_AHEAD], start=1)
        ]
        table(["ahead", "RMSE", "MAE", "RMSE of the naive guess"], rows)


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a table: with lines on a terminal, as plain columns in a pipe."""
    console = Console(highlight=False)
    if console.is_terminal:
        drawn = Table(show_edge=False)
        for number, name in enumerate(header):
            drawn.add_column(name, justify="left" if number == 0 else "right")
        for row in rows:
            drawn.add_row(*row)
        console.print(drawn)
        return
    widths = [max(map(len, column)) for column in zip(header, *rows, strict=True)]
    for row in (header, *rows):
        cells = [
            f"{cell:<{width}}" if number == 0 else f"{cell:>{width}}"
            for number, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        print("  " + "  ".join(cells).rstrip())
