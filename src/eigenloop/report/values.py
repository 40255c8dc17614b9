"""Read numbers from settings that may have any type."""

from __future__ import annotations

import math


def number(value: object) -> float | None:
    """Return a number as a float, NaN and inf included; None for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def finite(value: object) -> float | None:
    """Return a finite number as a float; None for anything else."""
    as_float = number(value)
    return as_float if as_float is not None and math.isfinite(as_float) else None
