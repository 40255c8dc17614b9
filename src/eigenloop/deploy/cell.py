"""The base class of integer cells: formats, pre-activations, activations and their error bounds."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from eigenloop.deploy import operations as op
from eigenloop.deploy.describing import Cell
from eigenloop.deploy.formats import Format
from eigenloop.deploy.multipliers import Multipliers, multipliers
from eigenloop.deploy.operations import Whole
from eigenloop.deploy.preactivation import SIGMOID_STEP, TANH_STEP, Preactivation, preactivation
from eigenloop.deploy.statistics import Statistics, into
from eigenloop.deploy.table import Table

#: The state of a cell between time steps: (h,), or (h, c) for an LSTM; each (B, n).
State = tuple[Whole, ...]


@dataclass(frozen=True)
class Formats:
    """The number formats of a cell's quantities.

    Attributes:
        entered: of the input.
        state: of h, and of the candidate of a gated cell.
        bits: width of the gates.
        cell: of an LSTM's c.
        candidate: of the candidate of an LSTM or FastGRNN.
    """

    entered: Format
    state: Format
    bits: int
    cell: Format | None = None
    candidate: Format | None = None


class IntegerCell(ABC):
    """One layer in integer arithmetic.

    Attributes:
        source: the description of the trained cell.
        formats: the number formats of its quantities.
        table: the table of tanh; None if the cell needs none.
        gates: the pre-activations by name.
        scalings: the multipliers other than those of the pre-activations, by name.
    """

    def __init__(self, source: Cell, formats: Formats, table: Table, widen: bool) -> None:
        self.source, self.formats = source, formats
        self._table = table
        self.scalings: dict[str, Multipliers] = {}
        self.gates: dict[str, Preactivation] = {}
        for name, gate in source.gates.items():
            activated = name in ("", "candidate", "cell")
            step = self._step_of_activated() if activated else SIGMOID_STEP
            after = formats.bits if activated and source.reset == "after" else None
            self.gates[name] = preactivation(gate, source.ending, formats.state, formats.entered, step, after, widen)
        if source.activation == "tanh":
            factor = Fraction(1, 2**15) / self._activated.exact_step
            self.scalings["tanh"] = multipliers([[factor]], [2**15], "tanh")
        if source.activation == "leaky_relu":
            self.scalings["slope"] = multipliers([[Fraction(source.slope)]], [2**31], "leaky_relu")

    @property
    def _activated(self) -> Format:
        """The format of the activation's result."""
        return self.formats.state

    def _step_of_activated(self) -> Fraction:
        return TANH_STEP if self.source.activation == "tanh" else self._activated.exact_step

    @property
    def table(self) -> Table | None:
        """The table of tanh; None if the cell needs none."""
        return self._table if self.source.activation == "tanh" or self.source.kind != "simple" else None

    @property
    def carried(self) -> tuple[Format, ...]:
        """The formats of h, and of an LSTM's c."""
        return (self.formats.state,)

    @cached_property
    def initial(self) -> State:
        """The codes of the initial state, (n,) each."""
        return tuple(form.codes(values) for form, values in zip(self.carried, self.source.initial, strict=True))

    @abstractmethod
    def step(self, x: Whole, state: State, watch: Statistics | None = None) -> State:
        """Compute one time step of a batch and return the new state; x holds codes, (B, m)."""

    @property
    @abstractmethod
    def step_error(self) -> float:
        """A bound of the error that one time step adds to the state, in codes.

        From the same codes of input and state, the distance of the new codes from the result in real arithmetic with
        the k-bit weights, provided that nothing saturates and modReLU's argument does not change its sign.
        """

    @property
    def products(self) -> int:
        """Multiplications of a code by a code in one time step."""
        return sum(one.products for gate in self.gates.values() for one in gate.sums)

    @property
    def rescalings(self) -> int:
        """Multiplications by a multiplier, in a table or by a gate in one time step, for all units."""
        n = self.source.size
        return n * (sum(len(gate.multipliers.values) for gate in self.gates.values()) + self._others)

    @property
    def scratch(self) -> int:
        """Vectors of n numbers that a time step needs in addition to the state: here a copy of the previous state."""
        return 1

    @property
    def _others(self) -> int:
        """Multiplications per unit outside of pre-activations: here those of the activation."""
        return {"tanh": 3, "leaky_relu": 1}.get(self.source.activation, 0)

    def _sigmoid(self, name: str, q: Whole, x: Whole, watch: Statistics | None) -> Whole:
        gate = self.gates[name]
        v = op.shifted(gate.total(q, x, None, watch), gate.shift)
        return op.sigmoid(v, self._table.entries, self._table.range_bits, self.formats.bits)

    def _sigmoid_error(self, name: str) -> float:
        """A bound of a gate's error, as a real number: its argument's (slope 1/4), half the table's, its rounding."""
        argument = (self.gates[name].error + 0.5) * float(SIGMOID_STEP) / 4
        return argument + self._table.error / 2 + 0.5 * 2.0 ** -(self.formats.bits - 1)

    def _activate(self, name: str, total: Whole, watch: Statistics | None) -> Whole:
        """Apply the cell's activation to a total, and saturate."""
        gate, kind = self.gates[name], self.source.activation
        if kind == "tanh":
            y = op.tanh(op.shifted(total, gate.shift), self._table.entries, self._table.range_bits)
            scaling = self.scalings["tanh"]
            value = op.rescaled(y, scaling.values[0], scaling.shift)
        elif kind == "modrelu":
            value = op.modrelu(total, gate.threshold_total, gate.shift)
        elif kind == "leaky_relu":
            scaling = self.scalings["slope"]
            value = op.leaky_relu(total, gate.shift, int(scaling.values[0][0]), scaling.shift)
        else:
            value = (op.relu if kind == "relu" else op.linear)(total, gate.shift)
        return into(self._activated, value, watch)

    def _activation_error(self, name: str, more: float = 0.0) -> float:
        """A bound of the error of `_activate`'s result, in codes; `more` is the error already in the total."""
        error = self.gates[name].error + more
        if self.source.activation == "tanh":
            argument = (error + 0.5) * float(TANH_STEP)
            scaling = self.scalings["tanh"]
            return (argument + self._table.error) / self._activated.step + scaling.error + 0.5
        if self.source.activation == "leaky_relu":
            return max(1.0, self.source.slope) * (error + 0.5) + 0.5 + self.scalings["slope"].error
        return error + 0.5


def batch_of(state: Sequence[Whole], batch: int) -> State:
    """Repeat an initial state for every sequence of a batch."""
    return tuple(np.broadcast_to(one, (batch, len(one))) for one in state)
