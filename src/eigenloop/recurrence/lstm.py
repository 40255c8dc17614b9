"""The LSTM, readable and with a hand-written backward pass (Hochreiter and Schmidhuber 1997; gates as torch has them).

    i = sigmoid(p_i + W_i h)          input gate
    f = sigmoid(p_f + W_f h)          forget gate
    g = k(p_g + W_g h)                candidate for the cell, k = tanh unless another activation is chosen
    o = sigmoid(p_o + W_o h)          output gate
    c' = f * c + i * g
    h' = o * tanh(c')

Kept for the backward pass are the states and the cells, 2n numbers a step; the gates follow from the states before
them, in one large product. Why these are operators: Note [One operator for the compiler].
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from eigenloop.recurrence import kernel
from eigenloop.recurrence.activations import ACTIVATIONS
from eigenloop.recurrence.differentiation import differentiable, keep_states, kept_states
from eigenloop.recurrence.fused_lstm import fused_lstm
from eigenloop.recurrence.renamed import takes_projected
from eigenloop.recurrence.time import multiplied, previous_states, steps, valid_steps


@takes_projected
def lstm(
    x: Tensor,
    W: Tensor,
    bias: Tensor | None,
    h0: Tensor,
    c0: Tensor,
    lengths: Tensor | None = None,
    cell: str = "tanh",
    reverse: bool = False,
    *,
    input_weight: Tensor | None = None,
    input_bias: Tensor | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """Run the LSTM over time, in the compiled kernel where it can (see `simple`).

    Args:
        x: the input: (T, B, m); without an `input_weight` the input already multiplied, in the order input, forget,
            cell, output: (T, B, 4n).
        W: the four recurrent matrices stacked in the same order: (4n, n).
        bias: modReLU's b where `cell` is ``"modrelu"``: (n,) or None, which leaves the candidate linear.
        h0: initial state: (B, n).
        c0: initial cell: (B, n).
        lengths: valid steps of each sequence, on the device of the input: (B,) int64, or None where all T are.
        cell: activation of the candidate, a key of `ACTIVATIONS`; not ``"leaky_relu"``, for which no slope is given.
        reverse: run from the last valid step to the first.
        input_weight: U of the four gates, stacked: (4n, m) or None.
        input_bias: added to U x: (4n,) or None.

    Returns:
        The states (T, B, n), zero at padded steps, the final state (B, n) and the final cell (B, n).
    """
    check_cell(cell)
    if cell == "modrelu" and bias is None:
        cell = "identity"
    if bias is not None and ACTIVATIONS[cell].additive_bias:
        raise ValueError(f"bias is modReLU's threshold, and cell={cell!r} has none: add it to input_bias")
    if kernel.serves(W, cell):
        return fused_lstm(x, input_weight, W, input_bias, bias, h0, c0, lengths, cell, reverse)
    out, h_n, c_n, _ = _lstm(multiplied(x, input_weight, input_bias), W, bias, h0, c0, lengths, cell, reverse)
    return out, h_n, c_n


def check_cell(cell: str) -> None:
    """Refuse the one activation that needs a further number."""
    if cell == "leaky_relu":
        raise ValueError(
            "cell='leaky_relu' has no slope in an LSTM: use cell='relu', or register a leaky ReLU of your own"
        )


@torch.library.custom_op("eigenloop::lstm", mutates_args=())
def _forward(
    projected: Tensor,
    W: Tensor,
    bias: Tensor | None,
    h0: Tensor,
    c0: Tensor,
    lengths: Tensor | None,
    cell: str,
    reverse: bool,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Return the states, the final state, the final cell, and the cells of all steps."""
    n = h0.shape[-1]
    apply_ = ACTIVATIONS[cell].apply_
    valid = None if lengths is None else valid_steps(lengths, len(projected))
    out = projected.new_empty((*projected.shape[:2], n))
    cells = torch.empty_like(out)
    h, c, Wt = h0, c0, W.mT
    for t in steps(len(projected), reverse):
        i, f, g, o = torch.addmm(projected[t], h, Wt).chunk(4, dim=-1)
        new_c = f.sigmoid() * c + i.sigmoid() * apply_(g.clone(), bias, 0.0)
        new_h = o.sigmoid() * new_c.tanh()
        c = new_c if valid is None else torch.where(valid[t], new_c, c)
        h = new_h if valid is None else torch.where(valid[t], new_h, h)
        out[t] = new_h if valid is None else torch.where(valid[t], new_h, 0)
        cells[t] = c
    return out, h.clone(memory_format=torch.contiguous_format), c.clone(memory_format=torch.contiguous_format), cells


