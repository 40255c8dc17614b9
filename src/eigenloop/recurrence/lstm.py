"""The LSTM: a readable reference with a hand-written backward pass (Hochreiter and Schmidhuber 1997; torch's gates).

    i = sigmoid(p_i + W_i h)          input gate
    f = sigmoid(p_f + W_f h)          forget gate
    g = k(p_g + W_g h)                candidate for the cell, k = tanh unless another activation is chosen
    o = sigmoid(p_o + W_o h)          output gate
    c' = f * c + i * g
    h' = o * tanh(c')

p = U x + input_bias. The states and the cells are saved for the backward pass, 2n numbers per step; it computes the
gates again from the previous states, in one large product. For why these are operators see
Note [One operator for the compiler].
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
from eigenloop.recurrence.rounding import (
    NO_ROUNDING,
    Rounding,
    gate_margin,
    gate_to_grid,
    inside,
    rounded_input,
    slope_of_step,
    to_grid,
    unit_step,
)
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
    rounding: Rounding | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """Run the LSTM over time, in the compiled kernel if possible (see `simple`).

    Args:
        x: the input: (T, B, m); without `input_weight` the product U x, in the order input, forget, cell, output:
            (T, B, 4n).
        W: the four recurrent matrices stacked in the same order: (4n, n).
        bias: modReLU's b if `cell` is ``"modrelu"``: (n,) or None, for which the candidate is linear.
        h0: initial state: (B, n).
        c0: initial cell: (B, n).
        lengths: valid steps of each sequence, on the device of the input: (B,) int64, or None if all T are valid.
        cell: activation of the candidate, a key of `ACTIVATIONS`; not ``"leaky_relu"``, as there is no slope argument.
        reverse: run from the last valid step to the first.
        input_weight: U of the four gates, stacked: (4n, m) or None.
        input_bias: added to U x: (4n,) or None.
        rounding: round the gates, the candidate, the cell and the state; `step` is that of the cell, and of a
            candidate other than tanh.

    Returns:
        The states (T, B, n), zero at padded steps, the final state (B, n) and the final cell (B, n).
    """
    cell = _checked(cell, bias)
    served = kernel.serves(W, cell)
    if not served or input_weight is None:
        x, rounding = rounded_input(x, rounding)
    if served:
        return fused_lstm(x, input_weight, W, input_bias, bias, h0, c0, lengths, cell, reverse, rounding)
    bits, step, _ = rounding or NO_ROUNDING
    p = multiplied(x, input_weight, input_bias)
    out, h_n, c_n, _ = _lstm(p, W, bias, h0, c0, lengths, cell, reverse, step, bits)
    return out, h_n, c_n


def lstm_cells(
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
) -> Tensor:
    """Return the cells c of all steps, (T, B, n), which `lstm` does not return; computed by the reference path."""
    p = multiplied(x, input_weight, input_bias)
    cells: Tensor = _lstm(p, W, bias, h0, c0, lengths, _checked(cell, bias), reverse, None, 0)[3]
    return cells


def _checked(cell: str, bias: Tensor | None) -> str:
    """Return the activation to use: modReLU without a threshold is the identity."""
    check_cell(cell)
    if bias is not None and ACTIVATIONS[cell].additive_bias:
        raise ValueError(f"bias is modReLU's threshold, and cell={cell!r} has none: add it to input_bias")
    return "identity" if cell == "modrelu" and bias is None else cell


def check_cell(cell: str) -> None:
    """Raise ValueError for leaky_relu, the one activation that needs another argument."""
    if cell == "leaky_relu":
        raise ValueError("cell='leaky_relu' has no slope in an LSTM: use cell='relu', or register your own leaky ReLU")


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
    step: Tensor | None,
    bits: int,
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
        i, f, g, o = i.sigmoid(), f.sigmoid(), apply_(g.clone(), bias, 0.0), o.sigmoid()
        if step is not None:
            i, f, g, o = _rounded_gates(i, f, g, o, cell, step, bits)
        new_c = f * c + i * g
        if step is not None:
            new_c = to_grid(new_c, step, bits, _cell_margin(cell, bits))
        new_h = o * new_c.tanh()
        if step is not None:
            new_h = to_grid(new_h, unit_step(bits), bits)
        c = new_c if valid is None else torch.where(valid[t], new_c, c)
        h = new_h if valid is None else torch.where(valid[t], new_h, h)
        out[t] = new_h if valid is None else torch.where(valid[t], new_h, 0)
        cells[t] = c
    return out, h.clone(memory_format=torch.contiguous_format), c.clone(memory_format=torch.contiguous_format), cells


def _candidate_step(cell: str, step: Tensor, bits: int) -> Tensor | float:
    """Return the candidate's step: that of [-1, 1] for tanh, that of the cell for other activations."""
    return unit_step(bits) if cell == "tanh" else step


def _cell_margin(cell: str, bits: int) -> float:
    """Return the rounding margin of c'; see Note [A margin for halves]."""
    return gate_margin(bits) / (16 if cell == "tanh" else 1)


