"""The constants of a network as C arrays, with the sizes that its report lists."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from eigenloop.deploy.c.kernels import NARROW, Kernel, Lanes
from eigenloop.deploy.c.text import array, literal, signed
from eigenloop.deploy.operations import Whole
from eigenloop.deploy.packing import group, row_bytes
from eigenloop.deploy.sums import Sum, width_of


@dataclass
class Constants:
    """Collects the definitions of arrays, and the kernels, copies and functions that the code uses."""

    arrays: list[str] = field(default_factory=list)
    kernels: set[Kernel] = field(default_factory=set)
    lanes: set[Lanes] = field(default_factory=set)
    functions: set[str] = field(default_factory=set)

    def integers(self, name: str, values: Whole, note: str, bits: int | None = None) -> str:
        """Define an array of integers in the narrowest type, or in one of `bits` bits, and return its name."""
        bits = width_of(values) if bits is None else bits
        self.arrays.append(array(signed(bits), name, values, bits, note))
        return name

    def codes(self, name: str, one: Sum) -> str:
        """Define the array of a sum's packed codes, and return its name."""
        assert one.codes is not None
        rows, columns = one.codes.shape
        note = f"{one.name}: {rows} x {columns} codes of {one.bits} bits"
        self.arrays.append(array("uint8_t", name, one.packed(), 8, note))
        return name

    def factor(self, name: str, values: Whole, note: str, row: str) -> str:
        """Return the C expression of a multiplier: a literal, or the entry of a new array if each row has its own."""
        if len(values) == 1:
            return literal(int(values[0]), 32)
        return f"{self.integers(name, values, note, 32)}[{row}]"


@dataclass(frozen=True)
class Vector:
    """A vector that is multiplied by codes, as a variable of a C function.

    Attributes:
        name: of the variable.
        size: of the vector.
        bits: width of the type that it is copied from.
        order: the order of its `Lanes`; None if it is not multiplied by codes and needs no copy.
        room: its size including the zeros that fill the last group.
    """

    name: str
    size: int
    bits: int
    order: int | None
    room: int

    @property
    def kind(self) -> str:
        """Its C type."""
        return signed(self.bits) if self.order is None else "int16_t"

    @property
    def declared(self) -> str:
        """The C declaration of its copy."""
        return f"int16_t {self.name}[{self.room}{' + SUM' if self.order else ''}];"

    def filled(self, source: str, constants: Constants) -> str:
        """Return the C statement that fills its copy."""
        assert self.order is not None
        lanes = Lanes(self.order, self.bits)
        constants.lanes.add(lanes)
        return f"{lanes.name}({source}, {self.size}u, {self.name}, {self.room}u);"

    def at(self, index: str) -> str:
        """Return the C expression of the entry at `index`."""
        return f"{self.name}[place_{self.order}({index})]" if self.order else f"{self.name}[{index}]"


def vector_for(name: str, size: int, bits: int, sums: Iterable[Sum]) -> Vector:
    """Return the vector in a layout that suits all sums in which it is used."""
    used = [one for one in sums if one.codes is not None]
    widths = {one.bits for one in used}
    if not used:
        return Vector(name, size, bits, None, size)
    narrow = len(widths) == 1 and widths <= set(NARROW) and all(one.width == 32 for one in used)
    step = max(group(width) for width in widths)
    return Vector(name, size, bits, widths.pop() if narrow else 0, -(-size // step) * step)


def sum_lines(constants: Constants, one: Sum, name: str, variable: str, vector: Vector) -> list[str]:
    """Define codes and biases of a sum, and return the C lines that compute it for the rows `row` and `other`."""
    start = ["0", "0"]
    if one.bias is not None:
        stored = constants.integers(f"bias_{name}", one.bias, f"bias of {one.name}")
        start = [f"{stored}[row]", f"{stored}[other]"]
    kind = signed(one.width)
    if one.codes is None:
        added = [f"{vector.at(row)} + {bias}" for row, bias in zip(("row", "other"), start, strict=True)]
        return [f"{kind} {variable}[2] = {{{added[0]}, {added[1]}}};"]
    kernel = Kernel(one.bits, one.width, vector.order == one.bits)
    constants.kernels.add(kernel)
    columns = one.codes.shape[1]
    codes, stride = constants.codes(f"codes_{name}", one), row_bytes(columns, one.bits)
    padded = -(-columns // group(one.bits)) * group(one.bits)
    return [
        f"{kind} {variable}[2] = {{{start[0]}, {start[1]}}};",
        f"{kernel.name}({codes} + row * {stride}u, (other - row) * {stride}u, {vector.name}, {padded}u, {variable});",
    ]
