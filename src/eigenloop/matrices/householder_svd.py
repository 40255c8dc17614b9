"""Spectral RNN (Zhang, Lei, Dhillon 2018, section 4): W = U Sigma V^T with singular values in a band around 1."""

from __future__ import annotations

import copy

import torch
from torch import Tensor, nn

from eigenloop.matrices.base import Matrix
from eigenloop.matrices.errors import NotInSetError
from eigenloop.matrices.householder import Householder
from eigenloop.matrices.orthogonality import real_only, verified_svd


class HouseholderSVD(Matrix):
    r"""W = U diag(sigma) V^T, U and V products of reflections, sigma_i = 1 + 2 margin (sigmoid(p_i) - 1/2).

    Every singular value lies within `margin` of 1. Training moves the reflections of both sides and p.

    Args:
        n: size.
        reflections: number for each of U and V, from 1 to n; default: min(16, n). n represents every W in the set.
        margin: half the width of the band, from 0 (orthogonal) to below 1.
        generator: for reproducible draws.

    >>> W = HouseholderSVD(6, margin=0.1)()
    >>> bool((torch.linalg.svdvals(W) - 1).abs().max() < 0.1)
    True
    """

    _anchor = "spread"

    def __init__(
        self,
        n: int,
        *,
        reflections: int | None = None,
        margin: float = 0.01,
        generator: torch.Generator | None = None,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__(n)
        real_only(self, dtype)
        if not 0 <= margin < 1:
            raise ValueError(f"margin, the distance of singular values from 1, must lie in [0, 1), got {margin}")
        self.margin = float(margin)
        self.left = Householder(n, reflections=reflections, generator=generator, device=device, dtype=dtype)
        self.right = Householder(n, reflections=reflections, generator=generator, device=device, dtype=dtype)
        self.spread = nn.Parameter(torch.zeros(n, device=device, dtype=dtype))

    def singular_values(self) -> Tensor:
        """Compute sigma in double precision: (n,)."""
        return 1 + 2 * self.margin * (torch.sigmoid(self.spread.double()) - 0.5)

    def exact(self) -> Tensor:
        """Compute W = U diag(sigma) V^T."""
        return (self.left.exact() * self.singular_values()) @ self.right.exact().mT

    def defect(self) -> float:
        """Return the largest distance of a singular value of the built W from the band."""
        with torch.no_grad():
            sigma = torch.linalg.svdvals(self().double())
        return float(((sigma - 1).abs() - self.margin).clamp_min(0).max())

    def _take_(self, W: Tensor, tolerance: float) -> None:
        U, sigma, Vh = verified_svd(W)
        distance = float(((sigma - 1).abs() - self.margin).clamp_min(0).max())
        if distance > tolerance:
            raise NotInSetError(
                "HouseholderSVD",
                f"matrices with singular values within {self.margin} of 1",
                f"has a singular value {distance:.3g} outside that band",
                distance,
                tolerance,
                "choose a larger margin, or use Free",
            )
        left, right = copy.deepcopy(self.left), copy.deepcopy(self.right)
        left.assign_(U)
        right.assign_(Vh.mT)
        self.left.load_state_dict(left.state_dict())
        self.right.load_state_dict(right.state_dict())
        if self.margin > 0:
            # Exactly at the edge of the band p would be infinite.
            share = ((sigma - 1) / (2 * self.margin) + 0.5).clamp(1e-6, 1 - 1e-6)
            self.spread.copy_(torch.logit(share))

    def slow_parameters(self) -> list[nn.Parameter]:
        """Return the vectors of the reflections in U and V."""
        return [*self.left.slow_parameters(), *self.right.slow_parameters()]

    def extra_repr(self) -> str:
        """Return the size and the margin, for the printed module."""
        return f"{self.n}, margin={self.margin}"
