"""The report on an integer network: ranges, saturation, bytes, multiplications, worst-case sums."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from eigenloop.deploy.cell import IntegerCell
from eigenloop.deploy.formats import Format
from eigenloop.deploy.inputs import Tokens
from eigenloop.deploy.operations import Whole
from eigenloop.deploy.packing import group, row_bytes, spare_bytes
from eigenloop.deploy.statistics import Counted, Statistics
from eigenloop.deploy.sums import Sum, width_of
from eigenloop.quantization.size import Part, SizeReport

if TYPE_CHECKING:
    from eigenloop.deploy.network import IntegerNetwork


@dataclass(frozen=True)
class RangeRow:
    """The format of a quantity, and its saturation on the calibration data.

    Attributes:
        name: of the quantity.
        bits, step: the width of its codes, and the value of code 1.
        range: the magnitude for which the step was chosen.
        saturated, total: how many values were beyond the range, and how many there were.
    """

    name: str
    bits: int
    step: float
    range: float
    saturated: int
    total: int


@dataclass(frozen=True)
class SumRow:
    """A sum with its proved bounds and the values that occurred.

    Attributes:
        name: of its matrix.
        low, high: the proved bounds, which some input reaches.
        width: 32 or 64 bits.
        seen_low, seen_high: the smallest and the largest value on the calibration data.
    """

    name: str
    low: int
    high: int
    width: int
    seen_low: int
    seen_high: int


@dataclass(frozen=True)
class IntegerReport:
    """The figures of an integer network; `str` gives them as tables.

    Attributes:
        ranges: of input, hidden states and cell states.
        sums: of every matrix.
        size: bytes in flash and in RAM.
        products: multiplications of a code by a code in one time step, all layers.
        readout_products: multiplications of one read-out.
        rescalings: multiplications by multipliers, by gates and in tables in one time step.
        step_errors: for each layer a bound of the error that one time step adds to the state, in codes.
    """

    ranges: tuple[RangeRow, ...]
    sums: tuple[SumRow, ...]
    size: SizeReport
    products: int
    readout_products: int
    rescalings: int
    step_errors: tuple[float, ...]

    def __str__(self) -> str:
        """Return the tables."""
        width = max(len(name) for name in (*(row.name for row in self.ranges), *(row.name for row in self.sums)))
        lines = [f"{'':{width}}  {'bits':>4}  {'range':>10}  {'step':>10}  {'saturated':>16}"]
        for row in self.ranges:
            share = f"{row.saturated:,} of {row.total:,}"
            lines.append(f"{row.name:{width}}  {row.bits:>4}  {row.range:>10.4g}  {row.step:>10.4g}  {share:>16}")
        lines += ["", f"{'':{width}}  {'sums from':>16}  {'to':>16}  {'type':>6}  calibration"]
        for one in self.sums:
            kind, seen = f"int{one.width}", f"{one.seen_low:,} to {one.seen_high:,}"
            lines.append(f"{one.name:{width}}  {one.low:>16,}  {one.high:>16,}  {kind:>6}  {seen}")
        errors = ", ".join(f"{error:.2g}" for error in self.step_errors)
        lines += [
            "",
            f"a time step has {self.products:,} products of codes and {self.rescalings:,} by a multiplier or gate; a "
            f"read-out has {self.readout_products:,} products of codes",
            f"a step adds at most {errors} codes of error to the state",
            "",
            str(self.size),
        ]
        return "\n".join(lines)


def report_of(network: IntegerNetwork) -> IntegerReport:
    """Return the report on a network."""
    watch = network.calibration
    forms = [network.inputs.format, *(form for cell in network.cells for form in _formats(cell))]
    sums = [one for cell in network.cells for gate in cell.gates.values() for one in gate.sums]
    read = network.readout.sum
    return IntegerReport(
        ranges=tuple(_range(form, watch) for form in forms),
        sums=tuple(_sum(one, watch) for one in (*sums, *([] if read is None else [read]))),
        size=SizeReport(tuple(_stored(network)), tuple(_memory(network))),
        products=sum(cell.products for cell in network.cells),
        readout_products=0 if read is None else read.products,
        rescalings=sum(cell.rescalings for cell in network.cells),
        step_errors=tuple(cell.step_error for cell in network.cells),
    )


def _formats(cell: IntegerCell) -> list[Format]:
    forms = (cell.formats.state, cell.formats.cell, cell.formats.candidate)
    return [form for form in forms if form is not None]


def _range(form: Format, watch: Statistics) -> RangeRow:
    seen = watch.seen.get(form.name, Counted())
    return RangeRow(form.name, form.bits, form.step, form.range, seen.beyond, seen.total)


def _sum(one: Sum, watch: Statistics) -> SumRow:
    seen = watch.seen.get(one.name, Counted())
    return SumRow(one.name, *one.bounds, one.width, seen.low, seen.high)


def _stored(network: IntegerNetwork) -> Iterator[Part]:
    """Yield the parts in flash."""
    inputs = network.inputs
    if isinstance(inputs, Tokens):
        if not inputs.shared:
            yield _packed_part("embedding", inputs.table, inputs.format.bits)
    elif inputs.counts:
        yield Part("input multipliers", len(inputs.multiplier), 32, 0, added=True)
        yield Part("input offsets", len(inputs.offset), 64, 0, added=True)
    for cell in network.cells:
        yield from _stored_cell(cell)
    if network.table is not None:
        yield Part("table of tanh", len(network.table.entries), 16, 0, added=True)
    if network.readout.sum is not None:
        yield from _stored_sum(network.readout.sum)


def _stored_cell(cell: IntegerCell) -> Iterator[Part]:
    ending = cell.source.ending
    for name, gate in cell.gates.items():
        for one in gate.sums:
            yield from _stored_sum(one)
        if gate.threshold is not None:
            tail = ending + (f".{name}" if name else "")
            yield Part(f"threshold{tail}", len(gate.threshold), width_of(gate.threshold), 0)
    # A single multiplier for all rows is a constant in the code, and so are shifts.
    rows = sum(len(one) for gate in cell.gates.values() for one in gate.multipliers.values if len(one) > 1)
    if rows:
        yield Part(f"multipliers{ending}", rows, 32, 0, added=True)
    for name, form, values in zip(("h0", "c0"), cell.carried, cell.initial, strict=False):
        if values.any():
            yield Part(name + ending, len(values), 8 * form.bytes, 0)


def _stored_sum(one: Sum) -> Iterator[Part]:
    if one.codes is not None:
        yield _packed_part(one.name, one.codes, one.bits)
    if one.bias is not None:
        yield Part(f"bias of {one.name}", len(one.bias), one.bias_bits, 0)


def _packed_part(name: str, codes: Whole, bits: int) -> Part:
    """Describe packed codes, each row of which begins with a new byte."""
    rows, columns = codes.shape
    stored = rows * row_bytes(columns, bits) + spare_bytes(columns, bits)
    return Part(name, codes.size, bits, 0, spare=stored - math.ceil(codes.size * bits / 8))


def _memory(network: IntegerNetwork) -> Iterator[Part]:
    """Yield the parts in RAM: the state, the vectors that a time step needs, and the outputs."""
    carried = list(_carried(network))
    yield from carried
    widest = max(part.bits for part in carried) // 8
    if spare := -sum(part.bytes for part in carried) % widest:
        yield Part("end of the state", spare, 8, 0)
    yield Part("vectors of a step", max(map(_vectors, network.cells)), 16, 0)
    yield Part("input", network.cells[0].source.input_size, 8 * network.inputs.format.bytes, 0)
    readout = network.readout
    if readout.sum is not None:
        yield Part("outputs", len(readout.sum.row_bounds[0]), 64 if readout.pool == "mean" else readout.sum.width, 0)


def _carried(network: IntegerNetwork) -> Iterator[Part]:
    """Yield the parts that are kept between time steps."""
    for number, cell in enumerate(network.cells):
        for name, form in zip(("state", "cell"), cell.carried, strict=False):
            yield Part(f"{name} of layer {number}", cell.source.size, 8 * form.bytes, 0)
    readout, size = network.readout, network.cells[-1].source.size
    if readout.pool == "mean":
        yield Part("sum of states", size, 32, 0)
        yield Part("steps", 1, 32, 0)
    elif readout.pool == "max":
        yield Part("largest states", size, 8 * readout.state.bytes, 0)


def _vectors(cell: IntegerCell) -> int:
    """Return how many 16-bit numbers the vectors of a time step have, each padded to full groups."""
    numbers = 0
    for copies, size, sums in (
        (cell.scratch, cell.source.size, [gate.recurrent for gate in cell.gates.values()]),
        (1, cell.source.input_size, [gate.input for gate in cell.gates.values()]),
    ):
        groups = [group(one.bits) for one in sums if one.codes is not None]
        numbers += copies * math.ceil(size / max(groups)) * max(groups) if groups else 0
    return numbers
