"""The result of an analysis: numbers, a table and a figure."""

from __future__ import annotations

import io
import itertools
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from eigenloop.analysis.style import styled
from eigenloop.runs import atomic
from eigenloop.text.numbers import brief


@dataclass(frozen=True)
class Table:
    """Rows of numbers and words with column headings; numbers are printed with four significant digits."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]

    def __str__(self) -> str:
        """Return the table as text, words aligned left and numbers right."""
        cells = [self.columns, *(tuple(written(cell) for cell in row) for row in self.rows)]
        widths = [max(len(row[i]) for row in cells) for i in range(len(self.columns))]
        words = [any(isinstance(row[i], str) for row in self.rows) for i in range(len(self.columns))]
        lines = []
        for row in cells:
            parts = [
                cell.ljust(width) if word else cell.rjust(width)
                for cell, width, word in zip(row, widths, words, strict=True)
            ]
            lines.append("  ".join(parts).rstrip())
        return "\n".join(lines)


@dataclass(frozen=True)
class Result:
    """The result of an analysis.

    Attributes:
        name: name of the analysis on the command line.
        title: a sentence without a full stop.
        numbers: everything that was computed, ready for JSON.
        table: the most important numbers.
        figure: the matplotlib figure.
        notes: explanations below the table, in sentences.
    """

    name: str
    title: str
    numbers: dict[str, Any]
    table: Table
    figure: Figure
    notes: Sequence[str] = field(default=())

    def write(self, folder: Path) -> list[Path]:
        """Write NAME.json, NAME.png and NAME.svg, each atomically, and return their paths.

        If NAME.json exists with different numbers, the name is NAME-2, NAME-3, ...: nothing is overwritten.
        """
        folder.mkdir(parents=True, exist_ok=True)
        files = {"json": _json(self.numbers), "png": self._drawn("png"), "svg": self._drawn("svg")}
        numbered = itertools.chain([self.name], (f"{self.name}-{number}" for number in itertools.count(2)))
        name = next(name for name in numbered if _free(folder / f"{name}.json", files["json"]))
        paths = []
        for ending, content in files.items():
            path = folder / f"{name}.{ending}"
            atomic.write_bytes(path, content)
            paths.append(path)
        return paths

    def _drawn(self, kind: str) -> bytes:
        buffer = io.BytesIO()
        # The same figure gives the same bytes: no date, and no random names of clip paths.
        metadata = {"Date": None} if kind == "svg" else {"Software": None}
        with styled():
            self.figure.savefig(buffer, format=kind, dpi=150, metadata=metadata, bbox_inches="tight")
        return buffer.getvalue()


def _free(path: Path, content: bytes) -> bool:
    """Whether the path may be written: it does not exist, or has the same content."""
    return not path.exists() or path.read_bytes() == content


def written(cell: object) -> str:
    """Return a table cell as text.

    >>> written(0.123456), written(12), written("k"), written(None)
    ('0.1235', '12', 'k', '')
    """
    if cell is None:
        return ""
    return brief(cell) if isinstance(cell, float) else str(cell)


def _json(numbers: dict[str, Any]) -> bytes:
    return (json.dumps(numbers, indent=1, allow_nan=False) + "\n").encode()
