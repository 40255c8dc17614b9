"""What an integer network did on some data: which numbers saturated, and how far sums went."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from eigenloop.deploy.formats import Format
from eigenloop.deploy.operations import Whole, saturated


@dataclass
class Seen:
    """How many numbers of a kind there were, how many of them were beyond the range, and the lowest and highest."""

    total: int = 0
    beyond: int = 0
    low: int = 0
    high: int = 0


@dataclass
class Watch:
    """Counts by name; the operations of a step report to it.

    Attributes:
        valid: which sequences of the batch are not over yet; the others are not counted.
    """

    seen: dict[str, Seen] = field(default_factory=dict)
    valid: np.ndarray | None = None

    def note(self, name: str, values: Whole, low: int | None = None, high: int | None = None) -> None:
        """Count values, those outside of `low` .. `high` apart."""
        values = values if self.valid is None else values[self.valid]
        if not values.size:
            return
        one = self.seen.setdefault(name, Seen())
        one.total += values.size
        if low is not None and high is not None:
            one.beyond += int(np.count_nonzero((values < low) | (values > high)))
        one.low, one.high = min(one.low, int(values.min())), max(one.high, int(values.max()))


def into(form: Format, values: Whole, watch: Watch | None) -> Whole:
    """Saturate values to a format; codes that are known not to occur, as below zero after ReLU, are none of them."""
    if watch is not None:
        watch.note(form.name, values, -(2 ** (form.bits - 1)), form.high)
    return saturated(values, form.low, form.high)
