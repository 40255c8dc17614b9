"""Means over batches and processes, kept as sums with counts."""

from __future__ import annotations

import math
from collections.abc import Mapping


class Tally:
    """Sums and counts by name.

    >>> tally = Tally(accuracy=(3, 4))
    >>> tally.add(Tally(accuracy=(0, 1)))
    >>> tally.means()
    {'accuracy': 0.6}
    """

    def __init__(self, **entries: tuple[float, float]) -> None:
        self._entries = {name: (float(total), float(count)) for name, (total, count) in entries.items()}

    def add(self, other: Tally) -> None:
        """Add another tally to this one."""
        for name, (total, count) in other._entries.items():
            before = self._entries.get(name, (0.0, 0.0))
            self._entries[name] = (before[0] + total, before[1] + count)

    def means(self) -> dict[str, float]:
        """Return each sum divided by its count; NaN if the count is 0."""
        return {name: total / count if count else math.nan for name, (total, count) in self._entries.items()}

    def items(self) -> Mapping[str, tuple[float, float]]:
        """Return (sum, count) by name."""
        return self._entries

    def __bool__(self) -> bool:
        return bool(self._entries)
