"""Pre-activations W h + U x + b from two integer sums, rounded at most once."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from eigenloop.deploy.describing import Gate
from eigenloop.deploy.formats import Format
from eigenloop.deploy.multipliers import Multipliers, multipliers
from eigenloop.deploy.operations import Whole, accumulated
from eigenloop.deploy.statistics import Statistics
from eigenloop.deploy.sums import Sum, on_scale, sum_of

#: The value of code 1 as the argument of tanh, and of the sigmoid, which looks up tanh at half its argument.
TANH_STEP, SIGMOID_STEP = Fraction(1, 2**16), Fraction(1, 2**15)


@dataclass(frozen=True, eq=False)
class Preactivation:
    """The 64-bit total a = A M_A + q M_I + B M_B; a / 2^shift is the pre-activation on the scale of the activation.

    A = C_W q + b and B = C_U x are the sums; q M_I is the identity part of a matrix quantized as I + q(W - I). With a
    reset gate after the product, A and q are first multiplied by the gate's code.

    Attributes:
        recurrent: A, for the state or for the state times the reset gate.
        input: B.
        around_identity: whether there is an identity part, and so an M_I.
        multipliers: M_A, M_I if there is one, and M_B.
        gate_bits: width of the reset gate that multiplies A; None if there is none.
        threshold: modReLU's b on the scale of A, or of B if A is multiplied by a gate; (n,) or None.
        error: the largest distance of a / 2^shift, before rounding, from the real pre-activation, in codes.
    """

    recurrent: Sum
    input: Sum
    around_identity: bool
    multipliers: Multipliers
    gate_bits: int | None
    threshold: Whole | None
    error: float

    def total(self, q: Whole, x: Whole, gate: Whole | None = None, watch: Statistics | None = None) -> Whole:
        """Return the totals a of a batch, (B, n)."""
        A, B = self.recurrent(q, watch), self.input(x, watch)
        first, *identity, last = self.multipliers.values
        terms = [(A, first), *((q, M) for M in identity)]
        if gate is not None:
            terms = [(gate * value, M) for value, M in terms]
        return accumulated([*terms, (B, last)])

    @property
    def shift(self) -> int:
        """The shift from the scale of a to that of the activation."""
        return self.multipliers.shift

    @property
    def threshold_total(self) -> Whole:
        """modReLU's threshold on the scale of a."""
        assert self.threshold is not None
        return self.threshold * self.multipliers.values[0 if self.gate_bits is None else -1]

    @property
    def sums(self) -> tuple[Sum, Sum]:
        """A and B."""
        return self.recurrent, self.input


def preactivation(
    gate: Gate, ending: str, state: Format, entered: Format, step: Fraction, gate_bits: int | None, widen: bool
) -> Preactivation:
    """Return the integer pre-activation of a gate.

    Args:
        gate: its codes and biases.
        ending: the suffix of the layer's parameter names.
        state: the format of the state.
        entered: the format of the input.
        step: the value of code 1 of the result.
        gate_bits: width of the gate that multiplies W h + b_hn; None if there is none.
        widen: whether sums may be int64.
    """
    tail = ending + (f".{gate.name}" if gate.name else "")
    # The bias is added to W h, the sum that every cell has, unless a gate would multiply it there.
    inner, outer = (gate.bias, None) if gate_bits is None else (gate.inner_bias, gate.bias)
    recurrent = sum_of(f"recurrent{tail}", gate.W, state, inner, widen)
    entering = sum_of(f"weight_ih{tail}", gate.U, entered, outer, widen)
    threshold, threshold_error, room = None, 0.0, [0, 0]
    if gate.threshold is not None:
        home = recurrent if gate_bits is None else entering
        threshold, threshold_error = on_scale(gate.threshold, home.units)
        room[0 if home is recurrent else 1] = int(np.abs(threshold).max(initial=0))
    one = 1 if gate_bits is None else 2 ** (gate_bits - 1)
    factors = [tuple(factor / one for factor in recurrent.factors(step))]
    bounds = [(recurrent.largest + room[0]) * one]
    if gate.W.around_identity:
        divisor = 1 if gate.W.divisor is None else Fraction(float(gate.W.divisor))
        factors.append((state.exact_step / divisor / step / one,))
        bounds.append(state.largest * one)
    factors.append(entering.factors(step))
    bounds.append(entering.largest + room[1])
    scaling = multipliers(factors, bounds, f"recurrent{tail}")
    error = scaling.error
    error += recurrent.bias_error * float(max(factors[0])) * one + entering.bias_error * float(max(factors[-1]))
    error += threshold_error * float(max(factors[0] if gate_bits is None else factors[-1]))
    return Preactivation(recurrent, entering, gate.W.around_identity, scaling, gate_bits, threshold, error)
