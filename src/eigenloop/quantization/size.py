"""The size of a network on a device: bytes with k-bit weights, compared with float32."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor, nn

from eigenloop import bit_widths
from eigenloop.quantization.layer import QuantizableLayer
from eigenloop.quantization.layer_quantizer import Quantizer
from eigenloop.quantization.readout import QuantizableReadout
from eigenloop.scaling import Scaling

#: Bits of a float32, in which the steps of a quantizer are stored.
_FLOAT_BITS = 32
#: Ranges of rounded states, which may be parameters.
_RANGES = ("input_range", "state_range", "cell_range")


@dataclass(frozen=True)
class Part:
    """A tensor of a network as a device would store it.

    Attributes:
        name: name of the tensor, such as ``weight_ih_l0``; ``recurrent_l0`` is the dense W.
        numbers: number of entries; a complex entry counts twice.
        bits: bit width of an entry, 32 for floating point.
        steps: number of quantization steps stored with it.
        added: whether a floating-point network does not need it, such as a lookup table of tanh.
        spare: padding bytes, because each row starts at a byte boundary.
    """

    name: str
    numbers: int
    bits: int
    steps: int
    added: bool = False
    spare: int = 0

    @property
    def bytes(self) -> int:
        """Bytes of the tensor: packed codes, steps in float32, and padding."""
        return math.ceil(self.numbers * self.bits / 8) + self.steps * _FLOAT_BITS // 8 + self.spare

    @property
    def float_bytes(self) -> int:
        """Bytes of the tensor in float32; 0 if it is not needed there."""
        return 0 if self.added else self.numbers * _FLOAT_BITS // 8


@dataclass(frozen=True)
class SizeReport:
    """The sizes of a network's tensors; prints as a table.

    Attributes:
        parts: the stored tensors.
        ram: working memory: that of an integer network, or the rounded states of a layer with `state_bits`.
    """

    parts: tuple[Part, ...]
    ram: tuple[Part, ...] = ()

    @property
    def bytes(self) -> int:
        """Total bytes of the stored tensors."""
        return sum(part.bytes for part in self.parts)

    @property
    def float_bytes(self) -> int:
        """Total bytes of the stored tensors in float32."""
        return sum(part.float_bytes for part in self.parts)

    @property
    def ram_bytes(self) -> int:
        """Total bytes of working memory."""
        return sum(part.bytes for part in self.ram)

    def __str__(self) -> str:
        """Return a table with a line for each stored tensor and the total, then the working memory."""
        width = max((len(part.name) for part in (*self.parts, *self.ram)), default=0)
        lines = [f"{'':{width}}  {'numbers':>10}  {'bits':>5}  {'bytes':>10}  {'float32':>10}"]
        for part in self.parts:
            row = f"{part.numbers:>10,}  {part.bits:>5}  {part.bytes:>10,}  {part.float_bytes:>10,}"
            lines.append(f"{part.name:{width}}  {row}")
        numbers = sum(part.numbers for part in self.parts)
        total = f"{numbers:>10,}  {'':>5}  {self.bytes:>10,}  {self.float_bytes:>10,}"
        lines.append(f"{'all':{width}}  {total}  {self._compared()}".rstrip())
        if self.ram:
            lines.append(f"in memory, {self.ram_bytes:,} bytes:")
            lines += [
                f"{part.name:{width}}  {part.numbers:>10,}  {part.bits:>5}  {part.bytes:>10,}" for part in self.ram
            ]
        return "\n".join(lines)

    def _compared(self) -> str:
        """Return how many times smaller than in float32 it is, as text; empty if it is not smaller."""
        if not self.bytes:
            return "empty"
        ratio = self.float_bytes / self.bytes
        return f"{ratio:.1f} times smaller" if round(ratio, 1) > 1 else ""


class IntegerSizes(Protocol):
    """An integer network of `eigenloop.deploy.integer`, which reports its own sizes."""

    def size_parts(self) -> tuple[tuple[Part, ...], tuple[Part, ...]]:
        """Return the stored tensors and the working memory."""
        ...


def size_report(
    network: nn.Module | IntegerSizes, bits: int | Quantizer | None = None, readout_bits: int | None = None
) -> SizeReport:
    """Return the bytes that a device needs for a network: U and dense W in k bits with steps, the rest in float32.

    Args:
        network: an `eigenloop` layer or Model, any torch module (all in float32), or an integer network.
        bits: count U and W with this width; default: as the network is quantized.
        readout_bits: the same for the read-out.

    Raises:
        ValueError: a width is given for an integer network, whose widths are fixed.

    >>> import eigenloop as el
    >>> net = el.Model(el.build("qornn", 1, 170, bits=4), 10)
    >>> report = size_report(net)
    >>> report.bytes, report.float_bytes
    (21383, 123120)
    >>> print(report)  # doctest: +NORMALIZE_WHITESPACE
                       numbers   bits       bytes     float32
    rnn.weight_ih_l0       170      4          89         680
    rnn.recurrent_l0    28,900      4      14,454     115,600
    readout.weight       1,700     32       6,800       6,800
    readout.bias            10     32          40          40
    all                 30,780              21,383     123,120  5.8 times smaller
    """
    if not isinstance(network, nn.Module):
        if bits is not None or readout_bits is not None:
            raise ValueError("the widths of an integer network are fixed: leave out bits= and readout_bits=")
        return SizeReport(*network.size_parts())
    return SizeReport(tuple(_parts(network, bits, readout_bits)), tuple(_states(network)))


def _states(network: nn.Module) -> Iterator[Part]:
    """Yield the rounded states, and cells of an LSTM, that are carried from step to step."""
    for name, module in network.named_modules():
        if isinstance(module, QuantizableLayer) and module.state_quantizer is not None:
            for carried, numbers in module.carried_sizes().items():
                yield Part(f"{name}.{carried}" if name else carried, numbers, module.state_quantizer.bits, 0)


def _parts(network: nn.Module, bits: int | Quantizer | None, readout_bits: int | None) -> Iterator[Part]:
    counted: set[int] = set()
    read: dict[int, int | None] = {}  # the width of every V; a network comes before its parts
    for name, module in network.named_modules():
        prefix = f"{name}." if name else ""
        if isinstance(module, QuantizableReadout):
            read[id(module.readout.weight)] = module.readout_bits if readout_bits is None else readout_bits
        if isinstance(module, QuantizableLayer):
            yield from _layer(module, prefix, bits)
            counted |= {id(parameter) for parameter in module.parameters()}
        for key, parameter in module.named_parameters(recurse=False):
            if id(parameter) in counted:  # part of a layer, or tied
                continue
            counted.add(id(parameter))
            yield _part(prefix + key, parameter, read.get(id(parameter)))
        if isinstance(module, Scaling):
            for key, buffer in module.named_buffers():
                yield _part(prefix + key, buffer, None)


def _layer(layer: QuantizableLayer, prefix: str, bits: int | Quantizer | None) -> Iterator[Part]:
    """Yield the tensors of a recurrent layer: its own parameters, and the dense W instead of its parameters."""
    quantizer = bits if isinstance(bits, Quantizer) else layer.quantizer if bits is None else Quantizer(bits)
    width, per_row = (None, False) if quantizer is None else (quantizer.bits, quantizer.per_row)
    cells = layer.cell_matrices()
    for name, parameter in layer.named_parameters(recurse=False):
        if name.split("_l")[0] in _RANGES:
            continue  # on a device it is part of the multipliers
        if name.startswith("weight_ih"):
            gates = len(cells[name.replace("weight_ih", "recurrent")])
            yield _part(prefix + name, parameter, width, len(parameter) if per_row else gates)
        else:
            yield _part(prefix + name, parameter, None)
    for name, matrices in cells.items():
        for key, matrix in matrices.items():
            with torch.no_grad():
                W = matrix()
            yield _part(prefix + name + key, W, width, len(W) if per_row else 1)


def _part(name: str, tensor: Tensor, bits: int | None, steps: int = 1) -> Part:
    numbers = tensor.numel() * (2 if tensor.is_complex() else 1)
    if bits is None:
        return Part(name, numbers, _FLOAT_BITS, 0)
    return Part(name, numbers, bit_widths.WEIGHTS.checked(bits, "bits"), steps)
