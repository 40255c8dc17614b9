"""The LSTM in the compiled kernel, for real states on the CPU.

Equations: `eigenloop.recurrence.lstm`. As in `fused_simple`, the kernel takes x and U and computes U x itself. For a
backward pass it saves the gates of every step, (T, B, 4n), and the cell of every eighth step: the cells in between
follow from the gates with a few multiplications, whereas computing the gates again would cost a third of all products.
In inference nothing is saved.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from eigenloop.recurrence import buffers, kernel, kernel_calls
from eigenloop.recurrence.differentiation import differentiable, keep_states, kept_states
from eigenloop.recurrence.rounding import NO_ROUNDING, Rounding


def fused_lstm(
    x: Tensor,
    input_weight: Tensor | None,
    W: Tensor,
    input_bias: Tensor | None,
    bias: Tensor | None,
    h0: Tensor,
    c0: Tensor,
    lengths: Tensor | None,
    cell: str,
    reverse: bool,
    rounding: Rounding | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """Run the recurrence in the kernel.

    Args:
        x: (T, B, m), or U x, (T, B, 4n), if `input_weight` is None.
        input_weight: U, (4n, m), in the order input, forget, cell, output; or None.
        W: (4n, n).
        input_bias: added to U x: (4n,) or None.
        bias: modReLU's b: (n,), None for every other activation.
        h0: (B, n).
        c0: (B, n).
        lengths: (B,) int64 or None.
        cell: a key of `ACTIVATIONS`.
        reverse: run from the last valid step to the first.
        rounding: round gates, candidate, cell and state.

    Returns:
        The states (T, B, n), the final state (B, n) and the final cell (B, n).
    """
    bits, step, input_step = rounding or NO_ROUNDING
    tensors = (x, input_weight, W, input_bias, bias, h0, c0, lengths)
    given = (*tensors, step, input_step)
    needs_grad = torch.is_grad_enabled() and any(t is not None and t.requires_grad for t in given)
    if not needs_grad and kernel.reachable(*given):
        return _states(*tensors, cell, reverse, None, None, step, input_step, bits)
    out, h_n, c_n, _, _ = _fused_lstm(*tensors, cell, reverse, needs_grad, step, input_step, bits)
    return out, h_n, c_n


def _run_forward(
    x: Tensor,
    input_weight: Tensor | None,
    W: Tensor,
    input_bias: Tensor | None,
    bias: Tensor | None,
    h0: Tensor,
    c0: Tensor,
    lengths: Tensor | None,
    cell: str,
    reverse: bool,
    keep: bool,
    step: Tensor | None,
    input_step: Tensor | None,
    bits: int,
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    """Return the states, the final state and cell, and the saved gates and cells (empty unless `keep`)."""
    gates, cells = (buffers.recycled(shape, W.dtype) for shape in _kept_shapes(x, W, keep))
    tensors = (x, input_weight, W, input_bias, bias, h0, c0, lengths)
    kept_gates, kept_cells = (gates, cells) if keep else (None, None)
    out, h_n, c_n = _states(*tensors, cell, reverse, kept_gates, kept_cells, step, input_step, bits)
    return out, h_n, c_n, gates, cells


def _states(
    x: Tensor,
    input_weight: Tensor | None,
    W: Tensor,
    input_bias: Tensor | None,
    bias: Tensor | None,
    h0: Tensor,
    c0: Tensor,
    lengths: Tensor | None,
    cell: str,
    reverse: bool,
    gates: Tensor | None,
    cells: Tensor | None,
    step: Tensor | None,
    input_step: Tensor | None,
    bits: int,
) -> tuple[Tensor, Tensor, Tensor]:
    """Return the states, the final state and cell, and write into `gates` and `cells` if they are given."""
    T, B, m = x.shape
    n = W.shape[1]
    kernel_calls.check(
        W.dtype,
        W=(W, (4 * n, n)),
        x=(x, (T, B, 4 * n if input_weight is None else m)),
        input_weight=(input_weight, (4 * n, m)),
        input_bias=(input_bias, (4 * n,)),
        bias=(bias, (n,)),
        h0=(h0, (B, n)),
        c0=(c0, (B, n)),
        step=(step, ()),
        input_step=(input_step, ()),
    )
    out, h_n, c_n = buffers.recycled((T, B, n), W.dtype), W.new_empty((B, n)), W.new_empty((B, n))
    kernel_calls.run_lstm(
        "lstm_forward",
        kernel_calls.rows(x),
        kernel_calls.packed(input_weight),
        W.contiguous(),
        kernel_calls.packed(input_bias),
        kernel_calls.packed(bias),
        h0.contiguous(),
        c0.contiguous(),
        kernel_calls.lengths_for_c(lengths, B),
        (cell, reverse, 0.0),
        out,
        h_n,
        c_n,
        gates,
        cells,
        step=step,
        input_step=input_step,
        bits=bits,
    )
    return out, h_n, c_n


def _kept_shapes(x: Tensor, W: Tensor, keep: bool) -> tuple[tuple[int, ...], tuple[int, ...]]:
    T, B, n = *x.shape[:2], W.shape[1]
    # The last cell is saved too: a size of 1 for short sequences would specialise a traced graph to them.
    return ((T, B, 4 * n), (1 - (-T // kernel_calls.CELL_STEPS), B, n)) if keep else ((0,), (0,))


_forward = torch.library.custom_op("eigenloop::fused_lstm", _run_forward, mutates_args=())


@_forward.register_fake
def _forward_fake(
    x: Tensor,
    input_weight: Any,
    W: Tensor,
    input_bias: Any,
    bias: Any,
    h0: Tensor,
    c0: Tensor,
    lengths: Any,
    cell: str,
    reverse: bool,
    keep: bool,
    step: Tensor | None,
    input_step: Tensor | None,
    bits: int,
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    gates, cells = (x.new_empty(shape) for shape in _kept_shapes(x, W, keep))
    out = x.new_empty((*x.shape[:2], W.shape[1]))
    return out, h0.new_empty(h0.shape), c0.new_empty(c0.shape), gates, cells


def _run_backward(
    grad_out: Tensor | None,
    grad_h_n: Tensor | None,
    grad_c_n: Tensor | None,
    out: Tensor,
    gates: Tensor,
    cells: Tensor,
    x: Tensor,
    input_weight: Tensor | None,
    W: Tensor,
    bias: Tensor | None,
    h0: Tensor,
    c0: Tensor,
    lengths: Tensor | None,
    cell: str,
    reverse: bool,
    wanted: list[bool],
    step: Tensor | None,
    input_step: Tensor | None,
    bits: int,
) -> list[Tensor]:
    """Return the gradients of x, U, W, input_bias, bias, h0, c0, step and input_step; empty if not `wanted`."""
    grads = _empty_grads(x, input_weight, W, h0, wanted)
    kernel_calls.run_lstm(
        "lstm_backward",
        kernel_calls.rows(x),
        kernel_calls.packed(input_weight),
        W.contiguous(),
        None,
        kernel_calls.packed(bias),
        h0.contiguous(),
        c0.contiguous(),
        kernel_calls.lengths_for_c(lengths, x.shape[1]),
        (cell, reverse, 0.0),
        out,
        None,
        None,
        gates,
        cells,
        None if grad_out is None else kernel_calls.rows(grad_out),
        kernel_calls.packed(grad_h_n),
        kernel_calls.packed(grad_c_n),
        tuple(grad if want else None for grad, want in zip(grads, wanted, strict=True)),
        step=step,
        input_step=input_step,
        bits=bits,
    )
    return grads


def _empty_grads(x: Tensor, U: Tensor | None, W: Tensor, h0: Tensor, wanted: list[bool]) -> list[Tensor]:
    n = W.shape[1]
    shapes = (x.shape, (0,) if U is None else U.shape, W.shape, (4 * n,), (n,), h0.shape, h0.shape, (), ())
    return [W.new_empty(shape if want else (0,)) for shape, want in zip(shapes, wanted, strict=True)]


_backward = torch.library.custom_op("eigenloop::fused_lstm_backward", _run_backward, mutates_args=())


@_backward.register_fake
def _backward_fake(*given: Any) -> list[Tensor]:
    _, _, _, _, _, _, x, input_weight, W, _, h0, *_, wanted, _, _, _ = given
    return _empty_grads(x, input_weight, W, h0, wanted)


def _setup_context(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, ...]) -> None:
    *tensors, ctx.cell, ctx.reverse, _, step, input_step, ctx.bits = inputs
    ctx.set_materialize_grads(False)
    ctx.mark_non_differentiable(output[3], output[4])
    ctx.save_for_backward(keep_states(ctx, output[0]), output[3], output[4], step, input_step, *tensors)


def _pull_back(
    ctx: Any,
    run_backward: Callable[..., Any],
    grad_out: Tensor | None,
    grad_h_n: Tensor | None,
    grad_c_n: Tensor | None,
    *_: Any,
) -> tuple[Tensor | None, ...]:
    if grad_out is None and grad_h_n is None and grad_c_n is None:
        return (None,) * 14
    wanted = [*ctx.needs_input_grad[:7], *ctx.needs_input_grad[11:13]]
    saved, gates, cells, step, input_step, *tensors = ctx.saved_tensors
    inputs: tuple[Any, ...] = (*tensors, ctx.cell, ctx.reverse, False, step, input_step, ctx.bits)
    out = kept_states(ctx, saved, lambda: _run_forward(*inputs)[0])
    x, U, W, _, bias, h0, c0, lengths = tensors
    kept = (out, gates, cells, x, U, W, bias, h0, c0, lengths)
    grads = run_backward(grad_out, grad_h_n, grad_c_n, *kept, ctx.cell, ctx.reverse, wanted, step, input_step, ctx.bits)
    *input_grads, to_step, to_input_step = (grad if want else None for grad, want in zip(grads, wanted, strict=True))
    return (*input_grads, *(None,) * 4, to_step, to_input_step, None)


_fused_lstm = differentiable(_forward, _backward, _setup_context, _pull_back, (_run_forward, _run_backward))
