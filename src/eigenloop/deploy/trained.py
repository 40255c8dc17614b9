"""The formats of a network that was trained with rounded states (``state_bits=``), with the trained ranges."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from eigenloop.deploy.cell import Formats
from eigenloop.deploy.describing import Cell
from eigenloop.deploy.formats import Format, unit_format
from eigenloop.quantization.layer import QuantizableLayer


def trained_bits(layer: QuantizableLayer) -> int | None:
    """Return the width to which a layer rounds its states; None if it does not."""
    return None if layer.state_quantizer is None else layer.state_quantizer.bits


def trained_input(layer: Any) -> Format:
    """Return the format to which the layer rounds its input."""
    quantizer = layer.state_quantizer
    return _format("input", quantizer.bits, float(quantizer.step(layer.input_range, 1)))


def trained_formats(layer: Any, cells: Sequence[Cell], entered: Format) -> list[Formats]:
    """Return the formats to which every cell rounds; gates have the same width, and a tanh has step 2^-(bits - 1)."""
    bits = layer.state_quantizer.bits
    unit = 2.0 ** (1 - bits)
    formats = []
    for number, cell in enumerate(cells):
        step = float(layer.state_step(number))
        name = f"state of layer {number}"
        if cell.kind == "lstm":
            kept = _format(f"cell of layer {number}", bits, step)
            candidate = _format(f"candidate of layer {number}", bits, unit if cell.activation == "tanh" else step)
            own = Formats(entered, _format(name, bits, unit), bits, kept, candidate)
        elif cell.kind == "fastgrnn":
            candidate = unit_format(f"candidate of layer {number}", bits)
            own = Formats(entered, _format(name, bits, step), bits, candidate=candidate)
        else:
            own = Formats(entered, _format(name, bits, step), bits)
        formats.append(own)
        entered = own.state
    return formats


def _format(name: str, bits: int, step: float) -> Format:
    half = 2 ** (bits - 1)
    return Format(name, bits, step, step * half, -half, half - 1)
