"""The Neumann-Cayley update as in its authors' code, for comparison only."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from eigenloop.matrices import ScaledCayley, triangle

#: The authors' code recomputes the inverse every 49 steps; the paper says 50.
RESET_EVERY = 49


class PublishedNeumann(ScaledCayley):
    """U = Z (I - A) D where Z is updated with lr times the gradient, but A with the optimizer's step.

    NC-GRU's algorithm 1 updates Z with deltaA = optimizer_A(gradient), the step that A takes. The published code uses
    lr * gradient instead. Adam's step has entries of about lr, whatever the size of the gradient, so lr * gradient is
    smaller by orders of magnitude: between two resets Z hardly changes while A does, and U is no longer orthogonal. The
    gradient is the paper's (eq. 5 and 6), with this Z and this U.

    Args:
        start: a matrix that gives the initial A and D.

    >>> float(PublishedNeumann(ScaledCayley(4)).defect()) < 1e-6
    True
    """

    inverse: Tensor

    def __init__(self, start: ScaledCayley) -> None:
        super().__init__(start.n, negative=start.negative, device=start.device, dtype=start.dtype)
        with torch.no_grad():
            self.skew.copy_(start.skew)
            self.signs.copy_(start.signs)
        self.register_buffer("inverse", self._exact_inverse())
        self.steps = 0

    @torch.no_grad()
    def _exact_inverse(self) -> Tensor:
        A = triangle.skew(self.skew.double(), self.n)
        return torch.linalg.inv(torch.eye(self.n, dtype=A.dtype, device=A.device) + A).to(self.skew.dtype)

    def _map(self) -> Tensor:
        return _PublishedMap.apply(self.skew, self.inverse, self.signs)

    def exact(self) -> Tensor:
        """Return U as the network uses it, cast to double precision."""
        return self._map().double()

    @torch.no_grad()
    def follow_(self, lr: float) -> None:
        """Update Z after an optimizer step, from the gradient of that step; raises RuntimeError without a gradient."""
        if self.skew.grad is None:
            raise RuntimeError("the skew entries have no gradient: call follow_ after the optimizer's step")
        self.steps += 1
        if self.steps % RESET_EVERY == 0:
            self.inverse.copy_(self._exact_inverse())
        else:
            self.inverse.copy_(series(self.inverse, triangle.skew(lr * self.skew.grad, self.n), order=2))


def series(Z: Tensor, step: Tensor, order: int) -> Tensor:
    """Return (I + X + ... + X^order) Z with X = Z step: about (I + A - step)^-1 if Z = (I + A)^-1 (eq. 18).

    >>> eye = torch.eye(2)
    >>> series(eye, 0.1 * eye, order=2)[0, 0]
    tensor(1.1100)
    """
    X = Z @ step
    inverse = Z
    for _ in range(order):
        inverse = torch.addmm(Z, X, inverse)
    return inverse


class _PublishedMap(torch.autograd.Function):
    """U = Z (I - A) D with the gradient dL/dA = V^T - V, V = Z^T G (D + U^T)."""

    @staticmethod
    def forward(ctx: Any, entries: Tensor, Z: Tensor, signs: Tensor) -> Tensor:
        U = (Z - Z @ triangle.skew(entries, len(Z))) * signs
        ctx.save_for_backward(Z, U, signs)
        return U

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, G: Tensor) -> tuple[Tensor, None, None]:
        Z, U, signs = ctx.saved_tensors
        V = Z.mT @ G @ (torch.diag(signs) + U.mT)
        return triangle.upper_entries(V.mT - V), None, None
