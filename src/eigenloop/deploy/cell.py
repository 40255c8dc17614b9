"""What the cells that compute in whole numbers share: formats, pre-activations, activations and their errors."""

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
from eigenloop.deploy.table import Table
from eigenloop.deploy.watching import Watch, into

#: What a cell carries: (h,), or (h, c) of an LSTM; each (B, n).
State = tuple[Whole, ...]


@dataclass(frozen=True)
class Formats:
    """How the quantities of a cell are held.

    Attributes:
        entered: the input.
        state: h, and the candidate of a gated cell.
        cell: c of an LSTM.
        candidate: an LSTM's candidate for the cell, where it is not a tanh.
        bits: of the gates.
    """

    entered: Format
    state: Format
    bits: int
    cell: Format | None = None
    candidate: Format | None = None


class IntegerCell(ABC):
    """One layer in whole numbers.

    Attributes:
        source: the cell in real numbers.
        formats: how its quantities are held.
        table: tanh's, where the cell needs one.
        gates: the pre-activations by name.
        scalings: the multipliers besides those of the pre-activations, by name.
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
        """The format of what the chosen activation gives."""
        return self.formats.state

    def _step_of_activated(self) -> Fraction:
        return TANH_STEP if self.source.activation == "tanh" else self._activated.exact_step

    @property
    def table(self) -> Table | None:
        """The table of tanh, where the cell needs it."""
        return self._table if self.source.activation == "tanh" or self.source.kind != "simple" else None

    @property
    def carried(self) -> tuple[Format, ...]:
        """The formats of what is carried."""
        return (self.formats.state,)

    @cached_property
    def initial(self) -> State:
        """What is carried at the start, (n,) each."""
        return tuple(form.codes(values) for form, values in zip(self.carried, self.source.initial, strict=True))

    @abstractmethod
    def step(self, x: Whole, state: State, watch: Watch | None = None) -> State:
        """Make one step of a batch: x is (B, m)."""

    @property
    @abstractmethod
    def step_error(self) -> float:
        """A bound of what one step adds to the error of the new state, in units of its code.

        For the same codes of x and of what is carried, the distance of the new codes from what real arithmetic on the
        k-bit weights gives, where nothing saturates and modReLU's argument does not change its sign.
        """

    @property
    def products(self) -> int:
        """Multiplications of a code with a code in a step."""
        return sum(one.products for gate in self.gates.values() for one in gate.sums)

    @property
    def rescalings(self) -> int:
        """Multiplications by a multiplier, a table's difference or a gate in a step, for all units."""
        n = self.source.size
        return n * (sum(len(gate.multipliers.values) for gate in self.gates.values()) + self._others)

    @property
    def scratch(self) -> int:
        """Vectors of n numbers that a step needs besides what is carried: the state before it."""
        return 1

    @property
    def _others(self) -> int:
        """Multiplications of a unit that are not of pre-activations: here those of the activation."""
        return {"tanh": 3, "leaky_relu": 1}.get(self.source.activation, 0)

    def _sigmoid(self, name: str, q: Whole, x: Whole, watch: Watch | None) -> Whole:
        gate = self.gates[name]
        v = op.shifted(gate.total(q, x, None, watch), gate.shift)
        return op.sigmoid(v, self._table.entries, self._table.range_bits, self.formats.bits)

    def _sigmoid_error(self, name: str) -> float:
        """A bound of a gate's error, in real units: its argument's (slope 1/4), half the table's, its rounding."""
        argument = (self.gates[name].error + 0.5) * float(SIGMOID_STEP) / 4
        return argument + self._table.error / 2 + 0.5 * 2.0 ** -(self.formats.bits - 1)

    def _activate(self, name: str, total: Whole, watch: Watch | None) -> Whole:
        """Apply the chosen activation to a total, and saturate."""
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
        """A bound of the error of what `_activate` gives, in units of its code; `more` is the total's own."""
        error = self.gates[name].error + more
        if self.source.activation == "tanh":
            argument = (error + 0.5) * float(TANH_STEP)
            scaling = self.scalings["tanh"]
            return (argument + self._table.error) / self._activated.step + scaling.error + 0.5
        if self.source.activation == "leaky_relu":
            return max(1.0, self.source.slope) * (error + 0.5) + 0.5 + self.scalings["slope"].error
        return error + 0.5


def batch_of(state: Sequence[Whole], batch: int) -> State:
    """Repeat what is carried for every sequence of a batch."""
    return tuple(np.broadcast_to(one, (batch, len(one))) for one in state)
