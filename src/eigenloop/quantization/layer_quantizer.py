"""How a layer quantizes its matrices after they are built and before they are used."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from eigenloop import bit_widths
from eigenloop.quantization.quantizer import quantize

#: Penalties for the distance from orthogonal: ||W W^T - I||_F^2 (eq. 2), or sum (sigma_i - 1)^2 (appendix D).
REGULARISERS = ("gram", "spectral")
#: The divisors of a quantized matrix, by the value of `normalise`.
_SIZES: dict[str, Callable[[Tensor], Tensor]] = {
    "norm": lambda W: torch.linalg.matrix_norm(W, 2),
    "radius": lambda W: torch.linalg.eigvals(W).abs().max(),
}


@dataclass(frozen=True)
class Quantizer:
    """How a layer quantizes its matrices, each with its own step.

    Note [Rounding moves the spectrum]
        q(W) of an orthogonal W has a spectral radius above 1: for Haar matrices with n = 170, 1.001 at 8 bits, 1.009 at
        5, 1.03 at 4, 1.2 at 2. With ReLU, which sets half of the state to zero, this does not matter. But modReLU with
        a bias near 0 preserves the norm, so that the state grows by the radius at every step: over 784 steps by a
        factor of 80 at 5 bits, and beyond float32 at 3. Divided by its norm, the matrix forgets (radius 0.84 at 4
        bits); divided by its radius, the state neither grows nor decays. The division costs no memory: a device
        includes it in the step.

    Attributes:
        bits: k, 2 to 16.
        around_identity: the recurrent matrix becomes I + q(W - I), for W that stay near I (the adding problem).
        per_row: a separate step for each row instead of one for the matrix; not in the paper.
        normalise: divide the quantized recurrent matrix by its largest singular value, ``"norm"`` (STE-pen), or by its
            spectral radius, ``"radius"`` (not in the paper); see Note [Rounding moves the spectrum].
        penalty: lambda, the weight in the loss of that matrix's distance from orthogonal (STE-pen).
        regulariser: the measure of that distance, ``"gram"`` or ``"spectral"``.
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
        bit_widths.WEIGHTS.checked(self.bits, "bits")
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
        """Return the divisor of a quantized recurrent matrix, or None."""
        if self.normalise == "none" or not bool(quantized.isfinite().all()):
            return None  # the decompositions raise for NaN; without them it reaches the loss, where it is reported
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
    """Return the quantizer for a layer's options; None for floating point."""
    if isinstance(bits, Quantizer):
        if around_identity and not bits.around_identity:
            raise ValueError("around_identity=True beside a Quantizer without it: say it in the Quantizer")
        return bits
    if bits is None:
        if around_identity:
            raise ValueError("around_identity=True is about a quantized matrix: give bits=")
        return None
    return Quantizer(bits, around_identity)
