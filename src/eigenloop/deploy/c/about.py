"""Documentation of an export: names and units of inputs and outputs in NAME.h, and README.md."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from eigenloop.deploy.c.qemu import Measured
from eigenloop.deploy.inputs import Tokens
from eigenloop.deploy.network import IntegerNetwork

#: Characters with a meaning in Markdown.
_MARKS = frozenset("|`<>[]*\\")


@dataclass(frozen=True)
class About:
    """Facts for the documentation of an export that are not in the network itself.

    Attributes:
        origin: a sentence that says where the network comes from.
        use: sentences that say when a sequence begins and when to read out.
        channels: names of the inputs.
        counts: counts per unit of the training data, for each channel.
        outputs: names of the outputs if they are values and not classes.
        measured: measurements in QEMU, one for each core.
    """

    origin: str = ""
    use: str = ""
    channels: Sequence[str] = ()
    counts: Sequence[float] = ()
    outputs: Sequence[str] = ()
    measured: Sequence[Measured] = ()


def notes(network: IntegerNetwork, about: About) -> list[str]:
    """Return what the inputs and outputs are, one line each, for NAME.h."""
    lines = [f"input {number}: {channel}, {unit}" for number, channel, unit in _inputs(about)]
    return lines + [f"output {number}: {name}, {value}" for number, name, value in _values(network, about)]


def readme(network: IntegerNetwork, name: str, classes: Sequence[str], about: About) -> str:
    """Return README.md: how to use the two files, inputs and outputs, bytes and operations."""
    parts = [
        f"# {name}",
        " ".join(
            one
            for one in (
                about.origin,
                "It computes in integers only: C99 that needs no library but memcpy and memset, written by eigenloop.",
                f"A firmware needs `{name}.h` and `{name}.c`.",
                f"`make check` builds them for this computer and feeds them with `{name}_vectors.h`: every sum must be "
                "that of the reference.",
            )
            if one
        ),
        _use(name, classes, about),
        _inputs_section(network, name, about),
        _outputs_section(network, classes, about),
        _sizes(network),
        _measured(about.measured),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _use(name: str, classes: Sequence[str], about: About) -> str:
    up = name.upper()
    names = f"static const char *const names[{up}_OUTPUTS] = {up}_CLASSES;\n" if classes else ""
    answer = "names[best]" if classes else "best"
    return f"""```c
#include "{name}.h"

{names}static {name}_state state; /* one for each stream: several run side by side */
static {name}_sum sums[{up}_OUTPUTS];
int i, best = 0;

{name}_init(&state);          /* a sequence begins */
{name}_step(&state, input);   /* {up}_INPUTS numbers, at every step */
{name}_output(&state, sums);  /* when an answer is wanted; the state stays as it is */
for (i = 1; i < {up}_OUTPUTS; i++)
    if (sums[i] > sums[best])
        best = i;             /* {answer} is the largest */
```

