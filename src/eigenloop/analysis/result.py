"""What an analysis gives: numbers, a table of them, and a picture."""

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
    """Rows of numbers and words under headings; a number is written with four digits."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]

    def __str__(self) -> str:
        """Align the columns, words to the left and numbers to the right."""
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
    """An analysis that was done.

    Attributes:
        name: as the command line has it.
        title: a sentence without a full stop.
        numbers: everything that was computed, as JSON takes it.
        table: the part of it that people read.
        figure: the picture, drawn.
        notes: what else there is to say, in sentences.
    """

    name: str
    title: str
    numbers: dict[str, Any]
    table: Table
    figure: Figure
    notes: Sequence[str] = field(default=())

    def write(self, folder: Path) -> list[Path]:
        """Write NAME.json, NAME.png and NAME.svg, each at once or not at all.

        Where other numbers are there already the name is NAME-2, NAME-3, ...: nothing is overwritten.
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
        # The same picture has the same bytes: no date, and no random names of clip paths.
        metadata = {"Date": None} if kind == "svg" else {"Software": None}
        with styled():
            self.figure.savefig(buffer, format=kind, dpi=150, metadata=metadata, bbox_inches="tight")
        return buffer.getvalue()


def _free(path: Path, content: bytes) -> bool:
    """Whether a file may be written: it is not there, or says the same."""
    return not path.exists() or path.read_bytes() == content


def written(cell: object) -> str:
    """Return a cell as text.

    >>> written(0.123456), written(12), written("k"), written(None)
    ('0.1235', '12', 'k', '')
    """
    if cell is None:
        return ""
    return brief(cell) if isinstance(cell, float) else str(cell)


def _json(numbers: dict[str, Any]) -> bytes:
    return (json.dumps(numbers, indent=1, allow_nan=False) + "\n").encode()
