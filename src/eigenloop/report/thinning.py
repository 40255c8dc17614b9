"""Thinning a curve of thousands of points: medians of stretches, with their least and largest values kept."""

from __future__ import annotations

import itertools
import math
import statistics
from collections.abc import Sequence
from typing import NamedTuple

LIMIT = 300


class Stretch(NamedTuple):
    """The median, least and largest of neighbouring values."""

    median: float
    low: float
    high: float


def stretches(count: int, limit: int = LIMIT) -> list[range]:
    """Cut positions 0 ... count - 1 into at most `limit` stretches; the first and last stay on their own.

    >>> stretches(8, 4)
    [range(0, 1), range(1, 4), range(4, 7), range(7, 8)]
    """
    if limit < 3:
        raise ValueError(f"a curve cannot be thinned to {limit} points: give a limit of at least 3")
    if count <= limit:
        return [range(i, i + 1) for i in range(count)]
    inner, places = count - 2, limit - 2
    edges = [1 + inner * i // places for i in range(places + 1)]
    return [range(1), *(range(a, b) for a, b in itertools.pairwise(edges)), range(count - 1, count)]


def summarise(values: Sequence[float | None]) -> Stretch | None:
    """Summarise the finite values of a stretch; None where there are none."""
    kept = [value for value in values if value is not None and math.isfinite(value)]
    return Stretch(statistics.median(kept), min(kept), max(kept)) if kept else None
