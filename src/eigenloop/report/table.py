"""The table of runs: the text of each cell, and the key by which it is sorted."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from eigenloop.report import names, settings
from eigenloop.report.groups import Entry, Group
from eigenloop.report.values import finite, number
from eigenloop.runs import Run
from eigenloop.text.durations import duration
from eigenloop.text.typography import MISSING, quantity, with_spread

#: Columns of text; all others are numbers.
WORDS = ("Run", "Task", "Status")
COLUMNS = ("Run", "Task", "Hidden size", "Parameters", "Steps", "Time", "Best", "Test", "Baseline", "Status")


@dataclass(frozen=True)
class Cell:
    """A cell: its text, and the number or word by which it is sorted (empty if it is missing)."""

    text: str
    key: str


@dataclass(frozen=True)
class Row:
    """The cells of a run, or of runs that differ only in the seed, in the order of the columns."""

    entry: Entry
    cells: tuple[Cell, ...]


@dataclass(frozen=True)
class Table:
    """All runs of a report.

    Attributes:
        columns: those of COLUMNS, with the settings in which runs of a task differ before the last.
        words: the columns of text; all others are numbers.
    """

    columns: tuple[str, ...]
    words: frozenset[str]
    rows: tuple[Row, ...]


def table(groups: Sequence[Group]) -> Table:
    """Return the table, in the order in which the runs were given."""
    places = settings.differing(groups)
    headings = [settings.heading(place) for place in places]
    rows = [_row(entries, group, places) for group in groups for entries in settings.by_seed(group)]
    configs = [settings.flat(entry.run) for group in groups for entry in group.entries]
    words = {
        heading
        for heading, place in zip(headings, places, strict=True)
        if any(number(config[place]) is None for config in configs if config.get(place) is not None)
    }
    return Table(
        columns=(*COLUMNS[:-1], *headings, COLUMNS[-1]),
        words=frozenset(WORDS) | words,
        rows=tuple(sorted(rows, key=lambda row: row.entry.index)),
    )


def _row(entries: Sequence[Entry], group: Group, places: Sequence[str]) -> Row:
    entry = settings.together(entries, group)
    runs = [each.run for each in entries]
    hidden = entry.run.section("model").get("hidden_size")
    seconds = _mean([run.seconds for run in runs])
    config = settings.flat(entry.run)
    cells = (
        _word(entry.label),
        _word(group.title),
        Cell(names.setting(hidden) if hidden is not None else quantity(None), _key(_total(hidden))),
        _numbers([run.summary.parameters if run.summary else None for run in runs]),
        _numbers([run.steps for run in runs]),
        Cell(duration(seconds), _key(seconds)),
        _numbers([_best(each, group) for each in entries]),
        _numbers([(run.summary.test or {}).get(_metric(run, group)) if run.summary else None for run in runs]),
        _numbers([run.summary.baseline.get(_metric(run, group)) if run.summary else None for run in runs]),
        *(_setting(config.get(place)) for place in places),
        _word(" and ".join(dict.fromkeys(run.status for run in runs))),
    )
    return Row(entry, cells)


def _metric(run: Run, group: Group) -> str:
    return run.summary.metric if run.summary else group.metric


def _best(entry: Entry, group: Group) -> float | None:
    metric = _metric(entry.run, group)
    if entry.run.summary:
        return (entry.run.summary.best or {}).get(metric)
    values = [finite(line.values.get(metric)) for line in entry.run.lines["valid"]]
    known = [value for value in values if value is not None]
    return (max if group.higher_is_better else min)(known, default=None)


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return statistics.fmean(known) if known else None


def _numbers(values: Sequence[float | None]) -> Cell:
    """Return the cell of a number, or of the mean and standard deviation over several seeds."""
    known = [value for value in values if value is not None]
    spread = statistics.stdev(known) if len(known) > 1 else 0.0
    mean = _mean(known)
    return Cell(with_spread(mean, spread or None), _key(mean))


def _setting(value: object) -> Cell:
    size = number(value)
    return Cell(quantity(size), _key(size)) if size is not None else _word(names.setting(value) if value else MISSING)


def _word(word: str) -> Cell:
    return Cell(word, word.lower())


def _key(value: object) -> str:
    as_float = finite(value)
    return "" if as_float is None else repr(as_float)


def _total(hidden: object) -> float | None:
    """Return the sum of the layers' sizes, by which they are sorted."""
    sizes = hidden if isinstance(hidden, list | tuple) else [hidden]
    known = [size for size in map(number, sizes) if size is not None]
    return sum(known) if known else None
