"""Generate NAME.c of an integer network, and with it NAME.h (`eigenloop.deploy.c.header`)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from eigenloop.deploy.c import functions
from eigenloop.deploy.c.constants import Constants, sum_lines, vector_for
from eigenloop.deploy.c.header import Interface, header_of
from eigenloop.deploy.c.kernels import SWITCH, definitions
from eigenloop.deploy.c.layers import LayerWriter, both_rows, other_row, stored_bits
from eigenloop.deploy.c.text import array, signed
from eigenloop.deploy.inputs import Tokens
from eigenloop.deploy.network import IntegerNetwork
from eigenloop.deploy.packing import row_bytes
from eigenloop.deploy.sums import Sum


@dataclass(frozen=True)
class Source:
    """The contents of NAME.h and NAME.c, and the inputs and outputs on which they agree."""

    header: str
    code: str
    interface: Interface


def source_of(network: IntegerNetwork, name: str, classes: Sequence[str] = (), notes: Sequence[str] = ()) -> Source:
    """Return the C source of a network.

    Args:
        network: built by `eigenloop.deploy.integer`.
        name: the prefix of files and symbols.
        classes: names of the outputs.
        notes: lines on inputs and outputs for a comment in the header.
    """
    interface = Interface(network, name)
    return Source(header_of(interface, classes, notes), _Writer(interface).code(), interface)


class _Writer:
    """Writes NAME.c; constants are collected while the functions that need them are written."""

    def __init__(self, interface: Interface) -> None:
        self.network, self.name, self.interface = interface.network, interface.name, interface
        self.constants = Constants()
        self.form = interface.network.inputs.format
        self.size = interface.network.cells[0].source.input_size

    def code(self) -> str:
        """Return NAME.c."""
        layers = [
            LayerWriter(number, cell, self.constants, self.name).write()
            for number, cell in enumerate(self.network.cells)
        ]
        output, begin, enter = self._output(), self._init(), self._step()
        table = self.network.table
        helpers = [functions.SHIFTED, functions.LIMITED]
        if "tanh" in self.constants.functions:
            assert table is not None
            self.constants.arrays.append(array("uint16_t", "table", table.entries, 16, "table of tanh"))
            helpers.append(functions.tanh_of(table))
        chosen = {"sigmoid": functions.SIGMOID, "modrelu": functions.MODRELU, "leaky": functions.LEAKY}
        helpers += [text for key, text in chosen.items() if key in self.constants.functions]
        parts = [
            f"/* {self.name}: a recurrent network in whole numbers. Its arithmetic is that of docs/integers.md of\n"
            "   eigenloop; right shifts of negative numbers are arithmetic, as compilers for devices have them. */",
            f'#include "{self.name}.h"\n\n#include <string.h>\n',
            *([SWITCH] if any(lanes.order for lanes in self.constants.lanes) else []),
            *self.constants.arrays,
            *helpers,
            definitions(self.constants.kernels, self.constants.lanes, self._mean_width()),
            *layers,
            begin,
            enter,
            output,
        ]
        return "\n".join(parts)

    def _init(self) -> str:
        lines = ["memset(state, 0, sizeof *state);"]
        for number, cell in enumerate(self.network.cells):
            for letter, form, values in zip("hc", cell.carried, cell.initial, strict=False):
                if values.any():
                    note = f"{letter} of layer {number} at the start"
                    name = self.constants.integers(f"initial_{letter}_{number}", values, note, stored_bits(form))
                    lines.append(f"memcpy(state->{letter}_{number}, {name}, sizeof {name});")
        read, n = self.network.readout, self.network.cells[-1].source.size
        if read.pool == "max":
            low = -(2 ** (read.state.bits - 1))
            lines.insert(0, "uint32_t i;")
            lines.append(f"for (i = 0; i < {n}u; i++)\n        state->pooled[i] = {low};")
        body = "".join(f"    {line}\n" for line in lines)
        return f"void {self.name}_init({self.name}_state *state)\n{{\n{body}}}\n"

    def _step(self) -> str:
        up, n = self.name.upper(), self.network.cells[-1].source.size
        last, kind = len(self.network.cells) - 1, signed(stored_bits(self.form))
        declared, checks, lines, entered = [], [], [], "input"
        if self.interface.mean:
            checks.append(f"if (state->steps >= {up}_MOST_STEPS)\n        return 1;")
        inputs = self.network.inputs
        if isinstance(inputs, Tokens):
            checks.append(f"if (*input >= {up}_TOKENS)\n        return 1;")
            declared.append(f"{kind} codes[{self.size}];")
            entered = "codes"
            lines += self._look_up(inputs)
        elif self.interface.counts:
            declared += [f"{kind} codes[{self.size}];", "uint32_t i;"]
            entered = "codes"
            self.constants.integers("input_multipliers", inputs.multiplier, "input multipliers", 32)
            self.constants.integers("input_offsets", inputs.offset, "input offsets", 64)
            lines.append(
                f'/* docs/integers.md, "Input and read-out". */\n    for (i = 0; i < {self.size}u; i++)\n'
                f"        codes[i] = ({kind})limited(((int64_t)input[i] * input_multipliers[i] + input_offsets[i])\n"
                f"                                   >> {inputs.shift}, {self.form.low}, {self.form.high});"
            )
        for number in range(last + 1):
            source = entered if number == 0 else f"state->h_{number - 1}"
            lines.append(f"layer_{number}(state, {source});")
        if self.network.readout.pool in ("mean", "max"):
            if "uint32_t i;" not in declared:
                declared.append("uint32_t i;")
            taken = (
                f"state->pooled[i] += state->h_{last}[i];\n    state->steps++;"
                if self.interface.mean
                else f"if (state->h_{last}[i] > state->pooled[i])\n            state->pooled[i] = state->h_{last}[i];"
            )
            lines.append(f"for (i = 0; i < {n}u; i++)\n        {taken}")
        body = "".join(f"    {line}\n" for line in (*declared, *checks, *lines, "return 0;"))
        head = f"int {self.name}_step({self.name}_state *state, const {self.name}_input *input)\n"
        return head + "{\n" + body + "}\n"

    def _look_up(self, inputs: Tokens) -> list[str]:
        """Return the C lines that unpack the row of a token."""
        k, m = self.form.bits, self.size
        read = self.network.readout.sum
        name = "codes_readout"
        if not (inputs.shared and read is not None):
            name = "embedding"
            self.constants.arrays.append(array("uint8_t", name, inputs.packed(), 8, f"embedding: codes of {k} bits"))
        kind = signed(stored_bits(self.form))
        return [
            "{\n        uint32_t buffer = 0, have = 0, i;\n"
            f"        const uint8_t *p = {name} + *input * {row_bytes(m, k)}u;\n"
            f"        for (i = 0; i < {m}u; i++) {{\n"
            f"            for (; have < {k}u; have += 8u)\n                buffer |= (uint32_t)*p++ << have;\n"
            f"            codes[i] = ({kind})((int32_t)(buffer << {32 - k}) >> {32 - k});\n"
            f"            buffer >>= {k};\n            have -= {k}u;\n        }}\n    }}"
        ]

    def _mean_width(self) -> int | None:
        """Return the width of the codes that read out a mean; None if there is none."""
        read = self.network.readout.sum
        return read.bits if self.interface.mean and read is not None else None

    def _output(self) -> str:
        read, last, outputs = self.network.readout, len(self.network.cells) - 1, self.interface.outputs
        pooled = read.pool in ("mean", "max")
        vector = "state->pooled" if pooled else f"state->h_{last}"
        if read.sum is None:
            body = f"    uint32_t i;\n    for (i = 0; i < {outputs}u; i++)\n        sums[i] = {vector}[i];\n"
        elif self.interface.mean:
            body = self._mean_output(read.sum)
        else:
            q = vector_for("q", self.network.cells[-1].source.size, stored_bits(read.state), [read.sum])
            declared, called = sum_lines(self.constants, read.sum, "readout", "y", q)
            inner = [f"uint32_t other = {other_row(outputs)}, i;", declared, called]
            body = f"    {q.declared}\n    uint32_t row;\n    {q.filled(vector, self.constants)}\n"
            body += f"    for (row = 0; row < {outputs}u; row += 2u) {{\n"
            body += "".join(f"        {line}\n" for line in inner)
            body += both_rows(outputs, ["sums[row + i] = y[i];"], " " * 8) + "    }\n"
        note = '/* docs/integers.md, "Input and read-out". */\n'
        head = f"void {self.name}_output(const {self.name}_state *state, {self.name}_sum *sums)\n"
        return note + head + "{\n" + body + "}\n"

    def _mean_output(self, read: Sum) -> str:
        """Return the C lines that compute V times the sum of the states, plus the number of steps times the bias."""
        assert read.codes is not None
        columns, start = read.codes.shape[1], "0"
        if read.bias is not None:
            stored = self.constants.integers("bias_readout", read.bias, f"bias of {read.name}")
            start = f"(int64_t)state->steps * {stored}[i]"
        codes = self.constants.codes("codes_readout", read)
        row = f"{codes} + i * {row_bytes(columns, read.bits)}u"
        return (
            f"    uint32_t i;\n    for (i = 0; i < {self.interface.outputs}u; i++)\n"
            f"        sums[i] = row_of_mean({row}, state->pooled, {columns}u, {start});\n"
        )