def _rounded_gates(
    i: Tensor, f: Tensor, g: Tensor, o: Tensor, cell: str, step: Tensor, bits: int
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    i, f, o = (gate_to_grid(gate, bits) for gate in (i, f, o))
    return i, f, to_grid(g, _candidate_step(cell, step, bits), bits), o


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
    step: Tensor | None,
    bits: int,
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor, Tensor]:
    """Return the gradients of projected, W, bias, h0, c0 and the step (empty for a bias or step that is None)."""
    T = len(out)
    activation = ACTIVATIONS[cell]
    valid = None if lengths is None else valid_steps(lengths, T)

    # Repeat the forward pass for all steps at once, without the values in the padding.
    if valid is not None:
        projected = torch.where(valid, projected, 0)
    h = previous_states(out, h0, lengths, reverse)
    c = previous_states(cells, c0, lengths, reverse)
    i, f, g, o = (projected + h @ W.mT).chunk(4, dim=-1)
    raw_i, raw_f, raw_g, raw_o = i.sigmoid(), f.sigmoid(), activation.apply_(g.clone(), bias, 0.0), o.sigmoid()
    i, f, g, o = raw_i, raw_f, raw_g, raw_o
    if step is not None:
        i, f, g, o = _rounded_gates(i, f, g, o, cell, step, bits)
    squashed = cells.tanh()

    # Factors from dL/dc' to the gradients of the arguments of i, f and g, and from dL/dh' to those of o and c'.
    to_input, to_forget = g * raw_i * (1 - raw_i), c * raw_f * (1 - raw_f)
    to_candidate = i * activation.derivative(raw_g, 0.0)
    to_output, to_cell = squashed * raw_o * (1 - raw_o), o * (1 - squashed.square())
    grad_step = out.new_zeros(0 if step is None else ())
    if step is not None:
        unrounded = f * c + i * g
        passes = inside(unrounded, step, bits, _cell_margin(cell, bits))
        to_candidate = to_candidate * inside(raw_g, _candidate_step(cell, step, bits), bits)
        to_output, to_cell = (each * inside(o * squashed, unit_step(bits), bits) for each in (to_output, to_cell))
        to_step = slope_of_step(unrounded, step, bits, _cell_margin(cell, bits))
        if cell != "tanh":
            to_step = to_step + passes * i * slope_of_step(raw_g, step, bits)

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
        if step is not None:
            grad_step += (new_c * to_step[t]).sum()
            new_c = new_c * passes[t]
        parts = new_c * to_input[t], new_c * to_forget[t], new_c * to_candidate[t], new_h * to_output[t]
        torch.cat(parts, dim=-1, out=grad_projected[t])
        pulled_h, pulled_c = grad_projected[t] @ W, new_c * f[t]
        grad_h = pulled_h if valid is None else torch.where(valid[t], pulled_h, grad_h)
        grad_c = pulled_c if valid is None else torch.where(valid[t], pulled_c, grad_c)

    grad_W = grad_projected.flatten(0, 1).mT @ h.flatten(0, 1)
    grad_bias = out.new_empty(0)
    if bias is not None:
        grad_bias = (raw_g.sgn() * grad_projected.chunk(4, dim=-1)[2]).sum((0, 1))
    contiguous = torch.contiguous_format
    return (
        grad_projected,
        grad_W,
        grad_bias,
        grad_h.clone(memory_format=contiguous),
        grad_c.clone(memory_format=contiguous),
        grad_step,
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
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor, Tensor]:
    *_, step, _ = rest
    return (
        projected.new_empty(projected.shape),
        W.new_empty(W.shape),
        out.new_empty(0 if bias is None else bias.shape),
        h0.new_empty(h0.shape),
        c0.new_empty(c0.shape),
        out.new_empty(0 if step is None else ()),
    )


def _setup_context(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, ...]) -> None:
    *tensors, ctx.cell, ctx.reverse, step, ctx.bits = inputs
    ctx.set_materialize_grads(False)
    ctx.mark_non_differentiable(output[3])
    ctx.save_for_backward(keep_states(ctx, output[0]), output[3], step, *tensors)


def _pull_back(
    ctx: Any,
    run_backward: Callable[..., Any],
    grad_out: Tensor | None,
    grad_h_n: Tensor | None,
    grad_c_n: Tensor | None,
    _: Any,
) -> tuple[Tensor | None, ...]:
    if grad_out is None and grad_h_n is None and grad_c_n is None:
        return (None,) * 10
    saved, cells, step, *tensors = ctx.saved_tensors
    options = (ctx.cell, ctx.reverse, step, ctx.bits)
    out = kept_states(ctx, saved, lambda: _forward(*tensors, *options)[0])
    grads = run_backward(grad_out, grad_h_n, grad_c_n, out, cells, *tensors, *options)
    grad_bias, grad_step = None if tensors[2] is None else grads[2], None if step is None else grads[5]
    return grads[0], grads[1], grad_bias, grads[3], grads[4], None, None, None, grad_step, None


_lstm = differentiable(_forward, _backward, _setup_context, _pull_back)