@_forward.register_fake
def _forward_fake(
    projected: Tensor, W: Tensor, bias: Any, h0: Tensor, c0: Tensor, *rest: Any
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    states = projected.new_empty((*projected.shape[:2], h0.shape[-1]))
    return states, h0.new_empty(h0.shape), c0.new_empty(c0.shape), torch.empty_like(states)


@torch.library.custom_op("eigenloop::lstm_backward", mutates_args=())
def _backward(
    grad_out: Tensor | None,
    grad_h_n: Tensor | None,
    grad_c_n: Tensor | None,
    out: Tensor,
    cells: Tensor,
    projected: Tensor,
    W: Tensor,
    bias: Tensor | None,
    h0: Tensor,
    c0: Tensor,
    lengths: Tensor | None,
    cell: str,
    reverse: bool,
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    """Return the gradients of projected, W, bias (empty without one), h0 and c0."""
    T = len(out)
    activation = ACTIVATIONS[cell]
    valid = None if lengths is None else valid_steps(lengths, T)

    # The forward pass again, for all steps at once; what stands in the padding must not reach it.
    if valid is not None:
        projected = torch.where(valid, projected, 0)
    h = previous_states(out, h0, lengths, reverse)
    c = previous_states(cells, c0, lengths, reverse)
    i, f, g, o = (projected + h @ W.mT).chunk(4, dim=-1)
    i, f, o = i.sigmoid(), f.sigmoid(), o.sigmoid()
    g = activation.apply_(g.clone(), bias, 0.0)
    squashed = cells.tanh()

    # What multiplies dL/dc' on its way to the arguments of i, f and g, and dL/dh' on its way to that of o and to c'.
    to_input, to_forget = g * i * (1 - i), c * f * (1 - f)
    to_candidate = i * activation.derivative(g, 0.0)
    to_output, to_cell = squashed * o * (1 - o), o * (1 - squashed.square())

    grad_projected = torch.zeros_like(projected, memory_format=torch.contiguous_format)
    if grad_out is not None and valid is not None:
        grad_out = torch.where(valid, grad_out, 0)
    grad_h = torch.zeros_like(h0) if grad_h_n is None else grad_h_n
    grad_c = torch.zeros_like(c0) if grad_c_n is None else grad_c_n
    for t in reversed(steps(T, reverse)):
        if grad_out is not None:
            grad_h = grad_h + grad_out[t]
        new_h = grad_h if valid is None else torch.where(valid[t], grad_h, 0)
        new_c = (grad_c if valid is None else torch.where(valid[t], grad_c, 0)) + new_h * to_cell[t]
        parts = new_c * to_input[t], new_c * to_forget[t], new_c * to_candidate[t], new_h * to_output[t]
        torch.cat(parts, dim=-1, out=grad_projected[t])
        pulled_h, pulled_c = grad_projected[t] @ W, new_c * f[t]
        grad_h = pulled_h if valid is None else torch.where(valid[t], pulled_h, grad_h)
        grad_c = pulled_c if valid is None else torch.where(valid[t], pulled_c, grad_c)

    grad_W = grad_projected.flatten(0, 1).mT @ h.flatten(0, 1)
    grad_bias = out.new_empty(0)
    if bias is not None:
        grad_bias = (g.sgn() * grad_projected.chunk(4, dim=-1)[2]).sum((0, 1))
    contiguous = torch.contiguous_format
    return (
        grad_projected,
        grad_W,
        grad_bias,
        grad_h.clone(memory_format=contiguous),
        grad_c.clone(memory_format=contiguous),
    )


@_backward.register_fake
def _backward_fake(
    grad_out: Any,
    grad_h_n: Any,
    grad_c_n: Any,
    out: Tensor,
    cells: Any,
    projected: Tensor,
    W: Tensor,
    bias: Tensor | None,
    h0: Tensor,
    c0: Tensor,
    *rest: Any,
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    return (
        projected.new_empty(projected.shape),
        W.new_empty(W.shape),
        out.new_empty(0 if bias is None else bias.shape),
        h0.new_empty(h0.shape),
        c0.new_empty(c0.shape),
    )


def _setup_context(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, ...]) -> None:
    *tensors, ctx.cell, ctx.reverse = inputs
    ctx.set_materialize_grads(False)
    ctx.mark_non_differentiable(output[3])
    ctx.save_for_backward(keep_states(ctx, output[0]), output[3], *tensors)


def _pull_back(
    ctx: Any,
    run_backward: Callable[..., Any],
    grad_out: Tensor | None,
    grad_h_n: Tensor | None,
    grad_c_n: Tensor | None,
    _: Any,
) -> tuple[Tensor | None, ...]:
    if grad_out is None and grad_h_n is None and grad_c_n is None:
        return (None,) * 8
    saved, cells, *tensors = ctx.saved_tensors
    out = kept_states(ctx, saved, lambda: _forward(*tensors, ctx.cell, ctx.reverse)[0])
    grads = run_backward(grad_out, grad_h_n, grad_c_n, out, cells, *tensors, ctx.cell, ctx.reverse)
    return grads[0], grads[1], None if tensors[2] is None else grads[2], grads[3], grads[4], None, None, None


_lstm = differentiable(_forward, _backward, _setup_context, _pull_back)
