"""What a network weighs on a device: bytes in k bits beside bytes in float32."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor, nn

from eigenloop.quantization.layer import QuantizableLayer
from eigenloop.quantization.layer_quantizer import Quantizer
from eigenloop.quantization.quantizer import checked_bits
from eigenloop.quantization.readout import QuantizableReadout
from eigenloop.scaling import Scaling

#: A float32, and so a step of the quantizer.
_FLOAT_BITS = 32
#: Ranges of rounded states, which some layers train.
_RANGES = ("input_range", "state_range", "cell_range")


@dataclass(frozen=True)
class Part:
    """A tensor of a network as a device would hold it.

    Attributes:
        name: where it is, as in ``weight_ih_l0``; ``recurrent_l0`` is the dense W.
        numbers: how many there are, a complex one counting twice.
        bits: the width of each, 32 for floating point.
        steps: how many steps of a quantizer come with it.
        added: whether floating point would not need it at all, as a table of tanh.
        spare: bytes between and behind rows, which begin with a whole byte each.
    """

    name: str
    numbers: int
    bits: int
    steps: int
    added: bool = False
    spare: int = 0

    @property
    def bytes(self) -> int:
        """In its width: the codes of a tensor packed without gaps, its steps in float32, and what is spare."""
        return math.ceil(self.numbers * self.bits / 8) + self.steps * _FLOAT_BITS // 8 + self.spare

    @property
    def float_bytes(self) -> int:
        """In float32."""
        return 0 if self.added else self.numbers * _FLOAT_BITS // 8


@dataclass(frozen=True)
class SizeReport:
    """The parts of a network; printed, a table.

    Attributes:
        parts: what is stored.
        ram: what an integer network keeps in memory while it runs, or the rounded states of one that trains.
    """

    parts: tuple[Part, ...]
    ram: tuple[Part, ...] = ()

    @property
    def bytes(self) -> int:
        """All parts in their widths."""
        return sum(part.bytes for part in self.parts)

    @property
    def float_bytes(self) -> int:
        """All parts in float32."""
        return sum(part.float_bytes for part in self.parts)

    @property
    def ram_bytes(self) -> int:
        """All that is kept in memory while an integer network runs."""
        return sum(part.bytes for part in self.ram)

    def __str__(self) -> str:
        """Return a line for every part and one for all; the same for memory."""
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
        """Say how much smaller than in float32 it is; nothing where that cannot be seen."""
        if not self.bytes:
            return "nothing in it"
        ratio = self.float_bytes / self.bytes
        return f"{ratio:.1f} times smaller" if round(ratio, 1) > 1 else ""


class IntegerSizes(Protocol):
    """A network of `eigenloop.deploy.integer`, which knows its own parts."""

    def size_parts(self) -> tuple[tuple[Part, ...], tuple[Part, ...]]:
        """Return what is stored and what is in memory."""
        ...


def size_report(
    network: nn.Module | IntegerSizes, bits: int | Quantizer | None = None, readout_bits: int | None = None
) -> SizeReport:
    """Count what a device needs to run a network: U and the dense W in k bits with a step each, all else in float32.

    Args:
        network: an `eigenloop` layer or Model, any module of torch (all in float32), or an integer network, all of
            whose widths are decided.
        bits: count as if U and W had this width; default: as the network is quantized.
        readout_bits: the same for the read-out.

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
            raise ValueError("the widths of an integer network are decided: leave out bits= and readout_bits=")
        return SizeReport(*network.size_parts())
    return SizeReport(tuple(_parts(network, bits, readout_bits)), tuple(_states(network)))


def _states(network: nn.Module) -> Iterator[Part]:
    """Count what cells with a rounded state carry from step to step: a state each, and an LSTM's cell."""
    for name, module in network.named_modules():
        if isinstance(module, QuantizableLayer) and module.state_quantizer is not None:
            for carried, numbers in module.carried_sizes().items():
                yield Part(f"{name}.{carried}" if name else carried, numbers, module.state_quantizer.bits, 0)


def _parts(network: nn.Module, bits: int | Quantizer | None, readout_bits: int | None) -> Iterator[Part]:
    counted: set[int] = set()
    readout = network.readout if isinstance(network, QuantizableReadout) else None
    if readout_bits is None and isinstance(network, QuantizableReadout):
        readout_bits = network.readout_bits
    for name, module in network.named_modules():
        prefix = f"{name}." if name else ""
        if isinstance(module, QuantizableLayer):
            yield from _layer(module, prefix, bits)
            counted |= {id(parameter) for parameter in module.parameters()}
        for key, parameter in module.named_parameters(recurse=False):
            if id(parameter) in counted:  # of a layer above, or tied
                continue
            counted.add(id(parameter))
            is_read = readout is not None and parameter is readout.weight
            yield _part(prefix + key, parameter, readout_bits if is_read else None)
        if isinstance(module, Scaling):
            for key, buffer in module.named_buffers():
                yield _part(prefix + key, buffer, None)


def _layer(layer: QuantizableLayer, prefix: str, bits: int | Quantizer | None) -> Iterator[Part]:
    """Count a recurrent layer: its own parameters, and the dense W in place of what it is built from."""
    quantizer = bits if isinstance(bits, Quantizer) else layer.quantizer if bits is None else Quantizer(bits)
    width, per_row = (None, False) if quantizer is None else (quantizer.bits, quantizer.per_row)
    cells = layer.cell_matrices()
    for name, parameter in layer.named_parameters(recurse=False):
        if name.split("_l")[0] in _RANGES:
            continue  # a device has it in its multipliers
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
    return Part(name, numbers, checked_bits(bits), steps)
