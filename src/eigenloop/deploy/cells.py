"""Integer cells: the simple recurrence, the gated one and the LSTM; FastGRNN is in `fastgrnn_cell`.

A time step uses only the operations of `eigenloop.deploy.operations`; docs/integers.md gives the formulas.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from eigenloop.deploy import operations as op
from eigenloop.deploy.cell import Formats, IntegerCell, State
from eigenloop.deploy.describing import Cell
from eigenloop.deploy.fastgrnn_cell import FastGRNNCell
from eigenloop.deploy.formats import Format
from eigenloop.deploy.multipliers import multipliers
from eigenloop.deploy.operations import Whole
from eigenloop.deploy.preactivation import TANH_STEP
from eigenloop.deploy.statistics import Statistics, into
from eigenloop.deploy.table import Table


class SimpleCell(IntegerCell):
    """h' = f(W h + U x + b)."""

    def step(self, x: Whole, state: State, watch: Statistics | None = None) -> State:
        """Compute one time step of a batch; see `IntegerCell.step`."""
        return (self._activate("", self.gates[""].total(state[0], x, None, watch), watch),)

    @property
    def step_error(self) -> float:
        """The errors of the pre-activation and of rounding."""
        return self._activation_error("")


class GatedCell(IntegerCell):
    """The gated recurrence of GRU, NC-GRU and GORU; see `eigenloop.recurrence.gated`."""

    @property
    def scratch(self) -> int:
        """The previous state, and with ``reset="before"`` also r * h, since every row of W_c needs all of it."""
        return 2 if self.source.reset == "before" else 1

    @property
    def _others(self) -> int:
        return super()._others + 2 * 2 + 1 + 2  # two sigmoids, the reset product, the blend

    def step(self, x: Whole, state: State, watch: Statistics | None = None) -> State:
        """Compute one time step of a batch; see `IntegerCell.step`."""
        h, bits = state[0], self.formats.bits
        r = self._sigmoid("reset", h, x, watch)
        u = self._sigmoid("update", h, x, watch)
        candidate = self.gates["candidate"]
        if self.source.reset == "before":
            total = candidate.total(op.gated(r, h, bits), x, None, watch)
        else:
            total = candidate.total(h, x, r, watch)
        c = self._activate("candidate", total, watch)
        keep = u if self.source.update == "keep" else op.complement(u, bits)
        return (op.blended(keep, h, c, bits),)

    @property
    def step_error(self) -> float:
        """The candidate's error, which includes the reset gate's; the update gate's times |h - c|; and rounding."""
        state, candidate = self.formats.state, self.gates["candidate"]
        r, u = self._sigmoid_error("reset"), self._sigmoid_error("update")
        # The largest |W_c h + b_hn| (or row sum of |W_c|) in units of the candidate's total.
        unit = [float(factor) for factor in candidate.recurrent.factors(self._step_of_activated())]
        low, high = candidate.recurrent.row_bounds
        if self.source.reset == "after":
            largest = float((np.maximum(-low, high) * np.array(unit)).max())
            around = state.largest * state.step / float(self._step_of_activated())
            more = r * (largest + (around if candidate.around_identity else 0.0))
        else:
            assert candidate.recurrent.codes is not None
            rows = np.abs(candidate.recurrent.codes).sum(1) * np.array(unit)
            identity = state.step / float(self._step_of_activated()) if candidate.around_identity else 0.0
            more = (r * state.largest + 0.5) * (float(rows.max()) + identity)
        return self._activation_error("candidate", more) + u * 2 * state.largest + 0.5


class LSTMCell(IntegerCell):
    """The LSTM; see `eigenloop.recurrence.lstm`."""

    def __init__(self, source: Cell, formats: Formats, table: Table, widen: bool) -> None:
        super().__init__(source, formats, table, widen)
        cell, one = self._cell_format, 2 ** (formats.bits - 1)
        ratio = self._activated.exact_step / cell.exact_step
        products = [one * cell.largest, one * self._activated.largest]
        self.scalings["cell"] = multipliers([[Fraction(1, one)], [ratio / one]], products, "the cell")
        self.scalings["argument"] = multipliers([[cell.exact_step / TANH_STEP]], [cell.largest], "tanh of the cell")
        step = Fraction(1, 2**15 * one) / formats.state.exact_step
        self.scalings["state"] = multipliers([[step]], [one * 2**15], "the state")

    @property
    def _others(self) -> int:
        return super()._others + 3 * 2 + 4 + 3 + 2  # three sigmoids, f c + i g, tanh(c'), o tanh(c')

    @property
    def _cell_format(self) -> Format:
        assert self.formats.cell is not None
        return self.formats.cell

    @property
    def _activated(self) -> Format:
        """The candidate's format: the one for [-1, 1] after tanh, another activation has its own range."""
        assert self.formats.candidate is not None
        return self.formats.candidate

    @property
    def carried(self) -> tuple[Format, ...]:
        """h and c."""
        return self.formats.state, self._cell_format

    def step(self, x: Whole, state: State, watch: Statistics | None = None) -> State:
        """Compute one time step of a batch; see `IntegerCell.step`."""
        h, c = state
        i, f, o = (self._sigmoid(name, h, x, watch) for name in ("input", "forget", "output"))
        g = self._activate("cell", self.gates["cell"].total(h, x, None, watch), watch)
        cell, argument, out = (self.scalings[name] for name in ("cell", "argument", "state"))
        kept, written = cell.values
        total = op.accumulated([(f * c, kept), (i * g, written)])
        new = into(self._cell_format, op.shifted(total, cell.shift), watch)
        v = op.rescaled(new, argument.values[0], argument.shift)
        y = op.tanh(v, self._table.entries, self._table.range_bits)
        return into(self.formats.state, op.rescaled(o * y, out.values[0], out.shift), watch), new

    @property
    def cell_error(self) -> float:
        """The bound of `step_error` for the new c, in codes."""
        cell, g = self._cell_format, self._activated
        i, f = self._sigmoid_error("input"), self._sigmoid_error("forget")
        candidate = (self._activation_error("cell") * (1 + i) + i * g.largest) * g.step / cell.step
        return f * cell.largest + candidate + self.scalings["cell"].error + 0.5

    @property
    def step_error(self) -> float:
        """The errors of tanh(c') and of the output gate."""
        argument, out = self.scalings["argument"], self.scalings["state"]
        tanh = self.cell_error * self._cell_format.step + (argument.error + 0.5) * float(TANH_STEP) + self._table.error
        return (tanh + self._sigmoid_error("output") * (1 + tanh)) / self.formats.state.step + out.error + 0.5


CELLS: dict[str, type[IntegerCell]] = {
    "simple": SimpleCell,
    "gated": GatedCell,
    "lstm": LSTMCell,
    "fastgrnn": FastGRNNCell,
}


def cell_for(source: Cell, formats: Formats, table: Table, widen: bool) -> IntegerCell:
    """Return the integer cell of a described cell."""
    return CELLS[source.kind](source, formats, table, widen)
