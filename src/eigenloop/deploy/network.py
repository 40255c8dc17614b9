"""A recurrent network that computes in integers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from eigenloop.deploy.arrays import arranged, array_of, finite
from eigenloop.deploy.cell import IntegerCell, State, batch_of
from eigenloop.deploy.describing import Real
from eigenloop.deploy.errors import error_bound
from eigenloop.deploy.inputs import Tokens, Values
from eigenloop.deploy.operations import Whole
from eigenloop.deploy.reading_out import Pooled, Readout
from eigenloop.deploy.report import IntegerReport, report_of
from eigenloop.deploy.statistics import Statistics
from eigenloop.deploy.table import Table
from eigenloop.quantization.size import Part

if TYPE_CHECKING:
    from eigenloop.deploy.c.compiled import CompiledNetwork


@dataclass(frozen=True, eq=False)
class IntegerState:
    """The state that a device keeps between time steps.

    Attributes:
        cells: for each layer h, and an LSTM's c, (B, n) each, as int8 or int16.
        pooled: the read-out's state.
    """

    cells: tuple[tuple[NDArray[Any], ...], ...]
    pooled: Pooled


@dataclass(frozen=True, eq=False)
class IntegerNetwork:
    """A recurrent network that computes in integers only; `eigenloop.deploy.integer` builds one.

    Attributes:
        inputs: converts inputs to codes.
        cells: the layers.
        readout: turns states into outputs.
        batch_first: whether sequences are (B, T, features); the same as in the trained network.
        calibration: saturation and largest sums on the calibration data.
    """

    inputs: Values | Tokens
    cells: tuple[IntegerCell, ...]
    readout: Readout
    batch_first: bool
    calibration: Statistics

    # ---------------------------------------------------------------- the interface of the trained network

    def predict(self, X: ArrayLike, *, lengths: Sequence[int] | None = None, watch: Statistics | None = None) -> Real:
        """Return the outputs as real numbers; everything is computed in integers, only the outputs are scaled.

        Args:
            X: (T, B, features), or (B, T, features) if the network is ``batch_first``; tokens without features; a
                single sequence without B. Integers are read as counts of a sensor, in the units of real values.
            lengths: valid time steps of each sequence, for a padded batch.
            watch: counts saturation.

        Raises:
            TypeError: the network takes tokens, and X has real values.
            ValueError: the shape does not fit, a value is not finite, or a token is out of range.
        """
        outputs, steps = self._run(X, lengths, watch)
        return self.readout.real(outputs, steps)

    def sums(self, X: ArrayLike, *, lengths: Sequence[int] | None = None) -> Whole:
        """Return the integer outputs before `predict` scales them, which are the numbers on a device."""
        return self._run(X, lengths, None)[0]

    def step(self, x: ArrayLike, state: IntegerState | None = None) -> tuple[Real, IntegerState]:
        """Compute one time step and return the outputs up to now and the new state.

        Args:
            x: (features,) or (B, features); a token or (B,) tokens.
            state: the state after the previous time step; default: the initial state.
        """
        given, tokens = finite(array_of(x)), isinstance(self.inputs, Tokens)
        single, size = given.ndim == (0 if tokens else 1), self.cells[0].source.input_size
        if given.ndim > (1 if tokens else 2) or (not tokens and given.shape[-1:] != (size,)):
            wanted = "a token or (B,) tokens" if tokens else f"({size},) or (B, {size})"
            raise ValueError(f"a step takes {wanted}, got shape {given.shape}")
        codes = self.inputs.codes(given[None] if single else given)
        state = self.advance(codes, self.initial_state(len(codes)) if state is None else state)
        y = self.readout.real(self.outputs(state), state.pooled.steps[:, None])
        return (y[0] if single else y), state

    def report(self) -> IntegerReport:
        """Return ranges, saturation on the calibration data, bytes, multiplications per step and worst-case sums."""
        return report_of(self)

    def compiled(self) -> CompiledNetwork:
        """Return the same network in compiled C, which needs a C compiler; see `deploy.c.compiled`."""
        from eigenloop.deploy.c.compiled import CompiledNetwork  # which imports this module

        return CompiledNetwork(self)

    def error_bound(self, steps: int) -> float | None:
        """Return a bound of the error of every output after `steps` time steps, or None; see `deploy.errors`."""
        return error_bound(self, steps)

    def size_parts(self) -> tuple[tuple[Part, ...], tuple[Part, ...]]:
        """Return the parts in flash and the parts in RAM, for `quantization.size_report`."""
        size = self.report().size
        return size.parts, size.ram

    # ---------------------------------------------------------------- the operations on a device

    def initial_state(self, batch: int = 1) -> IntegerState:
        """Return the state before the first time step."""
        cells = tuple(self._narrow(cell, batch_of(cell.initial, batch)) for cell in self.cells)
        return IntegerState(cells, self.readout.begin(batch, self.cells[-1].source.size))

    def advance(self, codes: Whole, state: IntegerState, watch: Statistics | None = None) -> IntegerState:
        """Compute one time step from the codes of the input, (B, features), and return the new state."""
        q, cells = codes, []
        for cell, carried in zip(self.cells, state.cells, strict=True):
            new = cell.step(q, tuple(one.astype(np.int64) for one in carried), watch)
            cells.append(self._narrow(cell, new))
            q = new[0]
        return IntegerState(tuple(cells), self.readout.note(state.pooled, q))

    def outputs(self, state: IntegerState, watch: Statistics | None = None) -> Whole:
        """Return the integer outputs for a state, (B, outputs)."""
        return self.readout.outputs(state.cells[-1][0].astype(np.int64), state.pooled, watch)

    @property
    def table(self) -> Table | None:
        """The table of tanh that all layers share; None if none needs it."""
        return next((cell.table for cell in self.cells if cell.table is not None), None)

    @staticmethod
    def _narrow(cell: IntegerCell, state: State) -> tuple[NDArray[Any], ...]:
        return tuple(one.astype(form.dtype) for one, form in zip(state, cell.carried, strict=True))

    def _run(self, X: ArrayLike, lengths: Sequence[int] | None, watch: Statistics | None) -> tuple[Whole, Whole]:
        """Run sequences; return integer outputs in the layout of the input, and the number of steps of each."""
        tokens = isinstance(self.inputs, Tokens)
        sequences = arranged(X, lengths, self.batch_first, tokens, self.cells[0].source.input_size)
        x, valid = sequences.x, sequences.valid
        state = self.initial_state(x.shape[1])
        every = []
        for t in range(len(x)):
            if watch is not None:
                watch.valid = valid[t]
                if isinstance(self.inputs, Values):
                    form = self.inputs.format
                    exact = np.floor(self.inputs.normalised(x[t]) / form.step + 0.5)
                    watch.note(form.name, exact.astype(np.int64), form.low, form.high)
            new = self.advance(self.inputs.codes(x[t]), state, watch)
            state = new if valid[t].all() else _where(valid[t], new, state)
            if self.readout.pool is None:
                every.append(np.where(valid[t][:, None], self.outputs(state, watch), 0))
        if self.readout.pool is None:
            return sequences.restored(np.stack(every)), np.ones(1, np.int64)
        if watch is not None:
            watch.valid = None
        outputs = self.outputs(state, watch)
        return (outputs, state.pooled.steps[:, None]) if sequences.batched else (outputs[0], state.pooled.steps)


def _where(valid: np.ndarray, new: IntegerState, old: IntegerState) -> IntegerState:
    """Return the new state for the sequences that are valid, the old state for the others."""
    rows = valid[:, None]
    cells = tuple(
        tuple(np.where(rows, a, b) for a, b in zip(one, other, strict=True))
        for one, other in zip(new.cells, old.cells, strict=True)
    )
    values = None
    if new.pooled.values is not None and old.pooled.values is not None:
        values = np.where(rows, new.pooled.values, old.pooled.values)
    return IntegerState(cells, Pooled(values, np.where(valid, new.pooled.steps, old.pooled.steps)))
