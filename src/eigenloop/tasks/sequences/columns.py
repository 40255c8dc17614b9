"""The columns of a table: their roles, guessed from common names, and their entries as numbers or text."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eigenloop.errors import DataError
from eigenloop.tasks.sequences.options import Columns

#: Common names of the column for each role, in lower case.
USUAL = {
    "case": ("case", "case_id", "id", "series", "series_id", "sequence", "recording", "trial", "file", "filename"),
    "time": ("time", "t", "timestamp", "step", "date", "datetime", "seconds"),
    "label": ("label", "labels", "class", "y", "target", "activity"),
    "group": ("group", "groups", "subject", "subject_id", "person", "user", "participant", "patient", "speaker"),
    "part": ("part", "split"),
}
#: Limits of a table of sequences: number of columns, and characters of their names.
MOST_COLUMNS = 10_000
LONGEST_NAME = 100
#: A unit after a name, as in "Time (s)" or "time [ms]".
_UNIT = re.compile(r"\s*[(\[][^()\[\]]*[)\]]\s*$")
_NUMBER = re.compile(r"\s*[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?\s*", re.ASCII)


@dataclass(frozen=True)
class Roles:
    """The column, or columns, of each role."""

    case: str | None
    time: str | None
    label: tuple[str, ...]
    group: str | None
    part: str | None
    weight: str | None
    channels: tuple[str, ...]

    def __str__(self) -> str:
        """Return in words which columns have a role other than channel.

        >>> str(Roles("id", "seconds", ("activity",), None, None, None, ("x", "y")))
        'case is id, time is seconds, label is activity; the other columns are channels'
        """
        named = {**{role: getattr(self, role) for role in ("case", "time")}, "label": ", ".join(self.label)}
        named |= {role: getattr(self, role) for role in ("group", "part", "weight")}
        words = [f"{role} is {column}" for role, column in named.items() if column]
        return f"{', '.join(words)}; the other columns are channels" if words else "all columns are channels"


def is_text(table: Any, name: str) -> bool:
    """Whether a column of a pyarrow table holds text."""
    import pyarrow.types as types

    kind = _kind(table, name)
    return types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind)


def roles(path: Path, names: Sequence[str], given: Columns) -> Roles:
    """Return the roles of columns; roles that are not given are guessed from the names.

    Raises:
        DataError: a given column does not exist, two columns have the same name, or there is no channel.

    >>> roles(Path("watch.csv"), ["id", "time", "ax", "ay", "activity"], Columns()).channels
    ('ax', 'ay')
    """
    check_names(path, names)
    named = [
        given.case,
        given.time,
        *given.label,
        given.group,
        given.part,
        given.weight,
        *given.channels,
        *given.ignore,
    ]
    for name in filter(None, named):
        if name not in names:
            raise DataError(path, f"there is no column {name!r}: the columns are {', '.join(names)[:300]}")
    free = [name for name in names if name not in named]

    def guess(role: str, chosen: str | None) -> str | None:
        if chosen is None and (chosen := usual(role, free)) is not None:
            free.remove(chosen)
        return chosen

    case, time, group, part = (guess(role, getattr(given, role)) for role in ("case", "time", "group", "part"))
    label = given.label or tuple(filter(None, [guess("label", None)]))
    channels = given.channels or tuple(free)
    if not channels:
        raise DataError(path, f"no column is left for the channels: the columns are {', '.join(names)[:300]}")
    return Roles(
        case or group, time, label, group, part, given.weight, channels
    )  # without a case column, each group is one case


def check_names(path: Path, names: Sequence[str]) -> None:
    """Raise a DataError unless every column has a unique name, with limits on their number and length."""
    if len(names) > MOST_COLUMNS:
        raise DataError(path, f"it has {len(names):,} columns: at most {MOST_COLUMNS:,} are read")
    for number, name in enumerate(names):
        if not name.strip():
            raise DataError(path, f"column {number + 1} has no name in the first line: give every column one")
        if len(name) > LONGEST_NAME:
            raise DataError(path, f"the name of column {number + 1} has {len(name)} characters: give it a short one")
        if names.index(name) < number:
            raise DataError(path, f"columns {names.index(name) + 1} and {number + 1} are both named {name[:40]!r}")


def usual(role: str, names: Sequence[str]) -> str | None:
    """Return the first name that is common for a role, with or without a unit; y is not a label if there is an x.

    >>> usual("time", ["Time (s)", "x"])
    'Time (s)'
    """
    lower = [_UNIT.sub("", name).strip().lower() for name in names]
    known = [name for name in USUAL[role] if name in lower and not (name == "y" and "x" in lower)]
    return names[lower.index(known[0])] if known else None


def numbers(path: Path, table: Any, name: str, row: Callable[[int], str]) -> NDArray[np.float64]:
    """Return a column as numbers, with NaN for empty entries; raises DataError if it holds something else."""
    import pyarrow as pa
    import pyarrow.types as types

    column, kind = table.column(name), _kind(table, name)
    if types.is_null(kind):
        return np.full(table.num_rows, np.nan)
    if is_text(table, name):
        raise _no_number(path, column, name, row)
    if types.is_dictionary(column.type):
        column = column.cast(kind)
    if types.is_boolean(kind):
        column = column.cast(pa.int8())
    elif not (types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind)):
        raise DataError(path, f"column {name} holds {kind}, not numbers: name its role, or leave it out with ignore")
    return column.cast(pa.float64(), safe=False).to_numpy().astype(np.float64)


def texts(path: Path, table: Any, name: str) -> NDArray[np.object_]:
    """Return a column as text, with "" for empty entries; equal entries share one object."""
    import pyarrow as pa
    import pyarrow.types as types

    kind = _kind(table, name)
    if types.is_nested(kind) or types.is_binary(kind) or types.is_large_binary(kind):
        raise DataError(path, f"column {name} holds {str(kind)[:60]}, not text in UTF-8 or numbers: save it as such")
    column = table.column(name)
    if not types.is_dictionary(column.type):
        column = column.cast(pa.string()).dictionary_encode()
    chunk_texts = [np.empty(0, object)]
    for chunk in column.chunks:
        words = ["" if word is None else str(word).strip() for word in chunk.dictionary.cast(pa.string()).to_pylist()]
        numbers = chunk.indices.cast(pa.int64()).fill_null(len(words)).to_numpy(zero_copy_only=False)
        chunk_texts.append(np.array([*words, ""], object)[numbers])
    return np.concatenate(chunk_texts)


def _kind(table: Any, name: str) -> Any:
    import pyarrow.types as types

    kind = table.schema.field(name).type
    return kind.value_type if types.is_dictionary(kind) else kind


def _no_number(path: Path, column: Any, name: str, row: Callable[[int], str]) -> DataError:
    entries = ((number, entry.as_py() or "") for number, entry in enumerate(column))
    number, text = next(((n, text) for n, text in entries if text and not _NUMBER.fullmatch(text)), (0, "text"))
    return DataError(
        path,
        f"{text[:40]!r} in {row(number)}, column {name} is not a number",
        "correct it, leave it empty if it is missing, or name the column's role or leave it out with ignore",
        f"correct it, leave it empty if it is missing, or say what the column is (--case {name}, --label {name}, "
        f"--group {name}, --time {name}) or leave it out (--ignore {name})",
    )
