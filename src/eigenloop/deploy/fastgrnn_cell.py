"""The integer cell of FastGRNN: one total serves gate and candidate; docs/integers.md gives the formulas."""

from __future__ import annotations

from fractions import Fraction

from eigenloop.deploy import operations as op
from eigenloop.deploy.cell import Formats, IntegerCell, State
from eigenloop.deploy.describing import Cell
from eigenloop.deploy.formats import Format
from eigenloop.deploy.multipliers import multipliers
from eigenloop.deploy.operations import Whole
from eigenloop.deploy.preactivation import SIGMOID_STEP, TANH_STEP
from eigenloop.deploy.statistics import Statistics, into
from eigenloop.deploy.table import Table


class FastGRNNCell(IntegerCell):
    """h' = (zeta (1 - z) + nu) c + z h; see `eigenloop.recurrence.fastgrnn`.

    The sum includes the gate's bias b_z. For the candidate, b_c - b_z is added to the total, like modReLU's threshold.
    Both arguments are then on the scale 2^-16.
    """

    def __init__(self, source: Cell, formats: Formats, table: Table, widen: bool) -> None:
        super().__init__(source, formats, table, widen)
        state, candidate, one = formats.state, self._activated, 2 ** (formats.bits - 1)
        zeta, nu = (Fraction(float(value)) for value in source.mixing)
        ratio = candidate.exact_step / state.exact_step
        factors = [[Fraction(1, one)], [zeta * ratio / one], [nu * ratio]]
        products = [one * state.largest, one * candidate.largest, candidate.largest]
        self.scalings["state"] = multipliers(factors, products, "the state")

    @property
    def _piecewise(self) -> bool:
        return self.source.activation == "piecewise"

    @property
    def _activated(self) -> Format:
        """The candidate's format: it lies in [-1, 1], the state may exceed that."""
        assert self.formats.candidate is not None
        return self.formats.candidate

    def _step_of_activated(self) -> Fraction:
        return TANH_STEP

    @property
    def table(self) -> Table | None:
        """The table of tanh; None if the activations are piecewise linear."""
        return None if self._piecewise else self._table

    @property
    def _others(self) -> int:
        return (
            super()._others + (0 if self._piecewise else 2) + 2 + 3
        )  # the sigmoid, z h and (1 - z) c, the three terms

    def step(self, x: Whole, state: State, watch: Statistics | None = None) -> State:
        """Compute one time step of a batch; see `IntegerCell.step`."""
        h, bits, gate = state[0], self.formats.bits, self.gates[""]
        total = gate.total(h, x, None, watch)
        v = op.shifted(total, gate.shift)
        second = total + gate.threshold_total
        if self._piecewise:
            z = op.piecewise_sigmoid(v, bits)
            c = into(self._activated, op.piecewise_tanh(op.shifted(second, gate.shift), bits), watch)
        else:
            z = op.sigmoid(op.shifted(v, 1), self._table.entries, self._table.range_bits, bits)
            c = self._activate("", second, watch)
        mixed = self.scalings["state"]
        kept, written, added = mixed.values
        total = op.accumulated([(z * h, kept), (op.complement(z, bits) * c, written), (c, added)])
        return (into(self.formats.state, op.shifted(total, mixed.shift), watch),)

    @property
    def step_error(self) -> float:
        """The gate's error times |h - zeta c|, the candidate's error, and rounding."""
        state, candidate, bits = self.formats.state, self._activated, self.formats.bits
        argument = (self.gates[""].error + 0.5) * float(TANH_STEP)
        rounding = 0.5 * 2.0 ** -(bits - 1)
        if self._piecewise:
            z, c = argument / 2 + rounding, argument + rounding
        else:
            z = (argument + 0.5 * float(SIGMOID_STEP)) / 4 + self._table.error / 2 + rounding
            c = self._activation_error("") * candidate.step
        zeta, nu = self.source.mixing
        mixed = (state.largest * state.step + zeta * (1 + c)) * z + (zeta + nu) * c
        return float(mixed / state.step + self.scalings["state"].error + 0.5)
