"""Bound the distance between the outputs of an integer network and of the k-bit network in real arithmetic."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from eigenloop.deploy.cell import IntegerCell
from eigenloop.deploy.describing import Gate, real_matrix
from eigenloop.deploy.inputs import Tokens

if TYPE_CHECKING:
    from eigenloop.deploy.network import IntegerNetwork


def error_bound(network: IntegerNetwork, steps: int) -> float | None:
    """Return a bound of the error of every output after `steps` time steps if nothing saturates; None if none is known.

    An activation f with |f(a) - f(b)| <= |a - b| does not enlarge an error, so that in the 2-norm, with sigma the
    largest singular value, e_x the input's error and delta the error that a time step adds to each unit,

        e_t <= sigma(W) e_{t-1} + sigma(U) e_x + sqrt(n) delta.

    Near an orthogonal W this grows linearly in t, whereas bounds of single entries would grow like a power of sqrt(n).
    It holds for ReLU, leaky ReLU (slope at most 1), tanh, the identity, and modReLU without positive thresholds (with
    one it jumps at 0). In gated cells the factors of a product multiply each other's errors, and a bound over many time
    steps is too large to be useful: `IntegerCell.step_error` bounds a single one.
    """
    if not all(_contracts(cell) for cell in network.cells):
        return None
    form = network.inputs.format
    m = network.cells[0].source.input_size
    entered = 0.0 if isinstance(network.inputs, Tokens) else math.sqrt(m) * form.step / 2
    errors = [entered] * steps
    for cell in network.cells:
        errors = _carried(cell, errors)
    readout = network.readout
    state = errors[-1] if readout.pool == "last" else max(errors)
    if readout.sum is None:
        return float(state)
    assert readout.sum.codes is not None
    unit = float(readout.sum.units[0])
    rows = np.linalg.norm(readout.sum.codes, axis=1).max() * unit / readout.state.step
    return float(rows * state + readout.sum.bias_error * unit)


def _contracts(cell: IntegerCell) -> bool:
    """Whether the activation never enlarges the distance between two pre-activations."""
    if cell.source.kind != "simple":
        return False
    gate = cell.source.gates[""]
    if cell.source.activation == "modrelu":
        return gate.threshold is not None and bool((gate.threshold <= 0).all())
    return cell.source.activation != "leaky_relu" or cell.source.slope <= 1


def _carried(cell: IntegerCell, entered: list[float]) -> list[float]:
    """Return the error bound of a layer's state after each time step, in the 2-norm."""
    gate, n, step = cell.source.gates[""], cell.source.size, cell.formats.state.step
    recurrent, projected = (_norm(gate, which, cell) for which in ("W", "U"))
    error = math.sqrt(n) * step / 2 if cell.source.initial[0].any() else 0.0
    errors = []
    for one in entered:
        error = recurrent * error + projected * one + math.sqrt(n) * cell.step_error * step
        errors.append(error)
    return errors


def _norm(gate: Gate, which: str, cell: IntegerCell) -> float:
    """The largest singular value of W or U."""
    codes = gate.W if which == "W" else gate.U
    columns = cell.source.size if which == "W" else cell.source.input_size
    return float(np.linalg.norm(real_matrix(codes)(np.eye(columns)), 2))
