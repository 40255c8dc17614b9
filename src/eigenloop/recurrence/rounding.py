"""Rounding of states and gates to a grid at every time step, for a recurrence in few bits.

    q(v) = s k,  k = clamp(round(v / s), -2^(b-1), 2^(b-1) - 1)

round is to the nearest integer, halves up, floor(v / s + 1/2): one addition and one shift in integer arithmetic. v / s
is computed as v times 1 / s, with 1 / s rounded once. A gate lies in [0, 1] and has the codes 0 .. 2^(b-1) with the
step 2^-(b-1): it can be exactly 0 or 1, and 1 - u is exact. tanh lies in [-1, 1] and has the same step, so that 1
becomes 1 - 2^-(b-1).

In the backward pass q is the identity where v is not clamped and a constant elsewhere (straight-through). The step gets
the gradient of LSQ (Esser et al. 2020, eq. 3): dq/ds = k - v / s where v is not clamped, k elsewhere.

Note [A margin for halves]
    A product with gates, r h or u h + (1 - u) c, lies on a grid 2^(b-1) times as fine as that of the state. Halves are
    common there, and floating-point rounding error would decide whether they are rounded up or down. So a quarter of a
    fine step is added first: q is floor(v / s + 1/2 + 2^-(b+1)). In exact arithmetic the margin does not change the
    result, which is the one that the integer network computes (`eigenloop.deploy`); up to 10 bits, floating point
    always gives the same result.
    In the cell of an LSTM with tanh, f c + i g, the grids of c and g have unrelated steps. Halves hardly occur unless
    i g is zero, and a margin rounds some numbers up that should go down: with 2^-(b+1), 1 in 512 for 8 bits. So the
    margin is a 16th of that, 2^-(b+5), which for 8 bits is still larger than the floating-point error.

Note [The sign of a zero]
    The simple recurrence saves only its states and computes f'(z) from them. A small f(z) that is rounded to zero must
    not be mistaken for the zero of an inactive ReLU. So +0.0 stands for a small value rounded to zero, and -0.0 for a
    state with the derivative of zero itself: for ReLU and modReLU inactive units, for leaky ReLU those with z < 0.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch import Tensor


class Rounding(NamedTuple):
    """How a recurrence rounds.

    Attributes:
        bits: b, the bit width of states and gates.
        step: s of the state, a scalar tensor; in an LSTM, whose state lies in [-1, 1], s of the cell.
        input_step: s of the input, a scalar tensor; the input is rounded before the product with U. None: not rounded.
    """

    bits: int
    step: Tensor
    input_step: Tensor | None = None


#: Bits and steps for no rounding.
NO_ROUNDING = (0, None, None)


def ends(bits: int) -> tuple[int, int]:
    """Return the smallest and the largest code.

    >>> ends(8)
    (-128, 127)
    """
    return -(2 ** (bits - 1)), 2 ** (bits - 1) - 1


def unit_step(bits: int) -> float:
    """Return the step of values in [-1, 1] and of gates.

    >>> unit_step(8)
    0.0078125
    """
    return 2.0 ** (1 - bits)


def nearest(v: Tensor) -> Tensor:
    """Round to the nearest integer, halves up.

    >>> nearest(torch.tensor([0.5, -0.5, 1.5, 2.4]))
    tensor([1., 0., 2., 2.])
    """
    whole = v.floor()
    return torch.where(v - whole >= 0.5, whole + 1, whole)  # floor(v + 1/2) would be wrong where v + 1/2 is not exact


def scaled(value: Tensor, step: Tensor | float) -> Tensor:
    """Return v / s, computed in the same way as in the kernel."""
    return value * (step.reciprocal() if isinstance(step, Tensor) else 1 / step)


def gate_margin(bits: int) -> float:
    """Return the margin added to v / s of a product with gates before rounding; see Note [A margin for halves]."""
    return 2.0 ** -(bits + 1)


def to_grid(value: Tensor, step: Tensor | float, bits: int, margin: float = 0.0) -> Tensor:
    """Return q(v), with `margin` added to v / s before rounding."""
    return nearest(scaled(value, step) + margin).clamp(*ends(bits)) * step


def gate_to_grid(gate: Tensor, bits: int) -> Tensor:
    """Round a gate to 0 .. 2^(b-1) steps of 2^-(b-1)."""
    return nearest(scaled(gate, unit_step(bits))) * unit_step(bits)


def inside(value: Tensor, step: Tensor | float, bits: int, margin: float = 0.0) -> Tensor:
    """Return a mask of the values that are not clamped."""
    low, high = ends(bits)
    code = nearest(scaled(value, step) + margin)
    return (code >= low) & (code <= high)


def slope_of_step(value: Tensor, step: Tensor | float, bits: int, margin: float = 0.0) -> Tensor:
    """Return dq/ds."""
    v = scaled(value, step)
    code = nearest(v + margin).clamp(*ends(bits))
    return torch.where(inside(value, step, bits, margin), code - v, code)


Derivative = Callable[[Tensor, float], Tensor]


def state_to_grid(value: Tensor, step: Tensor, bits: int, derivative: Derivative, slope: float) -> Tensor:
    """Return q(f(z)) with f'(z) encoded in the sign of zeros; see Note [The sign of a zero]."""
    rounded = to_grid(value, step, bits)
    at_zero, above = (derivative(value.new_tensor(v), slope) for v in (0.0, torch.finfo(value.dtype).tiny))
    as_zero = (derivative(value, slope) == at_zero) & (at_zero != above)
    zeros = torch.where(as_zero, value.new_tensor(-0.0), value.new_tensor(0.0))
    return torch.where(rounded == 0, zeros, rounded)


