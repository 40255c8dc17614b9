"""Hours that each row takes at the paper's length: ``results/hours.json``, measured by `benchmarks/hours.py`."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Protocol

from eigenloop.training import RunError


class Costed(Protocol):
    """An object with a training time in hours, or None where it was not measured."""

    @property
    def hours(self) -> float | None:
        """Hours that one seed takes."""


def read(results: Path) -> Mapping[str, float]:
    """Return the hours of each row, by ``EXPERIMENT/ROW``; empty if the file does not exist.

    Raises:
        RunError: the file is damaged.
    """
    path = results / "hours.json"
    try:
        rows = json.loads(path.read_text(encoding="utf-8"))["rows"]
        return {str(name): float(hours) for name, hours in rows.items()}
    except FileNotFoundError:
        return {}
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise RunError(
            f"{path} is damaged ({type(error).__name__}): restore it, or delete it and run benchmarks/hours.py"
        ) from error


def total(rows: Iterable[Costed]) -> float | None:
    """Return the sum of the known hours; None if none are known."""
    known = [row.hours for row in rows if row.hours is not None]
    return sum(known) if known else None


def written(hours: float | None) -> str:
    """Return hours as text with two significant digits; minutes below an hour, days from 100 hours.

    >>> written(0.004), written(0.134), written(9.52), written(31.2), written(108.0), written(612.0), written(None)
    ('1 min', '8 min', '9.5 h', '31 h', '4.5 days', '26 days', 'not timed')
    """
    if hours is None:
        return "not timed"
    if hours < 0.95:
        return f"{max(round(60 * hours), 1)} min"
    if hours < 9.95:
        return f"{hours:.1f} h"
    if hours < 99.5:
        return f"{hours:.0f} h"
    return f"{hours / 24:.1f} days" if hours < 9.95 * 24 else f"{hours / 24:.0f} days"
