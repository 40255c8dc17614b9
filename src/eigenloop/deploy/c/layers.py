"""One step of each layer in C: docs/integers.md, "Cells"."""

from __future__ import annotations

from dataclasses import dataclass, field

from eigenloop.deploy.c.constants import Constants, Scalings, sum_expression
from eigenloop.deploy.c.text import signed
from eigenloop.deploy.cell import IntegerCell
from eigenloop.deploy.formats import Format


def stored_bits(form: Format) -> int:
    """Return the bits of the type that holds a format's codes."""
    return 8 * form.bytes


@dataclass
class LayerWriter:
    """Writes the functions of one layer.

    Attributes:
        number: of the layer.
        cell: it.
        constants: where its numbers are defined.
        prefix: of the state's type.
    """

    number: int
    cell: IntegerCell
    constants: Constants
    prefix: str
    scalings: Scalings = field(default_factory=Scalings)
    functions: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.n = self.cell.source.size
        self.h, self.x = (signed(stored_bits(form)) for form in (self.cell.formats.state, self.cell.formats.entered))
        self.shift_of: dict[str, str] = {}
        self.threshold_of: dict[str, str] = {}
        for name in self.cell.gates:
            self._total(name)
        self.scaling: dict[str, tuple[list[str], str]] = {}
        for name, scaling in self.cell.scalings.items():
            places, shift = self.scalings.add(scaling)
            self.scaling[name] = [self._multiplier(place) for place in places], self._shift(shift)

    def write(self) -> str:
        """Return the functions of the layer, the last of which makes a step."""
        bodies = {"simple": self._simple, "gated": self._gated, "lstm": self._lstm, "fastgrnn": self._fastgrnn}
        body = bodies[self.cell.source.kind]()
        self.scalings.define(self.constants, self.number)
        note = f'/* Layer {self.number}, {self.cell.source.kind}: docs/integers.md, "Cells". */\n'
        head = f"static void layer_{self.number}({self.prefix}_state *s, const {self.x} *x)\n"
        return "\n".join([*self.functions, note + head + "{\n" + body + "}\n"])

    # ---------------------------------------------------------------- pieces

    def _multiplier(self, place: tuple[int, bool]) -> str:
        at, rows = place
        index = (f"{at}u + i" if at else "i") if rows else str(at)
        return f"multipliers_{self.number}[{index}]"

    def _shift(self, place: int) -> str:
        return f"shifts_{self.number}[{place}]"

    def _total(self, name: str) -> None:
        """Write the function of a pre-activation's total: docs/integers.md, "A pre-activation"."""
        gate, suffix = self.cell.gates[name], f"{self.number}_{name}" if name else str(self.number)
        places, shift = self.scalings.add(gate.multipliers)
        first, *identity, last = (self._multiplier(place) for place in places)
        self.shift_of[name] = self._shift(shift)
        state, entered = (stored_bits(form) for form in (self.cell.formats.state, self.cell.formats.entered))
        A = sum_expression(self.constants, gate.recurrent, f"W_{suffix}", "h", state)
        B = sum_expression(self.constants, gate.input, f"U_{suffix}", "x", entered)
        added = self.cell.source.activation == "modrelu" or self.cell.source.kind == "fastgrnn"
        if gate.threshold is not None and added:
            values = self.constants.whole(f"threshold_{suffix}", gate.threshold, f"thresholds of {gate.recurrent.name}")
            home = first if gate.gate_bits is None else last
            self.threshold_of[name] = f"(int64_t){values}[i] * {home}"
        factor = "" if gate.gate_bits is None else " * r"
        terms = [f"(int64_t)A{factor} * {first}"]
        terms += [f"(int64_t)h[i]{factor} * {one}" for one in identity]
        terms += [f"(int64_t)B * {last}"]
        extra = "" if gate.gate_bits is None else ", int32_t r"
        self.functions.append(
            f"static int64_t total_{suffix}(const {self.h} *h, const {self.x} *x, uint32_t i{extra})\n{{\n"
            f"    {signed(gate.recurrent.width)} A = {A};\n"
            f"    {signed(gate.input.width)} B = {B};\n"
            f"    return {' + '.join(terms)};\n}}\n"
        )

    def _sigmoid(self, name: str) -> str:
        self.constants.functions |= {"tanh", "sigmoid"}
        return (
            f"sigmoid(shifted(total_{self.number}_{name}(h, x, i), {self.shift_of[name]}), {self.cell.formats.bits}u)"
        )

    def _activated(self, name: str, total: str) -> str:
        """Return the activation of a total, saturated to its format."""
        kind, shift, form = self.cell.source.activation, self.shift_of[name], self.cell._activated
        if kind == "tanh":
            self.constants.functions.add("tanh")
            (M,), s = self.scaling["tanh"]
            value = f"shifted((int64_t)tanh_of(shifted({total}, {shift})) * {M}, {s})"
        elif kind == "modrelu":
            self.constants.functions.add("modrelu")
            value = f"modrelu({total}, {self.threshold_of[name]}, {shift})"
        elif kind == "leaky_relu":
            self.constants.functions.add("leaky")
            (M,), s = self.scaling["slope"]
            value = f"leaky({total}, {shift}, {M}, {s})"
        else:
            value = f"shifted({total}, {shift})"
        low = 0 if kind == "relu" else form.low
        return f"limited({value}, {low}, {form.high})"

    # ---------------------------------------------------------------- cells

    def _loop(self, lines: list[str]) -> str:
        body = "".join(f"        {line}\n" for line in lines)
        return f"    for (i = 0; i < {self.n}u; i++) {{\n{body}    }}\n"

    def _begin(self, *more: str) -> str:
        k = self.number
        lines = [f"const {self.h} *h = s->h_{k};", f"{self.h} next[{self.n}];", *more, "uint32_t i;"]
        return "".join(f"    {line}\n" for line in lines)

    def _end(self) -> str:
        return f"    memcpy(s->h_{self.number}, next, sizeof next);\n"

    def _simple(self) -> str:
        value = self._activated("", f"total_{self.number}(h, x, i)")
        return self._begin() + self._loop([f"next[i] = ({self.h}){value};"]) + self._end()

    def _gated(self) -> str:
        k, half, shift = self.number, 1 << (self.cell.formats.bits - 2), self.cell.formats.bits - 1
        one, reset = 1 << shift, self._sigmoid("reset")
        keep = "u" if self.cell.source.update == "keep" else f"({one} - u)"
        other = f"({one} - u)" if self.cell.source.update == "keep" else "u"
        blend = f"next[i] = ({self.h})(({keep} * h[i] + {other} * c + {half}) >> {shift});"
        update = f"int32_t u = {self._sigmoid('update')};"
        if self.cell.source.reset == "before":
            # `total` names its vector h; here it is the reset state, all of which W needs.
            candidate = self._activated("candidate", f"total_{k}_candidate(kept, x, i)")
            first = self._loop([f"int32_t r = {reset};", f"kept[i] = ({self.h})((r * h[i] + {half}) >> {shift});"])
            second = self._loop([update, f"int32_t c = {candidate};", blend])
            return self._begin(f"{self.h} kept[{self.n}];") + first + second + self._end()
        candidate = self._activated("candidate", f"total_{k}_candidate(h, x, i, r)")
        lines = [f"int32_t r = {reset};", update, f"int32_t c = {candidate};", blend]
        return self._begin() + self._loop(lines) + self._end()

    def _lstm(self) -> str:
        k, cell = self.number, self.cell.formats.cell
        assert cell is not None
        (kept, written), cell_shift = self.scaling["cell"]
        (argument,), argument_shift = self.scaling["argument"]
        (out,), out_shift = self.scaling["state"]
        state = self.cell.formats.state
        gates = [f"int32_t {name[0]} = {self._sigmoid(name)};" for name in ("input", "forget", "output")]
        gates[0] = gates[0].replace("int32_t i =", "int32_t in =")
        lines = [
            *gates,
            f"int32_t g = {self._activated('cell', f'total_{k}_cell(h, x, i)')};",
            "/* f c and i g are below 2^31: a gate is at most 2^15, and so are the others. */",
            f"int64_t a = (int64_t)(f * c[i]) * {kept} + (int64_t)(in * g) * {written};",
            f"int32_t y = 0, new = limited(shifted(a, {cell_shift}), {cell.low}, {cell.high});",
            f"y = tanh_of(shifted((int64_t)new * {argument}, {argument_shift}));",
            f"c[i] = ({signed(stored_bits(cell))})new;",
            f"next[i] = ({self.h})limited(shifted((int64_t)(o * y) * {out}, {out_shift}), {state.low}, {state.high});",
        ]
        return self._begin(f"{signed(stored_bits(cell))} *c = s->c_{k};") + self._loop(lines) + self._end()

    def _fastgrnn(self) -> str:
        k, bits, state, c = self.number, self.cell.formats.bits, self.cell.formats.state, self.cell._activated
        one, shift = 1 << (bits - 1), self.shift_of[""]
        (kept, written, added), mixed = self.scaling["state"]
        if self.cell.source.activation == "piecewise":
            gate = f"limited(shifted(shifted(a, {shift}) + 65536, {18 - bits}u), 0, {one})"
            candidate = f"limited(shifted(shifted(b, {shift}), {17 - bits}u), {c.low}, {c.high})"
        else:
            self.constants.functions |= {"tanh", "sigmoid"}
            gate = f"sigmoid(shifted(shifted(a, {shift}), 1u), {bits}u)"
            candidate = self._activated("", "b")
        lines = [
            f"int64_t a = total_{k}(h, x, i), b = a + {self.threshold_of['']};",
            f"int32_t z = {gate};",
            f"int32_t c = {candidate};",
            "/* z h and (1 - z) c are below 2^31: a gate is at most 2^15, and so are the others. */",
            f"a = (int64_t)(z * h[i]) * {kept} + (int64_t)(({one} - z) * c) * {written} + (int64_t)c * {added};",
            f"next[i] = ({self.h})limited(shifted(a, {mixed}), {state.low}, {state.high});",
        ]
        return self._begin() + self._loop(lines) + self._end()
