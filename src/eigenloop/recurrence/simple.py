"""The simple recurrence h_t = f(W h_{t-1} + p_t): a readable reference with a hand-written backward pass.

p_t = U x_t + input_bias is computed for all steps at once, so that one step is one product. The backward pass collects
the gradients of all pre-activations, step by step, and computes dW as one large product at the end.

For why this is an operator see Note [One operator for the compiler].
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from eigenloop.recurrence import kernel
from eigenloop.recurrence.activations import ACTIVATIONS, complex_modrelu_backward
from eigenloop.recurrence.differentiation import differentiable, keep_states, kept_states
from eigenloop.recurrence.fused_complex import fused_complex
from eigenloop.recurrence.fused_simple import fused_simple
from eigenloop.recurrence.renamed import takes_projected
from eigenloop.recurrence.rounding import (
    NO_ROUNDING,
    Rounding,
    derivative_of_state,
    rounded_input,
    slope_of_state,
    state_to_grid,
)
from eigenloop.recurrence.time import multiplied, previous_states, steps, valid_steps


@takes_projected
def simple(
    x: Tensor,
    W: Tensor,
    bias: Tensor | None,
    h0: Tensor,
    lengths: Tensor | None = None,
    activation: str = "modrelu",
    reverse: bool = False,
    *,
    negative_slope: float = 0.01,
    input_weight: Tensor | None = None,
    input_bias: Tensor | None = None,
    rounding: Rounding | None = None,
) -> tuple[Tensor, Tensor]:
    """Run h_t = f(W h_{t-1} + p_t) over time.

    On the CPU this calls the compiled kernel, elsewhere the reference path below. The kernel is faster if it computes
    p itself: pass x and `input_weight`.

    Args:
        x: the input: (T, B, m); without `input_weight` the product U x: (T, B, n).
        W: recurrent matrix in column convention: (n, n).
        bias: modReLU's b, or added to z for every other activation: (n,) or None.
        h0: initial state: (B, n).
        lengths: valid steps of each sequence, on the device of the input: (B,) int64, or None if all T are valid.
        activation: a key of `ACTIVATIONS`.
        reverse: run from the last valid step to the first.
        negative_slope: leaky_relu's slope.
        input_weight: U, so that p_t = U x_t + input_bias: (n, m) or None.
        input_bias: added to p: (n,) or None.
        rounding: round every state, h_t = q(f(W h_{t-1} + p_t)); for real states.

    Returns:
        The states (T, B, n), zero at padded steps, and the final state (B, n).

    >>> p, W, h0 = torch.ones(3, 1, 2), torch.eye(2), torch.zeros(1, 2)
    >>> simple(p, W, None, h0, activation="identity")[0][:, 0, 0]
    tensor([1., 2., 3.])
    """
    if activation == "modrelu" and bias is None:
        activation = "identity"
    if bias is not None and ACTIVATIONS[activation].additive_bias:
        input_bias, bias = bias if input_bias is None else input_bias + bias, None
    if rounding is not None and W.is_complex():
        raise ValueError("rounding is for real states, and this W is complex")
    served = kernel.serves(W, activation)
    if not served or input_weight is None:
        x, rounding = rounded_input(x, rounding)
    if served:
        tensors = (x, input_weight, W, input_bias, bias, h0, lengths)
        if W.is_complex():
            return fused_complex(*tensors, activation, reverse)
        return fused_simple(*tensors, activation, reverse, negative_slope, rounding)
    p = multiplied(x, input_weight, input_bias)
    bits, step, _ = rounding or NO_ROUNDING
    out, h_n = _simple(p, W, bias, h0, lengths, activation, reverse, negative_slope, step, bits)
    return out, h_n


@torch.library.custom_op("eigenloop::simple", mutates_args=())
def _forward(
    projected: Tensor,
    W: Tensor,
    bias: Tensor | None,
    h0: Tensor,
    lengths: Tensor | None,
    activation: str,
    reverse: bool,
    negative_slope: float,
    step: Tensor | None,
    bits: int,
) -> tuple[Tensor, Tensor]:
    apply_, derivative = ACTIVATIONS[activation].apply_, ACTIVATIONS[activation].derivative
    valid = None if lengths is None else valid_steps(lengths, len(projected))
    out = torch.empty_like(projected, memory_format=torch.contiguous_format)
    h, Wt = h0, W.mT
    for t in steps(len(projected), reverse):
        new = apply_(torch.addmm(projected[t], h, Wt, out=out[t]), bias, negative_slope)
        if step is not None:
            new.copy_(state_to_grid(new, step, bits, derivative, negative_slope))
        if valid is None:
            h = new
        else:
            h = torch.where(valid[t], new, h)
            new.masked_fill_(~valid[t], 0)
    return out, h.clone(memory_format=torch.contiguous_format)


@_forward.register_fake
def _forward_fake(projected: Tensor, W: Tensor, bias: Tensor | None, h0: Tensor, *rest: Any) -> tuple[Tensor, Tensor]:
    return projected.new_empty(projected.shape), h0.new_empty(h0.shape)


@torch.library.custom_op("eigenloop::simple_backward", mutates_args=())
def _backward(
    grad_out: Tensor | None,
    grad_h_n: Tensor | None,
    out: Tensor,
    projected: Tensor | None,
    W: Tensor,
    bias: Tensor | None,
    h0: Tensor,
    lengths: Tensor | None,
    activation: str,
    reverse: bool,
    negative_slope: float,
    step: Tensor | None,
    bits: int,
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    """Return the gradients of projected, W, bias, h0 and the step (empty for a bias or step that is None)."""
    valid = None if lengths is None else valid_steps(lengths, len(out))
    previous = previous_states(out, h0, lengths, reverse)
    W_conj = W.conj()
    z = grad_b = slopes = None
    derivative = ACTIVATIONS[activation].derivative
    if not out.is_complex() or projected is None:
        if step is None:
            grad_z = derivative(out, negative_slope)
        else:
            grad_z = derivative_of_state(out, step, bits, derivative, negative_slope)
        if valid is not None:
            grad_z.mul_(valid)
        if step is not None and projected is not None:  # a trained step: dq/ds needs f(z)
            value = ACTIVATIONS[activation].apply_(projected + previous @ W.mT, bias, negative_slope)
            slopes = slope_of_state(value, out, step, bits)
    else:  # complex modReLU: its derivative needs z, which is computed again in one large product
        z = projected + previous @ W.mT
        grad_z, grad_b = torch.empty_like(out), torch.empty_like(out.real)
    grad_step = out.new_zeros(() if slopes is not None else 0)
    if grad_out is not None and valid is not None:
        grad_out = torch.where(valid, grad_out, 0)
    grad_h = torch.zeros_like(h0) if grad_h_n is None else grad_h_n
    for t in reversed(steps(len(out), reverse)):
        if grad_out is not None:
            grad_h = grad_h + grad_out[t]
        if slopes is not None:
            grad_step += (grad_h * slopes[t] if valid is None else torch.where(valid[t], grad_h * slopes[t], 0)).sum()
        if z is None or bias is None or grad_b is None:
            grad_z[t].mul_(grad_h)
        else:
            grad_z[t], grad_b[t] = complex_modrelu_backward(grad_h, z[t], bias)
            if valid is not None:
                grad_z[t].masked_fill_(~valid[t], 0)
                grad_b[t].masked_fill_(~valid[t], 0)
        pulled = grad_z[t] @ W_conj
        grad_h = pulled if valid is None else torch.where(valid[t], pulled, grad_h)
    grad_W = grad_z.flatten(0, 1).mT @ previous.flatten(0, 1).conj()
    if bias is None:
        grad_bias = out.new_empty(0)
    else:
        grad_bias = ((out.sgn() * grad_z) if grad_b is None else grad_b).sum((0, 1))
    return grad_z, grad_W, grad_bias, grad_h.clone(memory_format=torch.contiguous_format), grad_step


@_backward.register_fake
def _backward_fake(
    grad_out: Any, grad_h_n: Any, out: Tensor, projected: Any, W: Tensor, bias: Tensor | None, h0: Tensor, *rest: Any
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    *_, step, _ = rest
    grad_bias = out.new_empty(0) if bias is None else bias.new_empty(bias.shape)
    grad_step = out.new_empty(() if step is not None and projected is not None else 0)
    return out.new_empty(out.shape), W.new_empty(W.shape), grad_bias, h0.new_empty(h0.shape), grad_step


def _setup_context(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, Tensor]) -> None:
    *tensors, ctx.activation, ctx.reverse, ctx.negative_slope, step, ctx.bits = inputs
    ctx.set_materialize_grads(False)
    ctx.save_for_backward(keep_states(ctx, output[0]), step, *tensors)


def _pull_back(
    ctx: Any, run_backward: Callable[..., Any], grad_out: Tensor | None, grad_h_n: Tensor | None
) -> tuple[Tensor | None, ...]:
    if grad_out is None and grad_h_n is None:
        return (None,) * 10
    saved, step, *tensors = ctx.saved_tensors
    options = (ctx.activation, ctx.reverse, ctx.negative_slope, step, ctx.bits)
    out = kept_states(ctx, saved, lambda: _forward(*tensors, *options)[0])
    projected, W, bias, h0, lengths = tensors
    # p is needed if the derivative cannot be computed from the state.
    trained_step = step is not None and ctx.needs_input_grad[8]
    needed = projected if trained_step or (projected.is_complex() and bias is not None) else None
    grads = run_backward(grad_out, grad_h_n, out, needed, W, bias, h0, lengths, *options)
    grad_bias, grad_step = None if bias is None else grads[2], grads[4] if trained_step else None
    return grads[0], grads[1], grad_bias, grads[3], None, None, None, None, grad_step, None


_simple = differentiable(_forward, _backward, _setup_context, _pull_back)
