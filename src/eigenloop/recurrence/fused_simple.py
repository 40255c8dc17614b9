"""The simple recurrence in the compiled kernel: h_t = f(W h_{t-1} + U x_t + input_bias), for real states on the CPU.

Unlike the reference, the kernel takes x and U: it computes U x for a few steps at a time while they are in cache, and
accumulates the gradients of U and W in the same way, so that neither U x nor its gradient is ever stored in full.
Without U the input is U x.

The backward pass computes f'(z) from the states. In addition modReLU of pairs needs |z|, (T, B, n / 2), and a trained
quantization step s of the states needs dq/ds, (T, B, n): these are saved for a backward pass.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from eigenloop.recurrence import buffers, kernel, kernel_calls
from eigenloop.recurrence.differentiation import differentiable, keep_states, kept_states
from eigenloop.recurrence.rounding import NO_ROUNDING, Rounding

#: Name of modReLU acting on n / 2 pairs (`fused_complex`).
PAIRS = "complex modrelu"


def fused_simple(
    x: Tensor,
    input_weight: Tensor | None,
    W: Tensor,
    input_bias: Tensor | None,
    bias: Tensor | None,
    h0: Tensor,
    lengths: Tensor | None,
    activation: str,
    reverse: bool,
    negative_slope: float,
    rounding: Rounding | None = None,
) -> tuple[Tensor, Tensor]:
    """Run the recurrence in the kernel.

    Args:
        x: (T, B, m), or U x, (T, B, n), if `input_weight` is None.
        input_weight: U, (n, m) or None.
        W: (n, n).
        input_bias: added to W h + U x: (n,) or None.
        bias: modReLU's b: (n,), None for every other activation; (n / 2,) for pairs.
        h0: (B, n).
        lengths: (B,) int64 or None.
        activation: a key of `ACTIVATIONS`, or `PAIRS`.
        reverse: run from the last valid step to the first.
        negative_slope: leaky_relu's slope.
        rounding: round every state; not for pairs.

    Returns:
        The states (T, B, n) and the final state (B, n).
    """
    bits, step, input_step = rounding or NO_ROUNDING
    tensors = (x, input_weight, W, input_bias, bias, h0, lengths)
    given = (*tensors, step, input_step)
    needs_grad = torch.is_grad_enabled() and any(t is not None and t.requires_grad for t in given)
    if not needs_grad and kernel.reachable(*given):
        return _states(*tensors, activation, reverse, negative_slope, None, step, input_step, bits)
    keep = needs_grad and (activation == PAIRS or (step is not None and step.requires_grad))
    out, h_n, _ = _fused_simple(*tensors, activation, reverse, negative_slope, keep, step, input_step, bits)
    return out, h_n


def _run_forward(
    x: Tensor,
    input_weight: Tensor | None,
    W: Tensor,
    input_bias: Tensor | None,
    bias: Tensor | None,
    h0: Tensor,
    lengths: Tensor | None,
    activation: str,
    reverse: bool,
    negative_slope: float,
    keep: bool,
    step: Tensor | None,
    input_step: Tensor | None,
    bits: int,
) -> tuple[Tensor, Tensor, Tensor]:
    """Return the states, the final state, and |z| of pairs or dq/ds of rounded states (empty unless `keep`)."""
    kept = buffers.recycled(_kept_shape(x, W, step, keep), W.dtype)
    tensors = (x, input_weight, W, input_bias, bias, h0, lengths)
    out, h_n = _states(*tensors, activation, reverse, negative_slope, kept if keep else None, step, input_step, bits)
    return out, h_n, kept


def _kept_shape(x: Tensor, W: Tensor, step: Tensor | None, keep: bool) -> tuple[int, ...]:
    return (*x.shape[:2], W.shape[0] // 2 if step is None else W.shape[0]) if keep else (0,)


def _states(
    x: Tensor,
    input_weight: Tensor | None,
    W: Tensor,
    input_bias: Tensor | None,
    bias: Tensor | None,
    h0: Tensor,
    lengths: Tensor | None,
    activation: str,
    reverse: bool,
    negative_slope: float,
    kept: Tensor | None,
    step: Tensor | None,
    input_step: Tensor | None,
    bits: int,
) -> tuple[Tensor, Tensor]:
    """Return the states and the final state, and write |z| of pairs or dq/ds into `kept` if it is given."""
    T, B, m = x.shape
    n = W.shape[0]
    kernel_calls.check(
        W.dtype,
        W=(W, (n, n)),
        x=(x, (T, B, n if input_weight is None else m)),
        input_weight=(input_weight, (n, m)),
        input_bias=(input_bias, (n,)),
        bias=(bias, _bias_shape(n, activation)),
        h0=(h0, (B, n)),
        step=(step, ()),
        input_step=(input_step, ()),
    )
    out, h_n = buffers.recycled((T, B, n), W.dtype), W.new_empty((B, n))
    kernel_calls.run_simple(
        "simple_forward",
        kernel_calls.rows(x),
        kernel_calls.packed(input_weight),
        W.contiguous(),
        kernel_calls.packed(input_bias),
        kernel_calls.packed(bias),
        h0.contiguous(),
        kernel_calls.lengths_for_c(lengths, B),
        (activation, reverse, negative_slope),
        out,
        h_n,
        kept if step is None else None,
        slopes=None if step is None else kept,
        step=step,
        input_step=input_step,
        bits=bits,
    )
    return out, h_n


_forward = torch.library.custom_op("eigenloop::fused_simple", _run_forward, mutates_args=())


@_forward.register_fake
def _forward_fake(
    x: Tensor, input_weight: Any, W: Tensor, input_bias: Any, bias: Any, h0: Tensor, *rest: Any
) -> tuple[Tensor, Tensor, Tensor]:
    *_, keep, step, _, _ = rest
    out = x.new_empty((*x.shape[:2], W.shape[0]))
    return out, h0.new_empty(h0.shape), x.new_empty(_kept_shape(x, W, step, keep))


def _run_backward(
    grad_out: Tensor | None,
    grad_h_n: Tensor | None,
    out: Tensor,
    kept: Tensor,
    x: Tensor,
    input_weight: Tensor | None,
    W: Tensor,
    bias: Tensor | None,
    h0: Tensor,
    lengths: Tensor | None,
    activation: str,
    reverse: bool,
    negative_slope: float,
    wanted: list[bool],
    step: Tensor | None,
    input_step: Tensor | None,
    bits: int,
) -> list[Tensor]:
    """Return the gradients of x, U, W, input_bias, bias, h0, step and input_step; empty if not `wanted`."""
    grads = _empty_grads(x, input_weight, W, h0, activation, wanted)
    kernel_calls.run_simple(
        "simple_backward",
        kernel_calls.rows(x),
        kernel_calls.packed(input_weight),
        W.contiguous(),
        None,
        kernel_calls.packed(bias),
        h0.contiguous(),
        kernel_calls.lengths_for_c(lengths, x.shape[1]),
        (activation, reverse, negative_slope),
        out,
        None,
        kept if activation == PAIRS else None,
        None if grad_out is None else kernel_calls.rows(grad_out),
        kernel_calls.packed(grad_h_n),
        tuple(grad if want else None for grad, want in zip(grads, wanted, strict=True)),
        slopes=kept if wanted[-2] else None,
        step=step,
        input_step=input_step,
        bits=bits,
    )
    return grads


def _bias_shape(n: int, activation: str) -> tuple[int]:
    return (n // 2 if activation == PAIRS else n,)


def _empty_grads(
    x: Tensor, U: Tensor | None, W: Tensor, h0: Tensor, activation: str, wanted: list[bool]
) -> list[Tensor]:
    n = W.shape[0]
    shapes = (x.shape, (0,) if U is None else U.shape, W.shape, (n,), _bias_shape(n, activation), h0.shape, (), ())
    return [W.new_empty(shape if want else (0,)) for shape, want in zip(shapes, wanted, strict=True)]


_backward = torch.library.custom_op("eigenloop::fused_simple_backward", _run_backward, mutates_args=())


@_backward.register_fake
def _backward_fake(*given: Any) -> list[Tensor]:
    _, _, _, _, x, input_weight, W, _, h0, _, activation, _, _, wanted, *_ = given
    return _empty_grads(x, input_weight, W, h0, activation, wanted)


def _setup_context(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, Tensor, Tensor]) -> None:
    *tensors, ctx.activation, ctx.reverse, ctx.slope, _, step, input_step, ctx.bits = inputs
    ctx.set_materialize_grads(False)
    ctx.mark_non_differentiable(output[2])
    ctx.save_for_backward(keep_states(ctx, output[0]), output[2], step, input_step, *tensors)


def _pull_back(
    ctx: Any, run_backward: Callable[..., Any], grad_out: Tensor | None, grad_h_n: Tensor | None, grad_kept: None
) -> tuple[Tensor | None, ...]:
    if grad_out is None and grad_h_n is None:
        return (None,) * 14
    wanted = [*ctx.needs_input_grad[:6], *ctx.needs_input_grad[11:13]]
    options = (ctx.activation, ctx.reverse, ctx.slope)
    saved, kept, step, input_step, *tensors = ctx.saved_tensors
    inputs: tuple[Any, ...] = (*tensors, *options, False, step, input_step, ctx.bits)
    out = kept_states(ctx, saved, lambda: _run_forward(*inputs)[0])
    x, U, W, _, bias, h0, lengths = tensors
    given = (grad_out, grad_h_n, out, kept, x, U, W, bias, h0, lengths)
    grads = run_backward(*given, *options, wanted, step, input_step, ctx.bits)
    *input_grads, to_step, to_input_step = (grad if want else None for grad, want in zip(grads, wanted, strict=True))
    return (*input_grads, *(None,) * 5, to_step, to_input_step, None)


_fused_simple = differentiable(_forward, _backward, _setup_context, _pull_back, (_run_forward, _run_backward))
