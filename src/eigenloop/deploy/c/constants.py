"""The constants of a network as C arrays: the same numbers, and the same bytes, as its report lists."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from eigenloop.deploy.c.kernels import Kernel
from eigenloop.deploy.c.text import array, signed
from eigenloop.deploy.multipliers import Multipliers
from eigenloop.deploy.operations import Whole
from eigenloop.deploy.sums import Sum, width_of


@dataclass
class Constants:
    """Definitions in the order in which they were asked for, and the loops that their use needs."""

    arrays: list[str] = field(default_factory=list)
    kernels: set[Kernel] = field(default_factory=set)
    functions: set[str] = field(default_factory=set)

    def whole(self, name: str, values: Whole, note: str, bits: int | None = None) -> str:
        """Define whole numbers in the narrowest type, or in one of so many bits, and return their name."""
        bits = width_of(values) if bits is None else bits
        self.arrays.append(array(signed(bits), name, values, bits, note))
        return name

    def codes(self, name: str, one: Sum) -> str:
        """Define the packed codes of a sum."""
        assert one.codes is not None
        rows, columns = one.codes.shape
        note = f"{one.name}: {rows} x {columns} codes of {one.bits} bits"
        self.arrays.append(array("uint8_t", name, one.packed(), 8, note))
        return name


@dataclass
class Scalings:
    """The multipliers and shifts of a layer, one array of each; what is added gets its place in them."""

    multipliers: list[int] = field(default_factory=list)
    shifts: list[int] = field(default_factory=list)

    def add(self, scaling: Multipliers) -> tuple[list[tuple[int, bool]], int]:
        """Return the place of each term's multiplier, whether each row has its own, and the place of the shift."""
        places = []
        for values in scaling.values:
            places.append((len(self.multipliers), len(values) > 1))
            self.multipliers += [int(value) for value in values]
        self.shifts.append(scaling.shift)
        return places, len(self.shifts) - 1

    def define(self, constants: Constants, number: int) -> None:
        """Define both arrays."""
        values = np.array(self.multipliers, np.int64)
        constants.whole(f"multipliers_{number}", values, f"multipliers of layer {number}", 32)
        note = f"shifts of layer {number}"
        constants.arrays.append(array("uint8_t", f"shifts_{number}", self.shifts, 8, note))


def sum_expression(
    constants: Constants, one: Sum, name: str, operand: str, bits: int, *, bias: str | None = None, wide: bool = False
) -> str:
    """Define the codes and biases of a sum and return the expression for row i of it.

    Args:
        constants: where they are defined.
        one: the sum.
        name: of its arrays, without what says which they are.
        operand: the C expression of the vector.
        bits: of a number in it.
        bias: an expression in place of the bias, for the mean of states.
        wide: whether the sum has 64 bits in any case.
    """
    start = "0"
    if one.bias is not None:
        stored = constants.whole(f"bias_{name}", one.bias, f"bias of {one.name}")
        start = f"{stored}[i]" if bias is None else bias.format(bias=f"{stored}[i]")
    if one.codes is None:
        return f"{operand}[i]" if one.bias is None else f"{operand}[i] + {start}"
    kernel = Kernel(one.bits, bits, 64 if wide else one.width)
    constants.kernels.add(kernel)
    columns = one.codes.shape[1]
    codes = constants.codes(f"codes_{name}", one)
    return f"{kernel.name}({codes}, i * {columns * one.bits}u, {operand}, {columns}u, {start})"
