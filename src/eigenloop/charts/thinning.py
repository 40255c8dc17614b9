"""Thin out a curve of thousands of points: medians of stretches, with their smallest and largest values."""

from __future__ import annotations

import itertools
import math
import statistics
from collections.abc import Sequence

from eigenloop.charts.lines import Values

#: The most points of a curve, unless a page asks for fewer.
LIMIT = 300


def stretches(count: int, limit: int = LIMIT) -> list[range]:
    """Return positions 0 ... count - 1 in at most `limit` stretches; the first and the last have one position.

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


def thinned(
    x: Sequence[float | None], y: Sequence[float | None], limit: int = LIMIT
) -> tuple[Values, Values, Values, Values]:
    """Return positions, medians, smallest and largest values of at most `limit` stretches of a curve.

    The position of a stretch is its middle; if it has no finite value, the other three are None. A curve that is short
    enough is not changed and has no spread: the last two are empty.
    """
    parts = stretches(len(x), limit)
    kept = [[value for i in part if (value := y[i]) is not None and math.isfinite(value)] for part in parts]
    places = tuple(x[part[len(part) // 2]] for part in parts)
    medians = tuple(_median(values) if values else None for values in kept)
    if len(parts) == len(x):
        return places, medians, (), ()
    return places, medians, tuple(min(v, default=None) for v in kept), tuple(max(v, default=None) for v in kept)


def _median(values: Sequence[float]) -> float:
    median = statistics.median(values)
    # The mean of two values near 1e308 overflows.
    return median if math.isfinite(median) else statistics.median_low(values)
