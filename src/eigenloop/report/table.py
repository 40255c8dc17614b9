"""The table of runs: what is in each cell, and what it is sorted by."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from eigenloop.report import names
from eigenloop.report.formatting import duration, quantity
from eigenloop.report.groups import Entry, Group
from eigenloop.report.values import finite, number

#: Columns whose cells are words; all others are numbers.
WORDS = ("Run", "Task", "Status")
COLUMNS = ("Run", "Task", "Hidden size", "Parameters", "Steps", "Time", "Best", "Test", "Baseline", "Status")


@dataclass(frozen=True)
class Cell:
    """A cell: its text, and the number or word it is sorted by (empty where it is missing)."""

    text: str
    key: str


@dataclass(frozen=True)
class Row:
    """The cells of a run, in the order of COLUMNS."""

    entry: Entry
    cells: tuple[Cell, ...]


def rows(groups: Sequence[Group]) -> list[Row]:
    """Return a row for each run, in the order in which they were given."""
    found = [_row(entry, group) for group in groups for entry in group.entries]
    return sorted(found, key=lambda row: row.entry.index)


def _row(entry: Entry, group: Group) -> Row:
    run, summary = entry.run, entry.run.summary
    metric = summary.metric or group.metric if summary else group.metric
    best = summary.best.get(metric) if summary else _best(entry, metric, group.higher_is_better)
    hidden = run.section("model").get("hidden_size")
    cells = (
        _word(entry.label),
        _word(group.title),
        Cell(names.setting(hidden) if hidden is not None else quantity(None), _key(_total(hidden))),
        _number(summary.parameters if summary else None),
        _number(run.steps),
        Cell(duration(run.seconds), _key(run.seconds)),
        _number(best),
        _number(summary.test.get(metric) if summary else None),
        _number(summary.baseline.get(metric) if summary else None),
        _word(run.status),
    )
    return Row(entry, cells)


def _best(entry: Entry, metric: str, higher_is_better: bool) -> float | None:
    values = [finite(line.values.get(metric)) for line in entry.run.lines["valid"]]
    known = [value for value in values if value is not None]
    return (max if higher_is_better else min)(known, default=None)


def _word(word: str) -> Cell:
    return Cell(word, word.lower())


def _number(value: float | None) -> Cell:
    return Cell(quantity(value), _key(value))


def _key(value: object) -> str:
    found = finite(value)
    return "" if found is None else repr(found)


def _total(hidden: object) -> float | None:
    """Sort layers of several sizes by their sum."""
    sizes = hidden if isinstance(hidden, list | tuple) else [hidden]
    known = [size for size in map(number, sizes) if size is not None]
    return sum(known) if known else None
