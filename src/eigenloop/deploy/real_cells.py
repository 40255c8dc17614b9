"""The equations of a cell in float64 with its k-bit weights, for measuring ranges and errors."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from eigenloop.deploy.describing import Cell, Gate, Real, real_matrix

#: The state of a cell between time steps: (h,), or (h, c) for an LSTM; each (B, n).
State = tuple[Real, ...]


def sigmoid(z: Real) -> Real:
    """Return 1 / (1 + exp(-z)), without overflow."""
    return 0.5 * (1 + np.tanh(0.5 * z))


def activate(z: Real, cell: Cell, threshold: Real | None) -> Real:
    """Return the cell's activation of z."""
    if cell.activation == "modrelu":
        assert threshold is not None
        return np.sign(z) * np.maximum(np.abs(z) + threshold, 0)
    functions: dict[str, Callable[[Real], Real]] = {
        "relu": lambda z: np.maximum(z, 0),
        "leaky_relu": lambda z: np.where(z >= 0, z, cell.slope * z),
        "tanh": np.tanh,
        "identity": lambda z: z,
    }
    return functions[cell.activation](z)


class RealCell:
    """A cell in real arithmetic: (x, state) -> (new state, other quantities that have a range, by name)."""

    def __init__(self, cell: Cell) -> None:
        self.cell = cell
        self._W = {name: real_matrix(gate.W) for name, gate in cell.gates.items()}
        self._U = {name: real_matrix(gate.U) for name, gate in cell.gates.items()}

    def recurrent(self, gate: Gate, h: Real) -> Real:
        """Return W h, plus b_hn if there is one."""
        product = self._W[gate.name](h)
        return product if gate.inner_bias is None else product + gate.inner_bias

    def entered(self, gate: Gate, x: Real) -> Real:
        """Return U x + b."""
        product = self._U[gate.name](x)
        return product if gate.bias is None else product + gate.bias

    def step(self, x: Real, state: State) -> tuple[State, dict[str, Real]]:
        """Compute one time step; x is (B, m)."""
        steps = {"simple": self._simple, "gated": self._gated, "lstm": self._lstm, "fastgrnn": self._fastgrnn}
        return steps[self.cell.kind](x, state)

    def _simple(self, x: Real, state: State) -> tuple[State, dict[str, Real]]:
        gate = self.cell.gates[""]
        z = self.recurrent(gate, state[0]) + self.entered(gate, x)
        return (activate(z, self.cell, gate.threshold),), {}

    def _gated(self, x: Real, state: State) -> tuple[State, dict[str, Real]]:
        h, (reset, update, candidate) = state[0], self.cell.gates.values()
        r = sigmoid(self.recurrent(reset, h) + self.entered(reset, x))
        u = sigmoid(self.recurrent(update, h) + self.entered(update, x))
        if self.cell.reset == "before":
            z = self.recurrent(candidate, r * h) + self.entered(candidate, x)
        else:
            z = r * self.recurrent(candidate, h) + self.entered(candidate, x)
        c = activate(z, self.cell, candidate.threshold)
        new = u * h + (1 - u) * c if self.cell.update == "keep" else (1 - u) * h + u * c
        # Candidates have the state's format, so that blending needs no multiplier.
        return (new,), {"state": c}

    def _fastgrnn(self, x: Real, state: State) -> tuple[State, dict[str, Real]]:
        h, gate = state[0], self.cell.gates[""]
        a = self.recurrent(gate, h) + self.entered(gate, x)
        assert gate.threshold is not None
        second = a + gate.threshold
        if self.cell.activation == "piecewise":
            z, c = np.clip((a + 1) / 2, 0, 1), np.clip(second, -1, 1)
        else:
            z, c = sigmoid(a), np.tanh(second)
        zeta, nu = self.cell.mixing
        return ((zeta * (1 - z) + nu) * c + z * h,), {"candidate": c}

    def _lstm(self, x: Real, state: State) -> tuple[State, dict[str, Real]]:
        h, c = state
        i, f, g, o = (self.recurrent(gate, h) + self.entered(gate, x) for gate in self.cell.gates.values())
        g = activate(g, self.cell, self.cell.gates["cell"].threshold)
        new = sigmoid(f) * c + sigmoid(i) * g
        return (sigmoid(o) * np.tanh(new), new), {"candidate": g}
