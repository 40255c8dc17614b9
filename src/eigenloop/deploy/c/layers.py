"""One time step of each layer in C: docs/integers.md, "Cells"."""

from __future__ import annotations

from dataclasses import dataclass, field

from eigenloop.deploy.c.constants import Constants, Vector, sum_lines, vector_for
from eigenloop.deploy.c.text import literal, signed
from eigenloop.deploy.cell import IntegerCell
from eigenloop.deploy.formats import Format


def stored_bits(form: Format) -> int:
    """Return the width of the C type that holds a format's codes."""
    return 8 * form.bytes


def other_row(rows: int) -> str:
    """Return the C expression of the row after an even one; the even row itself if it is the last."""
    return "row + 1u" if rows % 2 == 0 else f"row + 1u < {rows}u ? row + 1u : row"


def both_rows(rows: int, lines: list[str], indent: str = "    ") -> str:
    """Return a C loop over a row and the next one, if there is one; `i` is 0 and 1."""
    end = "" if rows % 2 == 0 else f" && row + i < {rows}u"
    body = "".join(f"{indent}    {line}\n" for line in lines)
    return f"{indent}for (i = 0; i < 2u{end}; i++) {{\n{body}{indent}}}\n"


@dataclass
class LayerWriter:
    """Generates the C functions of one layer.

    Attributes:
        number: the index of the layer.
        cell: its integer cell.
        constants: collects its constants.
        prefix: the prefix of the state's type.
        functions: the functions generated up to now.
    """

    number: int
    cell: IntegerCell
    constants: Constants
    prefix: str
    functions: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.n = self.cell.source.size
        forms, gates = self.cell.formats, self.cell.gates
        self.state = signed(stored_bits(forms.state))
        self.h = vector_for("h", self.n, stored_bits(forms.state), [gate.recurrent for gate in gates.values()])
        size = self.cell.source.input_size
        self.x = vector_for("x", size, stored_bits(forms.entered), [gate.input for gate in gates.values()])
        self.scaling: dict[str, tuple[list[str], int]] = {}
        for name, scaling in self.cell.scalings.items():
            self.scaling[name] = [literal(int(value[0]), 32) for value in scaling.values], scaling.shift
        self.shared = self.cell.source.kind == "fastgrnn"  # one total for a gate and a candidate
        for name in gates:
            self._gate(name)

    def write(self) -> str:
        """Return the functions of the layer; the last one computes a time step."""
        bodies = {"simple": self._simple, "gated": self._gated, "lstm": self._lstm, "fastgrnn": self._fastgrnn}
        body = bodies[self.cell.source.kind]()
        note = f'/* Layer {self.number}, {self.cell.source.kind}: docs/integers.md, "Cells". */\n'
        given = "x" if self.x.order is None else "input"
        kind = signed(stored_bits(self.cell.formats.entered))
        head = f"static void layer_{self.number}({self.prefix}_state *s, const {kind} *{given})\n"
        return "\n".join([*self.functions, note + head + "{\n" + body + "}\n"])

    # ---------------------------------------------------------------- pre-activations and activations

    def _gate(self, name: str) -> None:
        """Add the function that computes two rows of a gate: docs/integers.md, "A pre-activation", "Activations"."""
        gate, suffix = self.cell.gates[name], f"{self.number}_{name}" if name else str(self.number)
        title = f"multipliers of {gate.recurrent.name}"
        first, *identity, last = (
            self.constants.factor(f"multipliers_{place}_{suffix}", values, f"{title}, {place}", "at")
            for place, values in zip(self._places(len(gate.multipliers.values)), gate.multipliers.values, strict=True)
        )
        lines = sum_lines(self.constants, gate.recurrent, f"W_{suffix}", "A", self.h)
        lines += sum_lines(self.constants, gate.input, f"U_{suffix}", "B", self.x)
        factor = "" if gate.gate_bits is None else " * r[i]"
        terms = [f"(int64_t)A[i]{factor} * {first}"]
        terms += [f"(int64_t){self.h.at('at')}{factor} * {one}" for one in identity]
        terms += [f"(int64_t)B[i] * {last}"]
        threshold = ""
        if gate.threshold is not None and (self.shared or self.cell.source.activation == "modrelu"):
            values = self.constants.integers(
                f"threshold_{suffix}", gate.threshold, f"thresholds of {gate.recurrent.name}"
            )
            threshold = f"(int64_t){values}[at] * {first if gate.gate_bits is None else last}"
        inside = [f"int64_t a = {' + '.join(terms)};"]
        if self.shared:
            inside += [f"z[i] = {self._shared_gate(gate.shift)};", f"a += {threshold};"]
        inside.append(f"out[i] = {self._value(name, gate.shift, threshold)};")
        if any("at]" in line or "(at)" in line for line in inside):
            inside.insert(0, "uint32_t at = i ? other : row;")
        declared = [line for line in lines if not line.startswith("rows")]
        called = [line for line in lines if line.startswith("rows")]
        begin = [f"uint32_t other = {other_row(self.n)}, i;", *declared, *called]
        gated = "int32_t *z, " if self.shared else "" if gate.gate_bits is None else "const int32_t *r, "
        head = f"const {self.h.kind} *h, const {self.x.kind} *x, uint32_t row, {gated}int32_t *out"
        body = "".join(f"    {line}\n" for line in begin) + both_rows(2, inside)
        note = '/* Two rows: docs/integers.md, "A pre-activation" and "Activations". */\n'
        self.functions.append(f"{note}static void {self._function(name)}({head})\n{{\n{body}}}\n")

    def _function(self, name: str) -> str:
        return f"{name or 'unit'}_{self.number}"

    @staticmethod
    def _places(count: int) -> tuple[str, ...]:
        """Return names for the multipliers of a total: of A, of the identity if there is one, of B."""
        return ("W", "U") if count == 2 else ("W", "I", "U")

    def _value(self, name: str, shift: int, threshold: str) -> str:
        """Return the C expression of the result for a total `a`: a gate, or the activation saturated to its format."""
        if name not in ("", "candidate", "cell"):
            self.constants.functions |= {"tanh", "sigmoid"}
            return f"sigmoid(shifted(a, {shift}u), {self.cell.formats.bits}u)"
        kind, form = self.cell.source.activation, self.cell._activated
        if kind == "tanh":
            self.constants.functions.add("tanh")
            (M,), s = self.scaling["tanh"]
            value = f"shifted((int64_t)tanh_of(shifted(a, {shift}u)) * {M}, {s}u)"
        elif kind == "modrelu":
            self.constants.functions.add("modrelu")
            value = f"modrelu(a, {threshold or '0'}, {shift}u)"
        elif kind == "leaky_relu":
            self.constants.functions.add("leaky")
            (M,), s = self.scaling["slope"]
            value = f"leaky(a, {shift}u, {M}, {s}u)"
        elif kind == "piecewise":
            value = f"shifted(shifted(a, {shift}u), {17 - self.cell.formats.bits}u)"
        else:
            value = f"shifted(a, {shift}u)"
        return f"limited({value}, {0 if kind == 'relu' else form.low}, {form.high})"

    def _shared_gate(self, shift: int) -> str:
        """Return the C expression of FastGRNN's gate for a total `a` on the scale of the candidate."""
        bits = self.cell.formats.bits
        if self.cell.source.activation == "piecewise":
            return f"limited(shifted(shifted(a, {shift}u) + 65536, {18 - bits}u), 0, {1 << (bits - 1)})"
        self.constants.functions |= {"tanh", "sigmoid"}
        return f"sigmoid(shifted(shifted(a, {shift}u), 1u), {bits}u)"

    # ---------------------------------------------------------------- cells

    def _begin(self, outputs: str, *more: str) -> str:
        """Return the declarations and copies of the vectors, and the declarations of the gates' results."""
        k = self.number
        copied = [(self.h, f"s->h_{k}"), (self.x, "input")]
        taken = [(vector, source) for vector, source in copied if vector.order is not None]
        lines = [*(vector.declared for vector, _ in taken), *more, f"int32_t {outputs};", "uint32_t row, i;"]
        lines += [vector.filled(source, self.constants) for vector, source in taken]
        return "".join(f"    {line}\n" for line in lines)

    def _pairs(self, calls: list[str], lines: list[str]) -> str:
        """Return the loop over pairs of rows: `calls` are made once per pair, `lines` run for each row."""
        body = "".join(f"        {line}\n" for line in calls) + both_rows(self.n, lines, " " * 8)
        return f"    for (row = 0; row < {self.n}u; row += 2u) {{\n{body}    }}\n"

    def _call(self, name: str, *more: str) -> str:
        vector = "kept" if name == "candidate" and self.cell.source.reset == "before" else "h"
        return f"{self._function(name)}({', '.join([vector, 'x', 'row', *more])});"

    def _simple(self) -> str:
        line = f"s->h_{self.number}[row + i] = ({self.state})out[i];"
        return self._begin("out[2]") + self._pairs([self._call("", "out")], [line])

    def _gated(self) -> str:
        half, shift = 1 << (self.cell.formats.bits - 2), self.cell.formats.bits - 1
        own, one = f"s->h_{self.number}[row + i]", 1 << shift
        weights = ("u[i]", f"({one} - u[i])")
        keep, other = weights if self.cell.source.update == "keep" else weights[::-1]
        blend = f"{own} = ({self.state})(({keep} * {own} + {other} * c[i] + {half}) >> {shift});"
        if self.cell.source.reset == "after":
            calls = [self._call("reset", "r"), self._call("update", "u"), self._call("candidate", "r", "c")]
            return self._begin("r[2], u[2], c[2]") + self._pairs(calls, [blend])
        kept = Vector("kept", self.n, self.h.bits, self.h.order, self.h.room)
        reset = f"{kept.at('row + i')} = (int16_t)((r[i] * {own} + {half}) >> {shift});"
        first = "    memset(kept, 0, sizeof kept);\n" + self._pairs([self._call("reset", "r")], [reset])
        if self.h.order:
            first += f"    add_up(kept, {kept.room}u);\n"
        second = self._pairs([self._call("update", "u"), self._call("candidate", "c")], [blend])
        return self._begin("r[2], u[2], c[2]", kept.declared) + first + second

    def _lstm(self) -> str:
        k, cell, state = self.number, self.cell.formats.cell, self.cell.formats.state
        assert cell is not None
        (kept, written), cell_shift = self.scaling["cell"]
        (argument,), argument_shift = self.scaling["argument"]
        (out,), out_shift = self.scaling["state"]
        own, carried = f"s->c_{k}[row + i]", signed(stored_bits(cell))
        calls = [
            self._call(name, variable)
            for name, variable in (("input", "in"), ("forget", "f"), ("output", "o"), ("cell", "g"))
        ]
        lines = [
            "/* f c and i g are below 2^31: a gate is at most 2^15, and so are the others. */",
            f"int64_t a = (int64_t)(f[i] * {own}) * {kept} + (int64_t)(in[i] * g[i]) * {written};",
            f"int32_t new = limited(shifted(a, {cell_shift}u), {cell.low}, {cell.high});",
            f"int32_t y = tanh_of(shifted((int64_t)new * {argument}, {argument_shift}u));",
            f"{own} = ({carried})new;",
            f"a = shifted((int64_t)(o[i] * y) * {out}, {out_shift}u);",
            f"s->h_{k}[row + i] = ({self.state})limited(a, {state.low}, {state.high});",
        ]
        return self._begin("in[2], f[2], o[2], g[2]") + self._pairs(calls, lines)

    def _fastgrnn(self) -> str:
        state, one = self.cell.formats.state, 1 << (self.cell.formats.bits - 1)
        (kept, written, added), shift = self.scaling["state"]
        own = f"s->h_{self.number}[row + i]"
        lines = [
            "/* z h and (1 - z) c are below 2^31: a gate is at most 2^15, and so are the others. */",
            f"int64_t a = (int64_t)(z[i] * {own}) * {kept} + (int64_t)(({one} - z[i]) * c[i]) * {written};",
            f"a += (int64_t)c[i] * {added};",
            f"{own} = ({self.state})limited(shifted(a, {shift}u), {state.low}, {state.high});",
        ]
        return self._begin("z[2], c[2]") + self._pairs([self._call("", "z", "c")], lines)
