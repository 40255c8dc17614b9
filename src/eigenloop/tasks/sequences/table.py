"""Long tables, shared by CSV and Parquet: one row per time step; columns for case, time, channels, label, group."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eigenloop.errors import DataError
from eigenloop.tasks.sequences import times
from eigenloop.tasks.sequences.building import built
from eigenloop.tasks.sequences.columns import Roles, is_text, numbers, texts
from eigenloop.tasks.sequences.data import Origin, SequenceData, ragged

#: Returns the place of a row in its file in words, for messages.
Row = Callable[[int], str]


def from_table(
    path: Path, table: Any, roles: Roles, per_step: bool | None, row: Row, lines: NDArray[np.uint32] | None
) -> SequenceData:
    """Make sequence data from a pyarrow table.

    The rows of a case need not be adjacent, but must be in the order of its time steps.

    Args:
        path: the file, for messages.
        table: a table with unique column names.
        roles: the roles of the columns.
        per_step: whether labels are per step; if not, they must not change within a case. Default: decided by whether
            they change in most cases.
        row: returns the place of a row, for messages.
        lines: line numbers of the rows in the file, or None.

    Raises:
        DataError: an entry is not a number or is missing, times do not increase, or a case has two labels.
    """
    if not table.num_rows:
        raise DataError(path, "it has column names and no rows: at least one is needed")
    values = np.empty((table.num_rows, len(roles.channels)))
    for channel, name in enumerate(roles.channels):
        values[:, channel] = numbers(path, table, name, row)
    cases, names = _cases(path, table, roles, row)
    order = np.argsort(cases, kind="stable")
    lengths = np.bincount(cases)
    rows, starts = ragged(lengths)

    def place(step: int) -> str:
        return row(int(order[step]))

    def once(name: str | None) -> list[str] | None:
        """Return the text of a column for each case, where it must not change."""
        if name is None:
            return None
        column = texts(path, table, name)[order]
        _constant(path, column, starts, lengths, name, names, place)
        return column[starts].tolist()

    labels, at_steps = _labels(path, table, roles, order, starts, lengths, per_step, names, row)
    clock = None if roles.time is None else times.column(path, table, roles.time, row)[order]
    notes = [str(roles), *(() if clock is None else times.checked(path, clock, starts, lengths, place))]
    if roles.case is not None and len(lengths) > 1 and lengths.max() == 1:
        notes.append(f"every case has a single step: is {roles.case} the column of cases?")
    return built(
        origin=Origin(path, (path,)),
        values=(values if (order[:-1] < order[1:]).all() else values[order])[None],
        rows=rows,
        starts=starts,
        lengths=lengths,
        channel_names=roles.channels,
        labels=labels,
        per_step=at_steps,
        groups=once(roles.group),
        parts=once(roles.part),
        weights=once(roles.weight),
        times=None if clock is None else clock[None],
        lines=None if lines is None else lines[order][None],
        case_names=names,
        where=lambda case: place(int(starts[case])),
        notes=notes,
    )


def _cases(path: Path, table: Any, roles: Roles, row: Row) -> tuple[NDArray[np.int64], list[str] | None]:
    """Return the index of the case of every row, in order of appearance, and the names of the cases."""
    if roles.case is None:
        return np.zeros(table.num_rows, np.int64), None
    column = texts(path, table, roles.case)
    order: dict[str, int] = {}
    cases = np.array([order.setdefault(name, len(order)) for name in column.tolist()], np.int64)
    if "" in order:
        first = int(np.flatnonzero(cases == order[""])[0])
        raise DataError(path, f"{row(first)} has nothing in column {roles.case}: every row needs its case")
    return cases, list(order)


def _labels(
    path: Path,
    table: Any,
    roles: Roles,
    order: NDArray[np.int64],
    starts: NDArray[np.int64],
    lengths: NDArray[np.int64],
    per_step: bool | None,
    names: list[str] | None,
    row: Row,
) -> tuple[NDArray[Any] | None, bool]:
    """Return labels per case, or per step in a single row, and whether they are per step."""
    if not roles.label or all(table.column(name).null_count == table.num_rows for name in roles.label):
        return None, False
    name = roles.label[0]
    column: NDArray[Any]
    if len(roles.label) > 1:
        column = np.stack([numbers(path, table, name, row) for name in roles.label], axis=1)[order]
    elif is_text(table, name):
        column = texts(path, table, name)[order]
    else:
        column = numbers(path, table, name, row)[order]
    if per_step is None:
        # If labels change in most cases, they are per step; if in a few, that is a mistake in the file.
        changing = _changes(column, starts, lengths)
        per_step = 2 * int(changing.sum()) > int((lengths > 1).sum())
    if per_step:
        return column[None], True
    _constant(path, column, starts, lengths, name, names, lambda step: row(int(order[step])))
    return column[starts], False


def _changes(column: NDArray[Any], starts: NDArray[np.int64], lengths: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return a mask of the cases in which a column has more than one value."""
    different = column != column[np.repeat(starts, lengths)]
    if column.dtype.kind == "f":
        different &= ~(np.isnan(column) & np.isnan(column[np.repeat(starts, lengths)]))
    different = different.reshape(len(column), -1).any(1)
    return np.logical_or.reduceat(different, starts)


def _constant(
    path: Path,
    column: NDArray[Any],
    starts: NDArray[np.int64],
    lengths: NDArray[np.int64],
    name: str,
    names: list[str] | None,
    place: Row,
) -> None:
    """Raise a DataError if a column has two values in one case."""
    changing = np.flatnonzero(_changes(column, starts, lengths))
    if not len(changing):
        return
    case = int(changing[0])
    start, stop = int(starts[case]), int(starts[case] + lengths[case])
    other = next(step for step in range(start, stop) if np.any(column[step] != column[start]))
    which = "the recording" if names is None else f"case {names[case][:40]}"
    raise DataError(
        path,
        f"{which} has two values in column {name}: {_shown(column[start])} at {place(start)} and "
        f"{_shown(column[other])} at {place(other)}; give one per case, or labels at every step (per_step=True)",
    )


def _shown(value: Any) -> str:
    return str(value)[:40] or "nothing"
