"""The uniform k-bit quantizer of QORNN (Foucault, Mamalet, Malgouyres 2024, section 3.3)."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from eigenloop import bit_widths


def codes(W: Tensor, bits: int, per_row: bool = False) -> tuple[Tensor, Tensor]:
    """Return the integer codes c and the step s for which c * s is nearest to W, with c in -2^(k-1) .. 2^(k-1) - 1.

    s = alpha / 2^(k-1), alpha = max |W|; halves are rounded to even. An entry +alpha would need the code 2^(k-1) and is
    clamped to the one below.

    Args:
        W: real, (..., rows, columns).
        bits: k.
        per_row: a separate step for each row; not in the paper.

    >>> codes(torch.tensor([[1.0, -1.0, 0.3, 0.0]]), bits=2)
    (tensor([[ 1., -2.,  1.,  0.]]), tensor(0.5000))
    """
    if W.is_complex():
        raise TypeError(f"the quantizer is for real matrices, got {W.dtype}")
    half = 2 ** (bit_widths.WEIGHTS.checked(bits, "bits") - 1)
    largest = W.detach().abs()
    alpha = largest.amax(-1, keepdim=True) if per_row else largest.max() if W.numel() else W.new_zeros(())
    # An all-zero W has code 0 with any step; so has a W so small that its step would underflow.
    step = torch.where(alpha / half < torch.finfo(W.dtype).tiny, torch.ones_like(alpha), alpha) / half
    return (W.detach() / step).round().clamp(-half, half - 1), step


def quantize(W: Tensor, bits: int, per_row: bool = False) -> Tensor:
    """Return q(W) = c * s, the nearest matrix on the grid; the gradient passes to W unchanged (straight-through).

    >>> quantize(torch.tensor([[1.0, -1.0, 0.3, 0.0]]), bits=2)
    tensor([[ 0.5000, -1.0000,  0.5000,  0.0000]])
    """
    quantized: Tensor = _StraightThrough.apply(W, bits, per_row)
    return quantized


class _StraightThrough(torch.autograd.Function):
    """q(W) forward, the identity backward; the usual W + (q(W) - W) would leave the grid by rounding."""

    generate_vmap_rule = True

    @staticmethod
    def forward(W: Tensor, bits: int, per_row: bool) -> Tensor:
        number, step = codes(W, bits, per_row)
        return number * step

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        pass

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None, None]:
        return gradients[0], None, None
