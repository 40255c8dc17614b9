"""The lines of metrics.jsonl: what training, validation and testing measured, step by step."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from eigenloop.report.errors import damaged
from eigenloop.report.values import finite, numbers

KINDS = ("train", "valid", "test")
#: Where a line stands, not what it measured.
COORDINATES = frozenset({"step", "epoch", "seconds"})


@dataclass(frozen=True)
class Line:
    """What was measured at a step, `seconds` of training after the start; values may be NaN or inf."""

    step: float
    seconds: float | None
    values: Mapping[str, float]


def read(path: Path) -> dict[str, tuple[Line, ...]]:
    """Read the lines of each kind, in the order of their steps; no file is no lines."""
    found: dict[str, list[Line]] = {kind: [] for kind in KINDS}
    try:
        rows = [row for row in enumerate(path.read_bytes().split(b"\n"), 1) if row[1].strip()]
    except FileNotFoundError:
        rows = []
    for position, (line_number, row) in enumerate(rows):
        try:
            kind, line = _parse(row)
        except (ValueError, RecursionError) as error:
            if position == len(rows) - 1:
                break  # torn by a kill in the middle of a write
            fix = f"delete line {line_number} or restore the file; only its last line may be torn"
            raise damaged(path, f"line {line_number}: {error}", fix) from error
        if kind in found:
            _append(found[kind], line)
    return {kind: tuple(lines) for kind, lines in found.items()}


def _parse(row: bytes) -> tuple[str, Line]:
    entry = json.loads(row.decode("utf-8", errors="replace"))
    if not isinstance(entry, dict):
        raise ValueError("it is not an object")
    step, kind = finite(entry.get("step")), entry.get("kind")
    if step is None or not isinstance(kind, str):
        raise ValueError("it has no step or no kind")
    values = {name: value for name, value in numbers(entry).items() if name not in COORDINATES}
    return kind, Line(step, finite(entry.get("seconds")), values)


def _append(lines: list[Line], line: Line) -> None:
    # A run that is resumed from a checkpoint repeats the steps after it: what it measured then is what counts.
    while lines and lines[-1].step >= line.step:
        lines.pop()
    lines.append(line)
