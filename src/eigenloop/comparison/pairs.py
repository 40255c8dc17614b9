"""Published numbers with ours beside them, one line per model for both sequence lengths of a table."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from eigenloop.comparison.table import Line, Sheet

#: The factor between our number and the published one beyond which ours is listed as not reproduced.
OFF = 2.0
#: A loss above this share of the baseline is at the level of guessing.
GUESSING = 0.95


@dataclass(frozen=True)
class Pair:
    """A model in a table: its rows at the table's two sequence lengths; None where there is no number."""

    sheet: Sheet
    label: str
    first: Line | None
    second: Line | None


def model(label: str) -> str:
    """Return the label of a row without its sequence length.

    >>> model("GRU, T = 200"), model("nnRNN, 1024")
    ('GRU', 'nnRNN, 1024')
    """
    return re.sub(r", T = [\d,]+$", "", label)


def numbers(sheets: Sequence[Sheet]) -> list[Line]:
    """List the rows of trained networks for which there is both a published number and ours."""
    return [
        line
        for sheet in sheets
        if sheet.experiment.analysis is None
        for line in sheet.lines
        if line.published is not None and line.outcome is not None and line.outcome.mean is not None
    ]


def pairs(sheets: Sequence[Sheet]) -> list[Pair]:
    """Group the rows with both numbers by model; a label that ends in ", T = 200" is the second length."""
    places: dict[tuple[str, str], list[Line | None]] = {}
    for line in numbers(sheets):
        label = model(line.row.label)
        second = label != line.row.label
        places.setdefault((line.experiment.name, label), [None, None])[second] = line
    by_name = {sheet.experiment.name: sheet for sheet in sheets}
    return [Pair(by_name[name], label, first, second) for (name, label), (first, second) in places.items()]


def far_off(sheets: Sequence[Sheet]) -> list[Line]:
    """List the rows at the paper's length that were not reproduced.

    They are worse or better than published by more than a factor of `OFF`, or only one of the two numbers is at the
    level of guessing.
    """
    return [line for line in numbers(sheets) if beyond(line) or one_guesses(line)]


def beyond(line: Line) -> bool:
    """Whether our number is worse or better than the published one by more than a factor of `OFF`."""
    return line.ratio is not None and not 1 / OFF <= line.ratio <= OFF


def one_guesses(line: Line) -> bool:
    """Whether only one of the two numbers, which differ as printed, is at the level of guessing."""
    return line.standing not in (None, "same") and sum(guessing(line)) == 1


def guessing(line: Line) -> tuple[bool, bool]:
    """Return whether the published loss is at the level of guessing, and whether ours is; an accuracy never is."""
    outcome = line.outcome
    if outcome is None or outcome.baseline is None or line.experiment.higher_is_better:
        return False, False
    level = GUESSING * outcome.baseline * line.scale
    return tuple(loss is not None and loss >= level for loss in (line.published, outcome.mean))  # type: ignore[return-value]
