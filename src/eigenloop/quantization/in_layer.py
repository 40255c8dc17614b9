"""What a quantized layer does with its matrices, after they are built and before they are used."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from eigenloop.quantization.quantizer import checked_bits, quantize

#: How far a matrix is from orthogonal, as a penalty: ||W W^T - I||_F^2 (eq. 2), or sum (sigma_i - 1)^2 (appendix D).
REGULARISERS = ("gram", "spectral")


@dataclass(frozen=True)
class Quantizer:
    """How a layer quantizes its matrices, each with a step of its own.

    Attributes:
        bits: k, 2 to 16.
        around_identity: the recurrent matrix becomes I + q(W - I), for W that stay near I (the adding problem).
        per_row: a step for every row instead of one for the matrix, which the paper does not have.
        normalise: divide the quantized recurrent matrix by its largest singular value (STE-pen).
        penalty: lambda, what the distance of that matrix from orthogonal weighs in the loss (STE-pen).
        regulariser: that distance, ``"gram"`` or ``"spectral"``.
        post_training: train in floating point and quantize in evaluation only (PTQ).
    """

    bits: int
    around_identity: bool = False
    per_row: bool = False
    normalise: bool = False
    penalty: float = 0.0
    regulariser: str = "gram"
    post_training: bool = False

    def __post_init__(self) -> None:
        checked_bits(self.bits)
        if self.regulariser not in REGULARISERS:
            raise ValueError(f"regulariser={self.regulariser!r} is not known: choose {' or '.join(REGULARISERS)}")
        if not self.penalty >= 0:
            raise ValueError(f"penalty must not be negative, got {self.penalty}")

    def recurrent(self, W: Tensor) -> Tensor:
        """Quantize a recurrent matrix."""
        if self.around_identity:
            eye = torch.eye(W.shape[-1], dtype=W.dtype, device=W.device)
            quantized = eye + quantize(W - eye, self.bits, self.per_row)
        else:
            quantized = quantize(W, self.bits, self.per_row)
        if self.normalise:
            # A constant in the backward pass, as alpha is.
            norm = torch.linalg.matrix_norm(quantized.detach(), 2)
            quantized = quantized / norm.clamp_min(torch.finfo(W.dtype).tiny)
        return quantized

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
