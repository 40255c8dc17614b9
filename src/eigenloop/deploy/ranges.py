"""Measure the ranges of input, hidden and cell states by running the k-bit network in real arithmetic."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from eigenloop.deploy.cell import Formats
from eigenloop.deploy.describing import Cell, Real
from eigenloop.deploy.formats import Format, format_for, unit_format
from eigenloop.deploy.real_cells import RealCell, State

#: About how many magnitudes of a quantity a percentile is computed from.
_KEPT = 1_000_000


@dataclass(frozen=True)
class RangeOptions:
    """How ranges are chosen.

    Attributes:
        state_bits: width of states and gates.
        cell_bits: width of an LSTM's cell state.
        input_bits: width of the input.
        percentile: percentile of the magnitudes that is taken as the range; 100 is the largest magnitude.
        power_of_two: whether quantization steps are powers of two.
    """

    state_bits: int
    cell_bits: int
    input_bits: int
    percentile: float = 100.0
    power_of_two: bool = False

    def __post_init__(self) -> None:
        if not 50 <= self.percentile <= 100:
            raise ValueError(f"percentile is between 50 and 100, got {self.percentile}")


class _Magnitudes:
    """Collects values of a quantity; gives their largest magnitude, or a percentile of about a million of them."""

    def __init__(self, percentile: float) -> None:
        self._percentile = percentile
        self._largest = 0.0
        self._parts: list[Real] = []

    def add(self, values: Real) -> None:
        if not values.size:
            return
        self._largest = max(self._largest, float(np.abs(values).max()))
        if self._percentile < 100:
            self._parts.append(np.abs(values).reshape(-1))

    def value(self) -> float:
        if self._percentile == 100 or not self._parts or not np.isfinite(self._largest):
            return self._largest
        every = np.concatenate(self._parts)
        return float(np.percentile(every[:: 1 + len(every) // _KEPT], self._percentile))


def input_format(x: Real, valid: np.ndarray, options: RangeOptions) -> Format:
    """Return the format of the first layer's input; x is (T, B, m), valid (T, B)."""
    sizes = _Magnitudes(options.percentile)
    sizes.add(x[valid])
    return format_for("input", options.input_bits, sizes.value(), options.power_of_two)


def cell_formats(
    cells: Sequence[Cell], x: Real, valid: np.ndarray, entered: Format, options: RangeOptions
) -> list[Formats]:
    """Run every layer on the sequences and return the formats of its quantities.

    Args:
        cells: the layers.
        x: the real input of the first layer, (T, B, m).
        valid: which time steps are not padding, (T, B).
        entered: the format of the first layer's input.
        options: how ranges are chosen.
    """
    chosen = []
    for number, cell in enumerate(cells):
        x, sizes = _run(cell, x, valid, options.percentile)
        formats = _formats(cell, number, sizes, entered, options)
        chosen.append(formats)
        entered = formats.state
    return chosen


def _run(cell: Cell, x: Real, valid: np.ndarray, percentile: float) -> tuple[Real, dict[str, _Magnitudes]]:
    """Return the states of a layer, (T, B, n), and the magnitudes of state, cell state and candidate."""
    names = ("state", "cell", "candidate")
    sizes = {name: _Magnitudes(percentile) for name in names}
    real = RealCell(cell)
    state: State = tuple(np.broadcast_to(one, (x.shape[1], cell.size)) for one in cell.initial)
    for name, one in zip(names, cell.initial, strict=False):
        sizes[name].add(one)
    out = np.empty((*x.shape[:2], cell.size))
    with np.errstate(over="ignore", invalid="ignore"):  # format_for raises for values that are not finite
        for t in range(len(x)):
            new, others = real.step(x[t], state)
            state = tuple(np.where(valid[t, :, None], a, b) for a, b in zip(new, state, strict=True))
            for name, values in (*zip(names, state, strict=False), *others.items()):
                sizes[name].add(values[valid[t]])
            out[t] = state[0]
    return out, sizes


def _formats(cell: Cell, number: int, sizes: dict[str, _Magnitudes], entered: Format, options: RangeOptions) -> Formats:
    bits, two = options.state_bits, options.power_of_two
    negative = any(bool((values < 0).any()) for values in cell.initial)
    positive = cell.kind != "lstm" and cell.activation == "relu" and not negative
    state = format_for(f"state of layer {number}", bits, sizes["state"].value(), two, positive)
    if cell.kind == "fastgrnn":
        return Formats(entered, state, bits, candidate=unit_format(f"candidate of layer {number}", bits))
    if cell.kind != "lstm":
        return Formats(entered, state, bits)
    candidate = 1.0 if cell.activation == "tanh" else sizes["candidate"].value()
    return Formats(
        entered,
        state,
        bits,
        format_for(f"cell of layer {number}", options.cell_bits, sizes["cell"].value(), two),
        format_for(f"candidate of layer {number}", bits, candidate, two),
    )
