"""The gated recurrence of GRU, NC-GRU and GORU in the compiled kernel, for real states on the CPU.

Equations: `eigenloop.recurrence.gated`. As in `fused_simple`, the kernel takes x and U and computes U x itself. For a
backward pass it saves the gates of every step, (T, B, 3n), or 4n with the reset after the product; in inference
nothing is saved.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from eigenloop.recurrence import buffers, kernel, kernel_calls
from eigenloop.recurrence.differentiation import differentiable, keep_states, kept_states
from eigenloop.recurrence.rounding import NO_ROUNDING, Rounding


def fused_gated(
    x: Tensor,
    input_weight: Tensor | None,
    W: Tensor,
    input_bias: Tensor | None,
    bias: Tensor | None,
    recurrent_bias: Tensor | None,
    h0: Tensor,
    lengths: Tensor | None,
    candidate: str,
    reset: str,
    update: str,
    reverse: bool,
    negative_slope: float,
    rounding: Rounding | None = None,
) -> tuple[Tensor, Tensor]:
    """Run the recurrence in the kernel.

    Args:
        x: (T, B, m), or U x, (T, B, 3n), if `input_weight` is None.
        input_weight: U, (3n, m), in the order reset, update, candidate; or None.
        W: (3n, n).
        input_bias: added to U x, for all three or only for the reset and update gates: (3n,), (2n,) or None.
        bias: modReLU's b: (n,), None for every other candidate.
        recurrent_bias: b inside the reset product: (n,) or None.
        h0: (B, n).
        lengths: (B,) int64 or None.
        candidate: a key of `ACTIVATIONS`.
        reset: ``"before"`` or ``"after"``.
        update: ``"keep"`` or ``"write"``.
        reverse: run from the last valid step to the first.
        negative_slope: leaky_relu's slope.
        rounding: round gates, candidate, r * h and state.

    Returns:
        The states (T, B, n) and the final state (B, n).
    """
    bits, step, input_step = rounding or NO_ROUNDING
    tensors = (x, input_weight, W, input_bias, bias, recurrent_bias, h0, lengths)
    options = (candidate, reset, update, reverse, negative_slope)
    given = (*tensors, step, input_step)
    needs_grad = torch.is_grad_enabled() and any(t is not None and t.requires_grad for t in given)
    if not needs_grad and kernel.reachable(*given):
        return _states(*tensors, *options, None, step, input_step, bits)
    out, h_n, _ = _fused_gated(*tensors, *options, needs_grad, step, input_step, bits)
    return out, h_n


def _run_forward(
    x: Tensor,
    input_weight: Tensor | None,
    W: Tensor,
    input_bias: Tensor | None,
    bias: Tensor | None,
    recurrent_bias: Tensor | None,
    h0: Tensor,
    lengths: Tensor | None,
    candidate: str,
    reset: str,
    update: str,
    reverse: bool,
    negative_slope: float,
    keep_gates: bool,
    step: Tensor | None,
    input_step: Tensor | None,
    bits: int,
) -> tuple[Tensor, Tensor, Tensor]:
    """Return the states, the final state and the gates of all steps (empty unless `keep_gates`)."""
    gates = buffers.recycled(_gates_shape(x, W, reset, keep_gates), W.dtype)
    tensors = (x, input_weight, W, input_bias, bias, recurrent_bias, h0, lengths)
    options = (candidate, reset, update, reverse, negative_slope)
    out, h_n = _states(*tensors, *options, gates if keep_gates else None, step, input_step, bits)
    return out, h_n, gates


def _states(
    x: Tensor,
    input_weight: Tensor | None,
    W: Tensor,
    input_bias: Tensor | None,
    bias: Tensor | None,
    recurrent_bias: Tensor | None,
    h0: Tensor,
    lengths: Tensor | None,
    candidate: str,
    reset: str,
    update: str,
    reverse: bool,
    negative_slope: float,
    gates: Tensor | None,
    step: Tensor | None,
    input_step: Tensor | None,
    bits: int,
) -> tuple[Tensor, Tensor]:
    """Return the states and the final state, and write the gates of all steps into `gates` if it is given."""
    T, B, m = x.shape
    n = W.shape[1]
    kernel_calls.check(
        W.dtype,
        W=(W, (3 * n, n)),
        x=(x, (T, B, 3 * n if input_weight is None else m)),
        input_weight=(input_weight, (3 * n, m)),
        input_bias=(input_bias, (3 * n if input_bias is None or input_bias.shape[0] != 2 * n else 2 * n,)),
        bias=(bias, (n,)),
        recurrent_bias=(recurrent_bias, (n,)),
        h0=(h0, (B, n)),
        step=(step, ()),
        input_step=(input_step, ()),
    )
    out, h_n = buffers.recycled((T, B, n), W.dtype), W.new_empty((B, n))
    kernel_calls.run_gated(
        "gated_forward",
        kernel_calls.rows(x),
        kernel_calls.packed(input_weight),
        W.contiguous(),
        kernel_calls.packed(input_bias),
        kernel_calls.packed(bias),
        kernel_calls.packed(recurrent_bias),
        h0.contiguous(),
        kernel_calls.lengths_for_c(lengths, B),
        (candidate, reverse, negative_slope),
        reset == "before",
        update == "keep",
        0 if input_bias is None else input_bias.shape[0] // n,
        out,
        h_n,
        gates,
        step=step,
        input_step=input_step,
        bits=bits,
    )
    return out, h_n


def _gates_shape(x: Tensor, W: Tensor, reset: str, keep_gates: bool) -> tuple[int, ...]:
    return (*x.shape[:2], (3 if reset == "before" else 4) * W.shape[1]) if keep_gates else (0,)


_forward = torch.library.custom_op("eigenloop::fused_gated", _run_forward, mutates_args=())


@_forward.register_fake
def _forward_fake(
    x: Tensor,
    input_weight: Any,
    W: Tensor,
    input_bias: Any,
    bias: Any,
    recurrent_bias: Any,
    h0: Tensor,
    lengths: Any,
    candidate: str,
    reset: str,
    update: str,
    reverse: bool,
    negative_slope: float,
    keep_gates: bool,
    step: Tensor | None,
    input_step: Tensor | None,
    bits: int,
) -> tuple[Tensor, Tensor, Tensor]:
    out, gates = x.new_empty((*x.shape[:2], W.shape[1])), x.new_empty(_gates_shape(x, W, reset, keep_gates))
    return out, h0.new_empty(h0.shape), gates


def _run_backward(
    grad_out: Tensor | None,
    grad_h_n: Tensor | None,
    out: Tensor,
    gates: Tensor,
    x: Tensor,
    input_weight: Tensor | None,
    W: Tensor,
    bias: Tensor | None,
    h0: Tensor,
    lengths: Tensor | None,
    candidate: str,
    reset: str,
    update: str,
    reverse: bool,
    negative_slope: float,
    biased_gates: int,
    wanted: list[bool],
    step: Tensor | None,
    input_step: Tensor | None,
    bits: int,
) -> list[Tensor]:
    """Return the gradients of x, U, W, the three biases, h0, step and input_step; empty if not `wanted`."""
    grads = _empty_grads(x, input_weight, W, h0, biased_gates, wanted)
    kernel_calls.run_gated(
        "gated_backward",
        kernel_calls.rows(x),
        kernel_calls.packed(input_weight),
        W.contiguous(),
        None,
        kernel_calls.packed(bias),
        None,
        h0.contiguous(),
        kernel_calls.lengths_for_c(lengths, x.shape[1]),
        (candidate, reverse, negative_slope),
        reset == "before",
        update == "keep",
        biased_gates,
        out,
        None,
        gates,
        None if grad_out is None else kernel_calls.rows(grad_out),
        kernel_calls.packed(grad_h_n),
        tuple(grad if want else None for grad, want in zip(grads, wanted, strict=True)),
        step=step,
        input_step=input_step,
        bits=bits,
    )
    return grads


def _empty_grads(
    x: Tensor, U: Tensor | None, W: Tensor, h0: Tensor, biased_gates: int, wanted: list[bool]
) -> list[Tensor]:
    n = W.shape[1]
    shapes = (x.shape, (0,) if U is None else U.shape, W.shape, (biased_gates * n,), (n,), (n,), h0.shape, (), ())
    return [W.new_empty(shape if want else (0,)) for shape, want in zip(shapes, wanted, strict=True)]


_backward = torch.library.custom_op("eigenloop::fused_gated_backward", _run_backward, mutates_args=())


@_backward.register_fake
def _backward_fake(*given: Any) -> list[Tensor]:
    _, _, _, _, x, input_weight, W, _, h0, *_, biased_gates, wanted, _, _, _ = given
    return _empty_grads(x, input_weight, W, h0, biased_gates, wanted)


def _setup_context(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, Tensor, Tensor]) -> None:
    *tensors, ctx.candidate, ctx.reset, ctx.update, ctx.reverse, ctx.slope, _, step, input_step, ctx.bits = inputs
    ctx.set_materialize_grads(False)
    ctx.mark_non_differentiable(output[2])
    ctx.save_for_backward(keep_states(ctx, output[0]), output[2], step, input_step, *tensors)


def _pull_back(
    ctx: Any, run_backward: Callable[..., Any], grad_out: Tensor | None, grad_h_n: Tensor | None, _: Any
) -> tuple[Tensor | None, ...]:
    if grad_out is None and grad_h_n is None:
        return (None,) * 17
    wanted = [*ctx.needs_input_grad[:7], *ctx.needs_input_grad[14:16]]
    options = (ctx.candidate, ctx.reset, ctx.update, ctx.reverse, ctx.slope)
    saved, gates, step, input_step, *tensors = ctx.saved_tensors
    inputs: tuple[Any, ...] = (*tensors, *options, False, step, input_step, ctx.bits)
    out = kept_states(ctx, saved, lambda: _run_forward(*inputs)[0])
    x, U, W, input_bias, bias, _, h0, lengths = tensors
    biased_gates = 0 if input_bias is None else input_bias.shape[0] // W.shape[1]
    given = (grad_out, grad_h_n, out, gates, x, U, W, bias, h0, lengths)
    grads = run_backward(*given, *options, biased_gates, wanted, step, input_step, ctx.bits)
    *input_grads, to_step, to_input_step = (grad if want else None for grad, want in zip(grads, wanted, strict=True))
    return (*input_grads, *(None,) * 7, to_step, to_input_step, None)


_fused_gated = differentiable(_forward, _backward, _setup_context, _pull_back, (_run_forward, _run_backward))
