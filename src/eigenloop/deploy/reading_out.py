"""The integer read-out, at every time step or once per sequence."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from eigenloop.deploy.describing import Real
from eigenloop.deploy.formats import Format
from eigenloop.deploy.operations import Whole, product
from eigenloop.deploy.statistics import Statistics
from eigenloop.deploy.sums import Sum

#: Ways of pooling states over time; None reads out at every time step.
POOLS = (None, "last", "mean", "max")
#: The sum of states over time is stored as int32.
_LARGEST_POOL = 2**31 - 1


@dataclass(frozen=True, eq=False)
class Pooled:
    """The pooled states up to now: their sum (mean) or maximum (max), (B, n), and the number of time steps, (B,)."""

    values: Whole | None
    steps: Whole


@dataclass(frozen=True, eq=False)
class Readout:
    """y = V h + c as integer sums on a common scale, so that the largest sum is the class.

    The mean of T states needs no division: V sum_t h_t + T c, in 64 bits, is T times the outputs.

    Attributes:
        sum: V and c; None for a layer without a read-out, whose outputs are the codes of its state.
        state: the format of the last layer's state.
        pool: ``"last"``, ``"mean"``, ``"max"``, or None to read out at every time step.
        scale, offset: from normalised outputs to the units of the targets, (outputs,).
    """

    sum: Sum | None
    state: Format
    pool: str | None
    scale: Real
    offset: Real

    def begin(self, batch: int, size: int) -> Pooled:
        """Return the pooled states before the first time step."""
        lowest = -(2 ** (self.state.bits - 1)) if self.pool == "max" else 0
        values = np.full((batch, size), lowest, np.int64) if self.pool in ("mean", "max") else None
        return Pooled(values, np.zeros(batch, np.int64))

    def note(self, kept: Pooled, h: Whole) -> Pooled:
        """Return the pooled states after one more time step.

        Raises:
            ValueError: the sum for the mean may no longer fit into int32.
        """
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
        """How many states can be summed in int32."""
        return _LARGEST_POOL // self.state.largest

    def outputs(self, h: Whole, kept: Pooled, watch: Statistics | None = None) -> Whole:
        """Return the integer outputs, (B, outputs)."""
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
        """Return the real values of outputs; `steps`, which must broadcast, is used for the mean only."""
        unit = self.state.step if self.sum is None else float(self.sum.units[0])
        values = outputs * unit / (steps if self.pool == "mean" else 1)
        scaled: Real = self.offset + self.scale * values
        return scaled
