"""Curves in files: a limited number of points."""

from __future__ import annotations


def spread(count: int, most: int) -> list[int]:
    """Return at most `most` of the indices 0..count-1, evenly spaced, including the first and the last.

    >>> spread(3, 10), spread(11, 3)
    ([0, 1, 2], [0, 5, 10])
    """
    if count <= most:
        return list(range(count))
    return [round(i * (count - 1) / (most - 1)) for i in range(most)]