def derivative_of_state(state: Tensor, step: Tensor, bits: int, derivative: Derivative, slope: float) -> Tensor:
    """Return dq(f(z)) / dz from the state alone; a state at an end of the range counts as clamped."""
    low, high = ends(bits)
    tiny = torch.finfo(state.dtype).tiny
    shown = torch.where((state == 0) & ~state.signbit(), tiny, state)
    return derivative(shown, slope) * ((state > low * step) & (state < high * step))


def slope_of_state(value: Tensor, state: Tensor, step: Tensor, bits: int) -> Tensor:
    """Return dq/ds of a state, from f(z) and the state; a state at an end of the range counts as clamped."""
    low, high = ends(bits)
    code = nearest(scaled(state, step))
    return torch.where((code > low) & (code < high), code - scaled(value, step), code)


class _Rounded(torch.autograd.Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(value: Tensor, step: Tensor, bits: int) -> Tensor:
        return to_grid(value, step, bits)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        value, step, ctx.bits = inputs
        ctx.save_for_backward(value, step)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, Tensor | None, None]:
        value, step = ctx.saved_tensors
        to_value = to_step = None
        if ctx.needs_input_grad[0]:
            to_value = gradients[0] * inside(value, step, ctx.bits)
        if ctx.needs_input_grad[1]:
            # Padded steps have gradient zero but may contain any value.
            slopes = torch.where(gradients[0] == 0, 0, slope_of_step(value, step, ctx.bits))
            to_step = (gradients[0] * slopes).sum()
        return to_value, to_step, None


def rounded(value: Tensor, step: Tensor, bits: int) -> Tensor:
    """Return q(v), differentiable in v and s; for initial states.

    >>> rounded(torch.tensor([0.3, -0.75, 900.0]), torch.tensor(0.5), 8)
    tensor([ 0.5000, -0.5000, 63.5000])
    """
    quantized: Tensor = _Rounded.apply(value, step, bits)
    return quantized


def rounded_input(x: Tensor, rounding: Rounding | None) -> tuple[Tensor, Rounding | None]:
    """Round the input outside of the recurrence; return it with the `Rounding` that is left for the recurrence."""
    if rounding is None or rounding.input_step is None:
        return x, rounding
    return rounded(x, rounding.input_step, rounding.bits), rounding._replace(input_step=None)
