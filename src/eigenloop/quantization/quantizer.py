"""The uniform k-bit quantizer of QORNN (Foucault, Mamalet, Malgouyres 2024, section 3.3)."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

#: The widths that are offered.
FEWEST, MOST = 2, 16


def codes(W: Tensor, bits: int, per_row: bool = False) -> tuple[Tensor, Tensor]:
    """Return the whole numbers c and the step s of the nearest c * s, with c in -2^(k-1) .. 2^(k-1) - 1.

    s = alpha / 2^(k-1), alpha = max |W|; halves are rounded to even. A positive entry of alpha itself has no code and
    gets the one below.

    Args:
        W: real, (..., rows, columns).
        bits: k.
        per_row: a step for every row, which the paper does not have.

    >>> codes(torch.tensor([[1.0, -1.0, 0.3, 0.0]]), bits=2)
    (tensor([[ 1., -2.,  1.,  0.]]), tensor(0.5000))
    """
    if W.is_complex():
        raise TypeError(f"the quantizer is for real matrices, got {W.dtype}")
    half = 2 ** (checked_bits(bits) - 1)
    largest = W.detach().abs()
    alpha = largest.amax(-1, keepdim=True) if per_row else largest.max() if W.numel() else W.new_zeros(())
    # Zeros are zeros at any step, and what has no step of its own in this precision counts as zero.
    step = torch.where(alpha / half < torch.finfo(W.dtype).tiny, torch.ones_like(alpha), alpha) / half
    return (W.detach() / step).round().clamp(-half, half - 1), step


def quantize(W: Tensor, bits: int, per_row: bool = False) -> Tensor:
    """Return q(W), the nearest matrix on the grid; its gradient goes to W as it is (straight-through, unmasked).

    >>> quantize(torch.tensor([[1.0, -1.0, 0.3, 0.0]]), bits=2)
    tensor([[ 0.5000, -1.0000,  0.5000,  0.0000]])
    """
    quantized: Tensor = _StraightThrough.apply(W, bits, per_row)
    return quantized


class _StraightThrough(torch.autograd.Function):
    """q(W) forward, the identity backward: W + (q(W) - W) would round off the grid."""

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


def checked_bits(bits: int) -> int:
    """Refuse a width that is not offered."""
    if isinstance(bits, bool) or not isinstance(bits, int):
        raise TypeError(f"bits is a whole number from {FEWEST} to {MOST}, got {bits!r}")
    if not FEWEST <= bits <= MOST:
        raise ValueError(f"bits is a whole number from {FEWEST} to {MOST}, got {bits}")
    return bits
