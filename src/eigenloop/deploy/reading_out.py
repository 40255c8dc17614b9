"""What is read off the states in whole numbers: sums of the read-out, at every step or once for a sequence."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from eigenloop.deploy.describing import Real
from eigenloop.deploy.formats import Format
from eigenloop.deploy.operations import Whole, product
from eigenloop.deploy.sums import Sum
from eigenloop.deploy.watching import Watch

#: Once for a sequence, or (None) at every step.
POOLS = (None, "last", "mean", "max")
#: A sum of states over time is an int32.
_LARGEST_POOL = 2**31 - 1


@dataclass(frozen=True, eq=False)
class Pooled:
    """What is kept of the states so far: their sum (mean) or largest codes (max), (B, n), and their number, (B,)."""

    values: Whole | None
    steps: Whole


@dataclass(frozen=True, eq=False)
class Readout:
    """y = V h + c as int32 sums, which are compared as they are: the largest output is the class.

    The mean of T states is read without a division: V sum_t h_t + T c, in 64 bits, is T times the outputs.

    Attributes:
        sum: V and c; None for a layer without a read-out, whose outputs are the codes of its state.
        state: how the last layer's state is held.
        pool: ``"last"``, ``"mean"``, ``"max"``, or None for every step.
        scale, offset: of the outputs where the network gives them in units of its targets, (outputs,).
    """

    sum: Sum | None
    state: Format
    pool: str | None
    scale: Real
    offset: Real

    def begin(self, batch: int, size: int) -> Pooled:
        """Return what is kept before the first step."""
        lowest = -(2 ** (self.state.bits - 1)) if self.pool == "max" else 0
        values = np.full((batch, size), lowest, np.int64) if self.pool in ("mean", "max") else None
        return Pooled(values, np.zeros(batch, np.int64))

    def note(self, kept: Pooled, h: Whole) -> Pooled:
        """Take the states of one more step."""
        steps = kept.steps + 1
        if kept.values is None:
            return Pooled(None, steps)
        if self.pool == "max":
            return Pooled(np.maximum(kept.values, h), steps)
        if int(steps.max(initial=0)) > self.most_steps:
            raise ValueError(
                f"the mean of more than {self.most_steps:,} states of {self.state.bits} bits does not fit into int32: "
                "start a new sequence, or give the state fewer bits"
            )
        return Pooled(kept.values + h, steps)

    @property
    def most_steps(self) -> int:
        """How many states can be added up."""
        return _LARGEST_POOL // self.state.largest

    def outputs(self, h: Whole, kept: Pooled, watch: Watch | None = None) -> Whole:
        """Return the sums that are the outputs, (B, outputs)."""
        read = h if kept.values is None else kept.values
        if self.sum is None:
            return read
        if self.pool != "mean":
            return self.sum(read, watch)
        assert self.sum.codes is not None
        largest = int(np.abs(self.sum.codes).sum(1).max()) * int(np.abs(read).max(initial=0))
        total = product(self.sum.codes, read, None, largest)
        return total if self.sum.bias is None else total + kept.steps[:, None] * self.sum.bias

    def real(self, outputs: Whole, steps: Whole) -> Real:
        """Return what outputs stand for; steps is (..., 1) or broadcasts, and counts for the mean alone."""
        unit = self.state.step if self.sum is None else float(self.sum.units[0])
        values = outputs * unit / (steps if self.pool == "mean" else 1)
        scaled: Real = self.offset + self.scale * values
        return scaled
