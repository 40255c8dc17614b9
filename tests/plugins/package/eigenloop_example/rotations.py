"""A matrix of one's own: rotations of n / 2 planes, each by a trained angle."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from eigenloop.matrices import NotInSetError, OrthogonalMatrix


class Rotations(OrthogonalMatrix):
    """W = diag(R(theta_1), ..., R(theta_{n/2})), R(theta) = [[cos, -sin], [sin, cos]]."""

    _anchor = "theta"

    def __init__(self, n: int, *, largest: float = 3.0, generator: torch.Generator | None = None) -> None:
        super().__init__(n)
        if n % 2:
            raise ValueError(f"rotations turn planes, so n is even, got {n}")
        self.theta = nn.Parameter((2 * torch.rand(n // 2, generator=generator) - 1) * largest)

    def exact(self) -> Tensor:
        theta = self.theta.double()
        cos, sin = theta.cos(), theta.sin()
        planes = torch.stack([torch.stack([cos, -sin], -1), torch.stack([sin, cos], -1)], -2)
        return torch.block_diag(*planes)

    def _take_orthogonal_(self, Q: Tensor, tolerance: float) -> None:
        theta = torch.atan2(Q.diagonal(-1)[::2], Q.diagonal()[::2])
        before = self.theta.detach().clone()
        self.theta.copy_(theta)
        distance = (self.exact() - Q).abs().max().item()
        if distance > tolerance:
            self.theta.copy_(before)
            found = f"has max|W - R| = {distance:.3g}"
            raise NotInSetError("Rotations", "rotations of planes", found, distance, tolerance, "use ScaledCayley")

    def slow_parameters(self) -> list[nn.Parameter]:
        return [self.theta]
