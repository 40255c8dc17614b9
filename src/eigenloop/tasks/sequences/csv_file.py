"""CSV as written by spreadsheets and loggers: column names in the first line; commas, semicolons or tabs between."""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections.abc import Collection
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from eigenloop.errors import DataError
from eigenloop.tasks.sequences import bounded, libraries
from eigenloop.tasks.sequences.columns import MOST_COLUMNS, roles
from eigenloop.tasks.sequences.data import SequenceData
from eigenloop.tasks.sequences.options import Options
from eigenloop.tasks.sequences.table import from_table

#: Entries that mean "missing".
MISSING = ("", "NA", "N/A", "#N/A", "n/a", "NaN", "nan", "-nan", "NULL", "null", "None", "?")
_DECIMAL_COMMA = re.compile(r"(^|;|\t)\s*-?\d+,\d+\s*($|;|\t)", re.MULTILINE)
#: Bytes that are searched for a decimal comma.
_LOOK = 4096
_BLOCK = 2**20


def read(path: Path, options: Options) -> SequenceData:
    """Read a long table, one row per time step."""
    libraries.pyarrow(path)
    data = bounded.content(path, options.max_bytes)
    head = header(path, data)
    columns = roles(path, head.names, options.columns)
    kept = {name for name in (columns.case, columns.group, columns.part, columns.weight) if name is not None}
    wanted = [*columns.channels, *columns.label, *kept, *([columns.time] if columns.time is not None else [])]
    frame = table(path, data, head, wanted=list(dict.fromkeys(wanted)), text=kept)
    lines = _line_numbers(data, frame.num_rows)
    return from_table(path, frame, columns, options.per_step, lambda row: f"line {lines[row]}", lines)


class Head(NamedTuple):
    """The content of the first line."""

    names: list[str]
    delimiter: str
    unnamed: int = 0
    """Number of columns after the last name, which spreadsheets write; they must be empty."""


def header(path: Path, data: bytes) -> Head:
    """Return the column names and the delimiter from the first line.

    Raises:
        DataError: the file is not UTF-8 text, or its first line does not name the columns.
    """
    _is_text(path, data)
    text = data[: data.find(b"\n") % (len(data) + 1)].decode("utf-8-sig").rstrip("\r")
    if not text.strip():
        raise DataError(path, "the first line is empty: it must name the columns")
    delimiter = max(",;\t", key=text.count)
    if text.count(delimiter) >= MOST_COLUMNS:
        raise DataError(path, f"it has {text.count(delimiter) + 1:,} columns: at most {MOST_COLUMNS:,} are read")
    try:
        names = next(csv.reader(io.StringIO(text), delimiter=delimiter, strict=True))
    except (csv.Error, StopIteration) as error:
        raise DataError(path, f"line 1 does not name the columns ({error}): correct it") from error
    if all(_is_number(name) for name in names):
        raise DataError(path, f"line 1 holds numbers ({text[:40]}): put a line before it that names the columns")
    names = [name.strip() for name in names]
    if len(names) == 2 and names[0].lower() == "sep=":
        raise DataError(path, f"line 1 is {text[:10]!r}, a hint for spreadsheets: delete that line")
    named = max((number for number, name in enumerate(names, 1) if name), default=0)
    return Head(names[:named], delimiter, len(names) - named)


def table(path: Path, data: bytes, head: Head, *, wanted: list[str] | None = None, text: Collection[str] = ()) -> Any:
    """Return the rows as a pyarrow table, without empty rows at the end.

    Args:
        path: for messages.
        data: the content of the file.
        head: its first line.
        wanted: names of the columns to read; default: all.
        text: names of the columns that are not converted to numbers.

    Raises:
        DataError: it cannot be parsed, or has no rows.
    """
    import pyarrow as pa
    import pyarrow.csv as arrow

    ragged: list[Any] = []
    unnamed = [f"column {len(head.names) + number}, without a name" for number in range(1, head.unnamed + 1)]

    def remember(row: Any) -> str:
        ragged.append(row)
        return "error"

    comma = head.delimiter != "," and _DECIMAL_COMMA.search(data[:_LOOK].decode("utf-8", "replace")) is not None
    try:
        frame = arrow.read_csv(
            pa.BufferReader(data),
            arrow.ReadOptions(use_threads=False, column_names=[*head.names, *unnamed], skip_rows=1, block_size=2**22),
            arrow.ParseOptions(delimiter=head.delimiter, invalid_row_handler=remember),
            arrow.ConvertOptions(
                null_values=MISSING,
                strings_can_be_null=True,
                include_columns=[*(wanted or head.names), *unnamed],
                column_types=dict.fromkeys(text, pa.string()),
                decimal_point="," if comma else ".",
            ),
        )
    except Exception as error:  # pyarrow's exceptions, and Python's that pass through it
        if ragged:
            row = ragged[0]
            raise DataError(
                path,
                f"line {_line_numbers(data, row.number - 1)[-1]} has {row.actual_columns} columns where the first line "
                f"names {row.expected_columns}: correct it",
            ) from error
        if "Empty CSV" in str(error):
            raise _no_rows(path) from error
        reason = (str(error).splitlines() or [type(error).__name__])[0][:200]
        raise DataError(path, f"it cannot be read as CSV ({reason}): save it as CSV UTF-8") from error
    if not frame.num_rows:
        raise _no_rows(path)
    for name in unnamed:
        if frame.column(name).null_count < frame.num_rows:
            raise DataError(path, f"there are entries in {name}: give it one in the first line")
    return _without_empty_end(path, frame.drop_columns(unnamed))


def _without_empty_end(path: Path, frame: Any) -> Any:
    """Return the table without empty rows at its end, which spreadsheets write as separators only."""
    if any(column[-1].is_valid for column in frame.columns):
        return frame
    filled = np.zeros(frame.num_rows, bool)
    for column in frame.columns:
        filled |= column.is_valid().to_numpy()
    if not filled.any():
        raise _no_rows(path)
    return frame.slice(0, int(np.flatnonzero(filled)[-1]) + 1)


def _no_rows(path: Path) -> DataError:
    return DataError(path, "it has column names and no rows: at least one is needed")


def _is_text(path: Path, data: bytes) -> None:
    """Raise a DataError with the line number if the file is not UTF-8; decodes in blocks to avoid a second copy."""
    decoder, line = codecs.getincrementaldecoder("utf-8")(), 1
    for start in range(0, len(data) + 1, _BLOCK):
        block = data[start : start + _BLOCK]
        try:
            decoder.decode(block, final=start + _BLOCK > len(data))
        except UnicodeDecodeError as error:
            line += error.object.count(b"\n", 0, error.start)
            raise DataError(path, f"line {line} is not UTF-8 text ({error.reason}): save it as CSV UTF-8") from error
        line += block.count(b"\n")


def _line_numbers(data: bytes, rows: int) -> NDArray[np.uint32]:
    """Return the line number of each row; pyarrow skips empty lines."""
    if data.count(b"\n") - data.endswith(b"\n") == rows:
        return np.arange(2, rows + 2, dtype=np.uint32)
    filled_lines = [number for number, line in enumerate(io.BytesIO(data), 1) if line.strip(b"\r\n")][1:]
    return np.array((filled_lines + [0] * rows)[:rows], np.uint32)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
