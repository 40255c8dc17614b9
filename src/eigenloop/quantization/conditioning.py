"""How far a quantized orthogonal matrix is from orthogonal (QORNN section 3.4: equations 3 and 4, figure 1)."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor


def singular_ratio(W: Tensor) -> float:
    """Return sigma_min / sigma_max: 1 for an orthogonal matrix, 0 for the zero matrix, NaN if W is not finite.

    >>> singular_ratio(torch.diag(torch.tensor([2.0, 1.0])))
    0.5
    """
    if not bool(W.isfinite().all()):
        return float("nan")
    sigma = torch.linalg.svdvals(W.detach())
    return float(sigma[-1] / sigma[0]) if float(sigma[0]) > 0 else 0.0


@dataclass(frozen=True)
class Departure:
    """The distance of q(W) from orthogonal, and its bounds.

    Attributes:
        gram: ||q(W) q(W)^T - I||_F.
        gram_bound: 2 e + e^2 with e = n / 2^(k-1), equation 3.
        singular: the largest |sigma_i - 1|.
        singular_bound: e, equation 4.
    """

    gram: float
    gram_bound: float
    singular: float
    singular_bound: float


def departure(quantized: Tensor, bits: int) -> Departure:
    """Compare q(W) of an orthogonal W with the bounds (3) and (4), which hold because no entry of W exceeds 1.

    >>> measures = departure(torch.eye(2), bits=8)
    >>> measures.gram, measures.gram_bound
    (0.0, 0.031494140625)
    """
    wide = quantized.detach().double()
    eye = torch.eye(len(wide), dtype=wide.dtype, device=wide.device)
    error = len(wide) / 2 ** (bits - 1)
    return Departure(
        gram=float(torch.linalg.matrix_norm(wide @ wide.mT - eye)),
        gram_bound=2 * error + error**2,
        singular=float((torch.linalg.svdvals(wide) - 1).abs().max()),
        singular_bound=error,
    )
