"""FastGRNN: a readable reference with a hand-written backward pass (Kusupati et al. 2018, section 3.2).

    a = W h + U x                         one product for both
    z = sigmoid(a + b_z)                  the gate: share of h that is kept
    c = tanh(a + b_c)                     the candidate
    h' = (zeta (1 - z) + nu) * c + z * h  zeta and nu are two numbers between 0 and 1

The piecewise-linear form, which the paper uses for integer arithmetic, has clamp((v + 1) / 2, 0, 1) in place of the
sigmoid and clamp(v, -1, 1) in place of tanh.

Only the states are saved for the backward pass, which computes gate and candidate again from the previous states, in
one large product. For why these are operators see Note [One operator for the compiler].
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from eigenloop.recurrence.differentiation import differentiable, keep_states, kept_states
from eigenloop.recurrence.rounding import (
    NO_ROUNDING,
    Rounding,
    gate_to_grid,
    inside,
    rounded_input,
    slope_of_step,
    to_grid,
    unit_step,
)
from eigenloop.recurrence.time import multiplied, previous_states, steps, valid_steps


def fastgrnn(
    x: Tensor,
    W: Tensor,
    biases: Tensor,
    mixing: Tensor,
    h0: Tensor,
    lengths: Tensor | None = None,
    piecewise: bool = False,
    reverse: bool = False,
    *,
    input_weight: Tensor | None = None,
    rounding: Rounding | None = None,
) -> tuple[Tensor, Tensor]:
    """Run FastGRNN over time.

    Args:
        x: the input: (T, B, m); without `input_weight` the product U x: (T, B, n).
        W: the recurrent matrix: (n, n).
        biases: b_z and b_c: (2, n).
        mixing: zeta and nu: (2,).
        h0: initial state: (B, n).
        lengths: valid steps of each sequence, on the device of the input: (B,) int64, or None if all T are valid.
        piecewise: use the piecewise-linear sigmoid and tanh.
        reverse: run from the last valid step to the first.
        input_weight: U: (n, m) or None.
        rounding: round the input, the gate, the candidate and the state; `step` is that of the state.

    Returns:
        The states (T, B, n), zero at padded steps, and the final state (B, n).
    """
    if lengths is not None:  # values in the padding must not reach a gradient
        x = torch.where(valid_steps(lengths, len(x)), x, 0)
    x, rounding = rounded_input(x, rounding)
    bits, step, _ = rounding or NO_ROUNDING
    p = multiplied(x, input_weight, None)
    out, h_n = _fastgrnn(p, W, biases, mixing, h0, lengths, piecewise, reverse, step, bits)
    return out, h_n


def _squash_(z: Tensor, c: Tensor, piecewise: bool) -> None:
    """Apply the activations of gate and candidate in place."""
    if piecewise:
        z.add_(1).mul_(0.5).clamp_(0, 1)
        c.clamp_(-1, 1)
    else:
        z.sigmoid_()
        c.tanh_()


def _round_(z: Tensor, c: Tensor, bits: int) -> None:
    z.copy_(gate_to_grid(z, bits))
    c.copy_(to_grid(c, unit_step(bits), bits))


def _run_forward(
    projected: Tensor,
    W: Tensor,
    biases: Tensor,
    mixing: Tensor,
    h0: Tensor,
    lengths: Tensor | None,
    piecewise: bool,
    reverse: bool,
    step: Tensor | None,
    bits: int,
) -> tuple[Tensor, Tensor]:
    """Return the states and the final state."""
    valid = None if lengths is None else valid_steps(lengths, len(projected)).unbind()
    out = torch.empty_like(projected, memory_format=torch.contiguous_format)
    inputs, outputs = projected.unbind(), out.unbind()
    h, Wt, (b_z, b_c) = h0, W.mT, biases.unbind()
    # The calls cost more than the arithmetic, so there are few of them, and they reuse memory:
    # h' = (zeta + nu) c + z (h - zeta c).
    zeta, both = float(mixing[0]), float(mixing.sum())
    a, z, c = (torch.empty_like(h0, memory_format=torch.contiguous_format) for _ in range(3))
    for t in steps(len(inputs), reverse):
        torch.addmm(inputs[t], h, Wt, out=a)
        torch.add(a, b_z, out=z)
        torch.add(a, b_c, out=c)
        _squash_(z, c, piecewise)
        if step is not None:
            _round_(z, c, bits)
        torch.sub(h, c, alpha=zeta, out=a)
        new = torch.addcmul(c.mul_(both), z, a, out=outputs[t])
        if step is not None:
            new.copy_(to_grid(new, step, bits))
        if valid is None:
            h = new
        else:
            h = torch.where(valid[t], new, h)
            new.copy_(torch.where(valid[t], new, 0))
    return out, h.clone(memory_format=torch.contiguous_format)


def _run_backward(
    grad_out: Tensor | None,
    grad_h_n: Tensor | None,
    out: Tensor,
    projected: Tensor,
    W: Tensor,
    biases: Tensor,
    mixing: Tensor,
    h0: Tensor,
    lengths: Tensor | None,
    piecewise: bool,
    reverse: bool,
    step: Tensor | None,
    bits: int,
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor, Tensor]:
    """Return the gradients of projected, W, biases, mixing, h0 and the step (empty without a step)."""
    T = len(out)
    valid = None if lengths is None else valid_steps(lengths, T)

    # Repeat the forward pass for all steps at once.
    h = previous_states(out, h0, lengths, reverse)
    a = projected + h @ W.mT
    (b_z, b_c), (zeta, nu) = biases.unbind(), mixing.unbind()
    z, c = a + b_z, a + b_c
    inner_z, inner_c = z.abs() < 1, c.abs() < 1
    _squash_(z, c, piecewise)
    gate_slope, candidate_slope = (0.5 * inner_z, inner_c) if piecewise else (z * (1 - z), 1 - c.square())
    if step is not None:
        candidate_slope = candidate_slope * inside(c, unit_step(bits), bits)
        _round_(z, c, bits)

    # Factors from dL/dh' to the gradients of the arguments of z and c, of a, which is part of both, and of h.
    to_gate, to_candidate = (h - zeta * c) * gate_slope, (zeta * (1 - z) + nu) * candidate_slope
    to_a, to_h = to_gate + to_candidate, z
    to_step = None
    if step is not None:
        unrounded = (zeta * (1 - z) + nu) * c + z * h
        passes, to_step = inside(unrounded, step, bits), slope_of_step(unrounded, step, bits)
        to_gate, to_candidate, to_a, to_h = (one * passes for one in (to_gate, to_candidate, to_a, to_h))
        c = c * passes

    grad_new, grad_projected = torch.zeros_like(out), torch.zeros_like(out)  # the first is dL/dh' of every step
    if grad_out is not None and valid is not None:
        grad_out = torch.where(valid, grad_out, 0)
    given = None if grad_out is None else grad_out.unbind()
    to_a_at, to_h_at, new_at, projected_at = (one.unbind() for one in (to_a, to_h, grad_new, grad_projected))
    grad_h = torch.zeros_like(h0) if grad_h_n is None else grad_h_n
    for t in reversed(steps(T, reverse)):
        if given is not None:
            grad_h = grad_h + given[t]
        new = new_at[t].copy_(grad_h if valid is None else torch.where(valid[t], grad_h, 0))
        pulled = torch.addmm(new * to_h_at[t], torch.mul(new, to_a_at[t], out=projected_at[t]), W)
        grad_h = pulled if valid is None else torch.where(valid[t], pulled, grad_h)

    grad_W = grad_projected.flatten(0, 1).mT @ h.flatten(0, 1)
    grad_biases = torch.stack([(grad_new * slope).sum((0, 1)) for slope in (to_gate, to_candidate)])
    grad_mixing = torch.stack([(grad_new * (1 - z) * c).sum(), (grad_new * c).sum()])
    grad_step = out.new_zeros(0) if to_step is None else (grad_new * to_step).sum()
    final = grad_h.clone(memory_format=torch.contiguous_format)
    return grad_projected, grad_W, grad_biases, grad_mixing, final, grad_step


_forward = torch.library.custom_op("eigenloop::fastgrnn", _run_forward, mutates_args=())
_backward = torch.library.custom_op("eigenloop::fastgrnn_backward", _run_backward, mutates_args=())


@_forward.register_fake
def _forward_fake(projected: Tensor, W: Any, biases: Any, mixing: Any, h0: Tensor, *rest: Any) -> tuple[Tensor, Tensor]:
    return projected.new_empty(projected.shape), h0.new_empty(h0.shape)


@_backward.register_fake
def _backward_fake(
    grad_out: Any,
    grad_h_n: Any,
    out: Tensor,
    projected: Tensor,
    W: Tensor,
    biases: Tensor,
    mixing: Tensor,
    h0: Tensor,
    *rest: Any,
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor, Tensor]:
    *_, step, _ = rest
    return (
        projected.new_empty(projected.shape),
        W.new_empty(W.shape),
        biases.new_empty(biases.shape),
        mixing.new_empty(mixing.shape),
        h0.new_empty(h0.shape),
        out.new_empty(0 if step is None else ()),
    )


def _setup_context(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, ...]) -> None:
    *tensors, ctx.piecewise, ctx.reverse, step, ctx.bits = inputs
    ctx.set_materialize_grads(False)
    ctx.save_for_backward(keep_states(ctx, output[0]), step, *tensors)


def _pull_back(
    ctx: Any, run_backward: Callable[..., Any], grad_out: Tensor | None, grad_h_n: Tensor | None
) -> tuple[Tensor | None, ...]:
    if grad_out is None and grad_h_n is None:
        return (None,) * 10
    saved, step, *tensors = ctx.saved_tensors
    options = (ctx.piecewise, ctx.reverse, step, ctx.bits)
    out = kept_states(ctx, saved, lambda: _forward(*tensors, *options)[0])
    *grads, grad_step = run_backward(grad_out, grad_h_n, out, *tensors, *options)
    return (*grads, None, None, None, None if step is None else grad_step, None)


_fastgrnn = differentiable(_forward, _backward, _setup_context, _pull_back, (_run_forward, _run_backward))
