"""Generate NAME.h of an integer network: its sizes, scales and types, and its three functions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from eigenloop.deploy.c.layers import stored_bits
from eigenloop.deploy.c.text import comment, signed, string
from eigenloop.deploy.inputs import Tokens
from eigenloop.deploy.network import IntegerNetwork


@dataclass(frozen=True)
class Interface:
    """Inputs and outputs of a network as C, on which both files agree; `name` is the prefix of files and symbols."""

    network: IntegerNetwork
    name: str

    @property
    def tokens(self) -> bool:
        """Whether the input is a token."""
        return isinstance(self.network.inputs, Tokens)

    @property
    def counts(self) -> bool:
        """Whether the inputs are counts of a sensor."""
        return not isinstance(self.network.inputs, Tokens) and self.network.inputs.counts

    @property
    def inputs(self) -> int:
        """The number of inputs of `step`."""
        return 1 if self.tokens else self.network.cells[0].source.input_size

    @property
    def input_bits(self) -> int:
        """Width of one of them: a code, a count, or an unsigned token."""
        return 32 if self.tokens or self.counts else stored_bits(self.network.inputs.format)

    @property
    def input_type(self) -> str:
        """The C type of one of them."""
        return "uint32_t" if self.tokens else signed(self.input_bits)

    @property
    def mean(self) -> bool:
        """Whether the mean of the states is read out."""
        return self.network.readout.pool == "mean"

    @property
    def outputs(self) -> int:
        """The number of outputs."""
        read = self.network.readout.sum
        return self.network.cells[-1].source.size if read is None else len(read.row_bounds[0])

    @property
    def output_bits(self) -> int:
        """Width of one of them."""
        read = self.network.readout.sum
        return 32 if read is None else 64 if self.mean else read.width


def header_of(interface: Interface, classes: Sequence[str] = (), notes: Sequence[str] = ()) -> str:
    """Return NAME.h; `notes` on inputs and outputs become a comment, one line each."""
    name, up, form = interface.name, interface.name.upper(), interface.network.inputs.format
    fields = "".join(f"    {line}\n" for line in _fields(interface))
    takes = (
        f"a token, 0 to {up}_TOKENS - 1"
        if interface.tokens
        else "counts of the sensor, one of each channel"
        if interface.counts
        else f"codes: value / {up}_INPUT_STEP to the nearest whole number, from {form.low} to {form.high}"
    )
    told = "\n   ".join(comment(line) for line in notes)
    divided = " divided by the number of steps" if interface.mean else ""
    return f"""/* {name}: a recurrent network in whole numbers, made by eigenloop: docs/integers.md. */
#ifndef {up}_H
#define {up}_H

#include <stdint.h>
{f"{chr(10)}/* {told} */{chr(10)}" if notes else ""}
{chr(10).join(_defines(interface))}
{_names(up, classes)}
typedef {interface.input_type} {name}_input; /* {takes} */
typedef {signed(interface.output_bits)} {name}_sum; /* an output; times {up}_OUTPUT_STEP{divided} it is the network's */

/* What is kept between steps; one for each stream. */
typedef struct {{
{fields}}} {name}_state;

#ifdef __cplusplus
extern "C" {{
#endif

/* Begin a sequence. */
void {name}_init({name}_state *state);
/* Take {up}_INPUTS numbers. Returns 0; or 1, and the state stays, for {_refused(interface)}. */
int {name}_step({name}_state *state, const {name}_input *input);
/* Read {up}_OUTPUTS sums; the class is the place of the largest. */
void {name}_output(const {name}_state *state, {name}_sum *sums);

#ifdef __cplusplus
}}
#endif

#endif
"""


def _defines(interface: Interface) -> list[str]:
    """Return the sizes and scales."""
    up, read, inputs = interface.name.upper(), interface.network.readout, interface.network.inputs
    lines = [f"#define {up}_INPUTS {interface.inputs}", f"#define {up}_OUTPUTS {interface.outputs}"]
    if isinstance(inputs, Tokens):
        lines.append(f"#define {up}_TOKENS {len(inputs.table)}")
    elif not inputs.counts:
        lines.append(f"#define {up}_INPUT_STEP {inputs.format.step!r}")
    unit = read.state.step if read.sum is None else float(read.sum.units[0])
    lines.append(f"#define {up}_OUTPUT_STEP {unit!r}")
    if interface.mean:
        lines.append(f"#define {up}_MOST_STEPS {min(read.most_steps, 2**31 - 1)}u")
    return lines


def _names(up: str, classes: Sequence[str]) -> str:
    """Return the names of the classes as an initialiser; empty where there are none."""
    if not classes:
        return ""
    listed = ", \\\n    ".join(string(one) for one in classes)
    note = "/* Initialiser for an array of the names of the classes, in the order of the outputs. */"
    return f"{note}\n#define {up}_CLASSES {{ \\\n    {listed} }}\n"


def _fields(interface: Interface) -> list[str]:
    """Return the members of the state's struct, the widest first, so that there is no padding between them."""
    network, fields = interface.network, []
    for number, cell in enumerate(network.cells):
        for letter, form in zip("hc", cell.carried, strict=False):
            fields.append((stored_bits(form), f"{letter}_{number}[{cell.source.size}];"))
    read, n = network.readout, network.cells[-1].source.size
    if interface.mean:
        fields.append((32, f"pooled[{n}]; /* the sum of the states so far */"))
    elif read.pool == "max":
        fields.append((stored_bits(read.state), f"pooled[{n}]; /* the largest codes so far */"))
    fields.sort(key=lambda one: -one[0])
    return [*(["uint32_t steps;"] if interface.mean else []), *(f"{signed(bits)} {name}" for bits, name in fields)]


def _refused(interface: Interface) -> str:
    reasons = ["a token that does not exist"] * interface.tokens + ["too many steps"] * interface.mean
    return " or ".join(reasons) or "nothing: every input is taken"
