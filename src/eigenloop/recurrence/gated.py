"""The gated recurrence of GRU, NC-GRU and GORU: a readable reference with a hand-written backward pass.

    r = sigmoid(p_r + W_r h)          reset gate
    u = sigmoid(p_u + W_u h)          update gate
    c = f(p_c + W_c (r * h))          candidate, reset="before" (NC-GRU, eq. 19)
    c = f(p_c + r * (W_c h + b))      candidate, reset="after" (torch's GRU, GORU)
    h' = u * h + (1 - u) * c          update="keep" (torch's GRU, GORU)
    h' = (1 - u) * h + u * c          update="write" (NC-GRU, eq. 19)

p = U x + input_bias. Only the states are saved for the backward pass, which computes the gates of all steps again from
the previous states, in a few large products. For why these are operators see Note [One operator for the compiler].
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from eigenloop.recurrence import kernel
from eigenloop.recurrence.activations import ACTIVATIONS
from eigenloop.recurrence.differentiation import differentiable, keep_states, kept_states
from eigenloop.recurrence.fused_gated import fused_gated
from eigenloop.recurrence.renamed import takes_projected
from eigenloop.recurrence.rounding import (
    NO_ROUNDING,
    Rounding,
    gate_margin,
    gate_to_grid,
    inside,
    rounded_input,
    slope_of_step,
    to_grid,
)
from eigenloop.recurrence.time import multiplied, previous_states, steps, valid_steps


@takes_projected
def gated(
    x: Tensor,
    W: Tensor,
    bias: Tensor | None,
    recurrent_bias: Tensor | None,
    h0: Tensor,
    lengths: Tensor | None = None,
    candidate: str = "tanh",
    reset: str = "after",
    update: str = "keep",
    reverse: bool = False,
    *,
    negative_slope: float = 0.01,
    input_weight: Tensor | None = None,
    input_bias: Tensor | None = None,
    rounding: Rounding | None = None,
) -> tuple[Tensor, Tensor]:
    """Run the gated recurrence over time, in the compiled kernel if possible (see `simple`).

    Args:
        x: the input: (T, B, m); without `input_weight` the product U x, in the order reset, update, candidate:
            (T, B, 3n).
        W: the three recurrent matrices stacked in the same order: (3n, n).
        bias: modReLU's b, or added to the candidate's argument for every other activation: (n,) or None.
        recurrent_bias: b inside the reset product, torch's b_hn; only with ``reset="after"``: (n,) or None.
        h0: initial state: (B, n).
        lengths: valid steps of each sequence, on the device of the input: (B,) int64, or None if all T are valid.
        candidate: activation of the candidate, a key of `ACTIVATIONS`.
        reset: ``"before"`` or ``"after"`` the product with W_c.
        update: whether u is the share of the old state to ``"keep"`` or of the candidate to ``"write"``.
        reverse: run from the last valid step to the first.
        negative_slope: leaky_relu's slope.
        input_weight: U of the three gates, stacked: (3n, m) or None.
        input_bias: added to U x, for all three or only for the reset and update gates: (3n,), (2n,) or None.
        rounding: round the gates, the candidate, r * h before a product, and the state, in this order.

    Returns:
        The states (T, B, n), zero at padded steps, and the final state (B, n).
    """
    if candidate == "modrelu" and bias is None:
        candidate = "identity"
    if bias is not None and ACTIVATIONS[candidate].additive_bias:
        candidates = torch.cat((bias.new_zeros(2 * len(bias)), bias))
        all_gates = None if input_bias is None else _for_three_gates(input_bias, h0.shape[-1])
        input_bias, bias = candidates if all_gates is None else all_gates + candidates, None
    served = kernel.serves(W, candidate)
    if not served or input_weight is None:
        x, rounding = rounded_input(x, rounding)
    if served:
        tensors = (x, input_weight, W, input_bias, bias, recurrent_bias, h0, lengths)
        return fused_gated(*tensors, candidate, reset, update, reverse, negative_slope, rounding)
    if input_bias is not None:
        input_bias = _for_three_gates(input_bias, h0.shape[-1])
    p = multiplied(x, input_weight, input_bias)
    bits, step, _ = rounding or NO_ROUNDING
    options = (candidate, reset, update, reverse, negative_slope, step, bits)
    out, h_n = _gated(p, W, bias, recurrent_bias, h0, lengths, *options)
    return out, h_n


def _for_three_gates(bias: Tensor, n: int) -> Tensor:
    """Append zeros for the candidate to a bias of the two gates."""
    return torch.nn.functional.pad(bias, (0, 3 * n - len(bias)))


@torch.library.custom_op("eigenloop::gated", mutates_args=())
def _forward(
    projected: Tensor,
    W: Tensor,
    bias: Tensor | None,
    recurrent_bias: Tensor | None,
    h0: Tensor,
    lengths: Tensor | None,
    candidate: str,
    reset: str,
    update: str,
    reverse: bool,
    negative_slope: float,
    step: Tensor | None,
    bits: int,
) -> tuple[Tensor, Tensor]:
    n = h0.shape[-1]
    apply_ = ACTIVATIONS[candidate].apply_
    valid = None if lengths is None else valid_steps(lengths, len(projected))
    gates_Wt, candidate_Wt = W[: 2 * n].mT, W[2 * n :].mT
    out = projected.new_empty((*projected.shape[:2], n))
    h = h0
    for t in steps(len(projected), reverse):
        p_gates, p_c = projected[t].split([2 * n, n], dim=-1)
        gates = torch.addmm(p_gates, h, gates_Wt).sigmoid_()
        r, u = (gates if step is None else gate_to_grid(gates, bits)).chunk(2, dim=-1)
        if reset == "before":
            c = torch.addmm(p_c, _on_grid(r * h, step, bits, gate_margin(bits)), candidate_Wt)
        else:
            c = p_c + r * _with_bias(h @ candidate_Wt, recurrent_bias)
        c = _on_grid(apply_(c, bias, negative_slope), step, bits)
        new = _on_grid(_mixed(h, u, c, update), step, bits, gate_margin(bits))
        h = new if valid is None else torch.where(valid[t], new, h)
        out[t] = new if valid is None else torch.where(valid[t], new, 0)
    return out, h.clone(memory_format=torch.contiguous_format)


def _on_grid(value: Tensor, step: Tensor | None, bits: int, margin: float = 0.0) -> Tensor:
    return value if step is None else to_grid(value, step, bits, margin)


def _mixed(h: Tensor, u: Tensor, c: Tensor, update: str) -> Tensor:
    return u * h + (1 - u) * c if update == "keep" else (1 - u) * h + u * c


def _with_bias(product: Tensor, bias: Tensor | None) -> Tensor:
    return product if bias is None else product + bias


@_forward.register_fake
def _forward_fake(
    projected: Tensor, W: Tensor, bias: Any, recurrent_bias: Any, h0: Tensor, *rest: Any
) -> tuple[Tensor, Tensor]:
    return projected.new_empty((*projected.shape[:2], h0.shape[-1])), h0.new_empty(h0.shape)


@torch.library.custom_op("eigenloop::gated_backward", mutates_args=())
def _backward(
    grad_out: Tensor | None,
    grad_h_n: Tensor | None,
    out: Tensor,
    projected: Tensor,
    W: Tensor,
    bias: Tensor | None,
    recurrent_bias: Tensor | None,
    h0: Tensor,
    lengths: Tensor | None,
    candidate: str,
    reset: str,
    update: str,
    reverse: bool,
    negative_slope: float,
    step: Tensor | None,
    bits: int,
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor, Tensor]:
    """Return the gradients of projected, W, bias, recurrent_bias, h0 and the step; empty for what is None."""
    T, n = len(out), h0.shape[-1]
    before = reset == "before"
    activation = ACTIVATIONS[candidate]
    valid = None if lengths is None else valid_steps(lengths, T)
    gates_W, candidate_W = W[: 2 * n], W[2 * n :]

    # Repeat the forward pass for all steps at once, without the values in the padding.
    if valid is not None:
        projected = torch.where(valid, projected, 0)
    h = previous_states(out, h0, lengths, reverse)
    gates = torch.sigmoid(projected[..., : 2 * n] + h @ gates_W.mT)
    raw_r, raw_u = gates.chunk(2, dim=-1)
    r, u = (gates if step is None else gate_to_grid(gates, bits)).chunk(2, dim=-1)
    raw_q = r * h if before else _with_bias(h @ candidate_W.mT, recurrent_bias)
    q = _on_grid(raw_q, step, bits, gate_margin(bits)) if before else raw_q
    raw_c = projected[..., 2 * n :] + (q @ candidate_W.mT if before else r * q)
    raw_c = activation.apply_(raw_c, bias, negative_slope)
    c = _on_grid(raw_c, step, bits)

    # Factors from dL/dh' to the gradients of h and of the arguments of update gate and candidate.
    # With update="write" the candidate's factor is u itself: 1 - (1 - u) would lose the digits of a small u.
    rest = 1 - u
    kept, written = (u, rest) if update == "keep" else (rest, u)
    to_update = (h - c if update == "keep" else c - h) * raw_u * (1 - raw_u)
    to_candidate = written * activation.derivative(raw_c, negative_slope)
    to_reset = raw_r * (1 - raw_r) * (h if before else q)
    grad_step = out.new_zeros(0 if step is None else ())
    if step is not None:
        # The state is a weighted mean of two values in the range, and |r * h| <= |h|: only the candidate is clamped.
        to_candidate = to_candidate * inside(raw_c, step, bits)
        margin = gate_margin(bits)
        to_step = slope_of_step(_mixed(h, u, c, update), step, bits, margin)
        to_step = to_step + written * slope_of_step(raw_c, step, bits)
        through_to_step = slope_of_step(raw_q, step, bits, margin)

    grad_projected = torch.zeros_like(projected, memory_format=torch.contiguous_format)
    if grad_out is not None and valid is not None:
        grad_out = torch.where(valid, grad_out, 0)
    grad_h = torch.zeros_like(h0) if grad_h_n is None else grad_h_n
    for t in reversed(steps(T, reverse)):
        if grad_out is not None:
            grad_h = grad_h + grad_out[t]
        grad_new = grad_h if valid is None else torch.where(valid[t], grad_h, 0)
        grad_r, grad_u, grad_c = grad_projected[t].chunk(3, dim=-1)
        torch.mul(grad_new, to_update[t], out=grad_u)
        torch.mul(grad_new, to_candidate[t], out=grad_c)
        if step is not None:
            grad_step += (grad_new * to_step[t]).sum()
        if before:
            through = grad_c @ candidate_W
            if step is not None:
                grad_step += (through * through_to_step[t]).sum()
            torch.mul(through, to_reset[t], out=grad_r)
            through = through * r[t]
        else:
            torch.mul(grad_c, to_reset[t], out=grad_r)
            through = (grad_c * r[t]) @ candidate_W
        pulled = torch.addmm(through, grad_projected[t, :, : 2 * n], gates_W) + grad_new * kept[t]
        grad_h = pulled if valid is None else torch.where(valid[t], pulled, grad_h)

    grad_gates, grad_c = grad_projected.split([2 * n, n], dim=-1)
    grad_product = grad_c if before else grad_c * r
    grad_W = torch.cat((_outer(grad_gates, h), _outer(grad_product, q if before else h)))
    grad_bias = out.new_empty(0) if bias is None else (raw_c.sgn() * grad_c).sum((0, 1))
    grad_recurrent_bias = out.new_empty(0) if recurrent_bias is None else grad_product.sum((0, 1))
    grad_h0 = grad_h.clone(memory_format=torch.contiguous_format)
    return grad_projected, grad_W, grad_bias, grad_recurrent_bias, grad_h0, grad_step


def _outer(grad: Tensor, state: Tensor) -> Tensor:
    """Sum grad state^T over time and batch."""
    return grad.flatten(0, 1).mT @ state.flatten(0, 1)


@_backward.register_fake
def _backward_fake(
    grad_out: Any,
    grad_h_n: Any,
    out: Tensor,
    projected: Tensor,
    W: Tensor,
    bias: Tensor | None,
    recurrent_bias: Tensor | None,
    h0: Tensor,
    *rest: Any,
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor, Tensor]:
    *_, step, _ = rest
    return (
        projected.new_empty(projected.shape),
        W.new_empty(W.shape),
        out.new_empty(0 if bias is None else bias.shape),
        out.new_empty(0 if recurrent_bias is None else recurrent_bias.shape),
        h0.new_empty(h0.shape),
        out.new_empty(0 if step is None else ()),
    )


def _setup_context(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, Tensor]) -> None:
    *tensors, ctx.candidate, ctx.reset, ctx.update, ctx.reverse, ctx.slope, step, ctx.bits = inputs
    ctx.set_materialize_grads(False)
    ctx.save_for_backward(keep_states(ctx, output[0]), step, *tensors)


def _pull_back(
    ctx: Any, run_backward: Callable[..., Any], grad_out: Tensor | None, grad_h_n: Tensor | None
) -> tuple[Tensor | None, ...]:
    if grad_out is None and grad_h_n is None:
        return (None,) * 13
    saved, step, *tensors = ctx.saved_tensors
    options = (ctx.candidate, ctx.reset, ctx.update, ctx.reverse, ctx.slope, step, ctx.bits)
    out = kept_states(ctx, saved, lambda: _forward(*tensors, *options)[0])
    grads = run_backward(grad_out, grad_h_n, out, *tensors, *options)
    grad_bias = None if tensors[2] is None else grads[2]
    grad_recurrent_bias = None if tensors[3] is None else grads[3]
    grad_step = None if step is None else grads[5]
    return (grads[0], grads[1], grad_bias, grad_recurrent_bias, grads[4], *(None,) * 6, grad_step, None)


_gated = differentiable(_forward, _backward, _setup_context, _pull_back)
