"""What a quantized layer does with its matrices, after they are built and before they are used."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from eigenloop.quantization.quantizer import checked_bits, quantize

#: How far a matrix is from orthogonal, as a penalty: ||W W^T - I||_F^2 (eq. 2), or sum (sigma_i - 1)^2 (appendix D).
REGULARISERS = ("gram", "spectral")
#: What a quantized matrix may be divided by.
_SIZES: dict[str, Callable[[Tensor], Tensor]] = {
    "norm": lambda W: torch.linalg.matrix_norm(W, 2),
    "radius": lambda W: torch.linalg.eigvals(W).abs().max(),
}


@dataclass(frozen=True)
class Quantizer:
    """How a layer quantizes its matrices, each with a step of its own.

    Note [Rounding moves the spectrum]
        q(W) of an orthogonal W has a spectral radius above 1: for Haar matrices with n = 170 1.001 at 8 bits, 1.009 at
        5, 1.03 at 4, 1.2 at 2. ReLU, which sets half of the state to zero, hides that; modReLU with a bias near 0
        changes no norm, so a state grows by the radius at every step, over 784 steps 80 times at 5 bits and beyond
        float32 at 3. Divided by its norm the matrix forgets (radius 0.84 at 4 bits); divided by its radius it does
        neither. The division costs no bit: a device multiplies the step by it once.

    Attributes:
        bits: k, 2 to 16.
        around_identity: the recurrent matrix becomes I + q(W - I), for W that stay near I (the adding problem).
        per_row: a step for every row instead of one for the matrix, which the paper does not have.
        normalise: divide the quantized recurrent matrix by its largest singular value, ``"norm"`` (STE-pen), or by its
            spectral radius, ``"radius"``, which the paper does not have; see Note [Rounding moves the spectrum].
        penalty: lambda, what the distance of that matrix from orthogonal weighs in the loss (STE-pen).
        regulariser: that distance, ``"gram"`` or ``"spectral"``.
        post_training: train in floating point and quantize in evaluation only (PTQ).
    """

    bits: int
    around_identity: bool = False
    per_row: bool = False
    normalise: Literal["none", "norm", "radius"] = "none"
    penalty: float = 0.0
    regulariser: str = "gram"
    post_training: bool = False

    def __post_init__(self) -> None:
        checked_bits(self.bits)
        if self.regulariser not in REGULARISERS:
            raise ValueError(f"regulariser={self.regulariser!r} is not known: choose {' or '.join(REGULARISERS)}")
        if self.normalise not in ("none", *_SIZES):
            raise ValueError(f"normalise={self.normalise!r} is not known: choose none, {' or '.join(_SIZES)}")
        if not self.penalty >= 0:
            raise ValueError(f"penalty must not be negative, got {self.penalty}")

    def recurrent(self, W: Tensor) -> Tensor:
        """Quantize a recurrent matrix."""
        if self.around_identity:
            eye = torch.eye(W.shape[-1], dtype=W.dtype, device=W.device)
            quantized = eye + quantize(W - eye, self.bits, self.per_row)
        else:
            quantized = quantize(W, self.bits, self.per_row)
        divisor = self.divisor(quantized.detach())  # a constant in the backward pass, as alpha is
        return quantized if divisor is None else quantized / divisor

    def divisor(self, quantized: Tensor) -> Tensor | None:
        """Return what a quantized recurrent matrix is divided by, if by anything."""
        if self.normalise == "none" or not bool(quantized.isfinite().all()):
            return None  # the decompositions refuse NaN; here it goes on to the loss, which says so
        return _SIZES[self.normalise](quantized).clamp_min(torch.finfo(quantized.dtype).tiny)

    def input(self, U: Tensor) -> Tensor:
        """Quantize an input matrix."""
        return quantize(U, self.bits, self.per_row)

    def distance(self, quantized: Tensor) -> Tensor:
        """Return `penalty` times the distance of a quantized recurrent matrix from orthogonal."""
        if self.regulariser == "spectral":
            return self.penalty * (torch.linalg.svdvals(quantized) - 1).square().sum()
        eye = torch.eye(len(quantized), dtype=quantized.dtype, device=quantized.device)
        return self.penalty * (quantized @ quantized.mT - eye).square().sum()


def made_quantizer(bits: int | Quantizer | None, around_identity: bool) -> Quantizer | None:
    """Return the quantizer that a layer's options describe."""
    if isinstance(bits, Quantizer):
        if around_identity and not bits.around_identity:
            raise ValueError("around_identity=True beside a Quantizer without it: say it in the Quantizer")
        return bits
    if bits is None:
        if around_identity:
            raise ValueError("around_identity=True is about a quantized matrix: give bits=")
        return None
    return Quantizer(bits, around_identity)