{about.use}
`{name}_step` returns 0, or 1 for an input that it does not take. Nothing is allocated, and no variable is kept but
yours: `{name}_state` is all that a stream needs.""".replace("\n\n\n", "\n\n")


def _inputs(about: About) -> list[tuple[str, str, str]]:
    """Return number, name and unit of every input that has a name."""
    counts = about.counts or [0.0] * len(about.channels)
    return [
        (str(number), channel, "" if not count else "whole units" if count == 1 else f"value times {count:.12g}")
        for number, (channel, count) in enumerate(zip(about.channels, counts, strict=True))
    ]


def _inputs_section(network: IntegerNetwork, name: str, about: About) -> str:
    inputs, up = network.inputs, name.upper()
    if isinstance(inputs, Tokens):
        return f"## Input\n\nA token, 0 to {len(inputs.table) - 1}."
    told = (
        "Whole numbers in 32 bits, as a sensor gives them, one of each channel. Normalisation is inside: mean and "
        "scale of the training data are folded into one multiplication, one addition and one shift of each channel."
        if inputs.counts
        else f"Codes: the value that the first layer takes divided by `{up}_INPUT_STEP`, to the nearest whole number, "
        f"from {inputs.format.low} to {inputs.format.high}."
    )
    if not about.channels:
        return f"## Input\n\n{told}"
    rows = "\n".join(f"| {number} | {_plain(channel)} | {unit} |" for number, channel, unit in _inputs(about))
    return (
        f"## Input\n\n{told} The values are those of the training data.\n\n"
        f"| input | channel | given as |\n|---|---|---|\n{rows}"
    )


def _values(network: IntegerNetwork, about: About) -> list[tuple[int, str, str]]:
    """Return number, name and formula (from the integer sum) of every output that is a value."""
    read = network.readout
    unit = read.state.step if read.sum is None else float(read.sum.units[0])
    divided = " / steps" if read.pool == "mean" else ""
    return [
        (number, name, f"{offset:.9g} + {unit * scale:.9g} sum{divided}")
        for number, (name, scale, offset) in enumerate(zip(about.outputs, read.scale, read.offset, strict=False))
    ]


def _outputs_section(network: IntegerNetwork, classes: Sequence[str], about: About) -> str:
    if classes:
        rows = "\n".join(f"| {number} | {_plain(one)} |" for number, one in enumerate(classes))
        return f"## Output\n\nThe class is the place of the largest sum.\n\n| output | class |\n|---|---|\n{rows}"
    rows = "\n".join(f"| {number} | {_plain(name)} | {value} |" for number, name, value in _values(network, about))
    return f"## Output\n\n| output | | value |\n|---|---|---|\n{rows}" if rows else ""


def _sizes(network: IntegerNetwork) -> str:
    report = network.report()
    stored = "\n".join(f"| {part.name} | {part.bytes:,} |" for part in report.size.parts)
    memory = "\n".join(f"| {part.name} | {part.bytes:,} |" for part in report.size.ram)
    return f"""## Bytes and operations

A time step has {report.products:,} products of codes and {report.rescalings:,} by a multiplier or gate; a read-out has
{report.readout_products:,} products of codes. Constants, {report.size.bytes:,} bytes together, code apart:

| stored | bytes |
|---|---|
{stored}

Memory, {report.size.ram_bytes:,} bytes together, of which the vectors of a step are on the stack:

| in memory | bytes |
|---|---|
{memory}"""


def _measured(measured: Sequence[Measured]) -> str:
    if not measured:
        return ""
    rows = "\n".join("| " + " | ".join(row) + " |" for row in measured_rows(measured))
    columns = " | ".join(MEASURED_COLUMNS)
    return f"""## Measured in QEMU

Flash is code, constants and the compiler's helpers (`arm-none-eabi-gcc -O2`); memory is the state, the deepest stack
and the sums. Instructions are what QEMU counts, not cycles: a core needs more of those. All sums of the test vectors
were compared with the reference.

| {columns} |
|---|{"---|" * (len(MEASURED_COLUMNS) - 1)}
{rows}"""


MEASURED_COLUMNS = ("core", "flash", "memory", "instructions a step", "a product", "reading out", "different sums")


def measured_rows(measured: Sequence[Measured]) -> list[list[str]]:
    """Return measurements as rows of `MEASURED_COLUMNS`."""
    return [
        [
            one.core,
            f"{one.flash:,} B",
            f"{one.ram:,} B",
            f"{one.instructions:,.0f}",
            f"{one.per_product:.2f}",
            f"{one.readout:,.0f}",
            f"{one.different} of {one.steps} steps",
        ]
        for one in measured
    ]


def _plain(text: str) -> str:
    """Return text from a data file with Markdown's special characters replaced by question marks."""
    return "".join(sign if sign.isprintable() and sign not in _MARKS else "?" for sign in text)
