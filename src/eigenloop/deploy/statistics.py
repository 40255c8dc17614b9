"""Record what happens while an integer network runs: how many values saturate, and how large sums become."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from eigenloop.deploy.formats import Format
from eigenloop.deploy.operations import Whole, saturated


@dataclass
class Counted:
    """The number of values, how many of them were beyond the range, and the smallest and the largest."""

    total: int = 0
    beyond: int = 0
    low: int = 0
    high: int = 0


@dataclass
class Statistics:
    """Statistics by the name of a quantity, to which the operations of a time step report.

    Attributes:
        seen: the statistics of each quantity.
        valid: which sequences of the batch are at a valid time step; the others are not counted.
    """

    seen: dict[str, Counted] = field(default_factory=dict)
    valid: np.ndarray | None = None

    def note(self, name: str, values: Whole, low: int | None = None, high: int | None = None) -> None:
        """Record values; those outside of `low` .. `high` are also counted as beyond the range."""
        values = values if self.valid is None else values[self.valid]
        if not values.size:
            return
        one = self.seen.setdefault(name, Counted())
        one.total += values.size
        if low is not None and high is not None:
            one.beyond += int(np.count_nonzero((values < low) | (values > high)))
        one.low, one.high = min(one.low, int(values.min())), max(one.high, int(values.max()))


def into(form: Format, values: Whole, watch: Statistics | None) -> Whole:
    """Return values saturated to a format; `watch` counts those beyond its width, not negative ones before a ReLU."""
    if watch is not None:
        watch.note(form.name, values, -(2 ** (form.bits - 1)), form.high)
    return saturated(values, form.low, form.high)
