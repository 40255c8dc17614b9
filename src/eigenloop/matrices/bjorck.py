"""Bjorck's orthogonalisation of a free matrix (Bjorck and Bowie 1971), the map of QORNN's STE-Bjorck (appendix B)."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from eigenloop import initializers
from eigenloop.matrices.orthogonality import OrthogonalMatrix, real_only

#: Limit of iterations with a tolerance: 1.5 to this power brings a relative singular value of 1e-35 to 1.
_MOST_ITERATIONS = 200
#: A squared singular value below this counts as zero: later products with its inverse would overflow.
_LEAST_SQUARE = 1e-100


class Bjorck(OrthogonalMatrix):
    r"""W = A_K with A_0 = M / sigma_max(M) and A_{k+1} = A_k (I + sum_{i=1..p} (-1)^i binom(-1/2, i) Q_k^i).

    M is the free parameter, Q_k = I - A_k^T A_k, and p the order; p = 1 is A <- 1.5 A - 0.5 A A^T A. The gradient is
    exact, with sigma_max held constant as in the paper.

    Note [Iterating on eigenvalues]
        The iteration acts on the eigenvalues of M^T M alone: with M^T M = V diag(l) V^T it gives
        A_K = M V diag(r(l)) V^T for a polynomial r. One symmetric decomposition therefore gives W and its gradient
        for any number of iterations,

            dL/dM = G R + 2 M V [ E . sym(V^T M^T G V) ] V^T,   R = V diag(r(l)) V^T,
            E_ij = (r(l_i) - r(l_j)) / (l_i - l_j),

        where E is computed along with r without a division, so that equal eigenvalues are no problem. Backpropagating
        through K iterations would store K matrices and cost 6 K products.

    If M starts orthogonal, W stays orthogonal while training changes M moderately. 15 iterations do not orthogonalise
    singular values below 1/440 of the largest: set a `tolerance` if M may become that ill-conditioned.

    Args:
        n: size.
        iterations: K.
        order: p.
        tolerance: instead of K iterations, iterate until every singular value s has |1 - s^2| below it; less accurate
            for singular values of M below 1e-6 of the largest, which double precision cannot resolve.
        init: ``"haar"``, ``"identity"``, ``"cayley"``, ``"henaff"``, or an orthogonal matrix.
        generator: for reproducible draws.

    >>> Bjorck(6).defect() < 1e-6
    True
    """

    _anchor = "weight"

    def __init__(
        self,
        n: int,
        *,
        iterations: int = 15,
        order: int = 1,
        tolerance: float | None = None,
        init: str | Tensor = "haar",
        generator: torch.Generator | None = None,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__(n)
        real_only(self, dtype)
        for name, value in (("iterations", iterations), ("order", order)):
            if isinstance(value, bool) or not isinstance(value, int) or value < 1:
                raise ValueError(f"{name} is a whole number of at least 1, got {value!r}")
        if tolerance is not None and not tolerance > 0:
            raise ValueError(f"tolerance must be positive or None, got {tolerance}")
        self.iterations, self.order, self.tolerance = iterations, order, tolerance
        self._coefficients = tuple((-1) ** i * _binomial(i) for i in range(order + 1))
        self.weight = nn.Parameter(torch.empty(n, n, device=device, dtype=dtype))
        self.assign_(initializers.start(init, n, generator))

    def exact(self) -> Tensor:
        """Orthogonalise M; see Note [Iterating on eigenvalues]."""
        M = self.weight.double()
        if not torch.compiler.is_compiling() and not torch.isfinite(M).all():
            return torch.full_like(M, math.nan)  # the decomposition would fail; the caller raises a clear error
        return _BjorckMap.apply(M, self.iterations, self._coefficients, self.tolerance)

    def _take_orthogonal_(self, Q: Tensor, tolerance: float) -> None:
        self.weight.copy_(Q)

    def slow_parameters(self) -> list[nn.Parameter]:
        """Return M, which QORNN trains at lr / 32 or lr / 8."""
        return [self.weight]

    def extra_repr(self) -> str:
        """Return the size and all options that differ from their defaults, for the printed module."""
        shown = [str(self.n)]
        shown += [f"iterations={self.iterations}"] * (self.iterations != 15)
        shown += [f"order={self.order}"] * (self.order != 1)
        shown += [f"tolerance={self.tolerance}"] * (self.tolerance is not None)
        return ", ".join(shown)


class _BjorckMap(torch.autograd.Function):
    """M V r(l) V^T and its exact gradient."""

    @staticmethod
    def forward(
        ctx: Any, M: Tensor, iterations: int, coefficients: tuple[float, ...], tolerance: float | None
    ) -> Tensor:
        values, V = torch.linalg.eigh(M.mT @ M)
        r, quotients = _compose(values.clamp_min(0), iterations, coefficients, tolerance)
        R = (V * r) @ V.mT
        ctx.save_for_backward(M, V, R, quotients)
        return M @ R

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, G: Tensor) -> tuple[Tensor, None, None, None]:
        M, V, R, quotients = ctx.saved_tensors
        inner = V.mT @ (M.mT @ G) @ V
        return G @ R + M @ (V @ (quotients * (inner + inner.mT)) @ V.mT), None, None, None


def _compose(
    values: Tensor, iterations: int, coefficients: tuple[float, ...], tolerance: float | None
) -> tuple[Tensor, Tensor]:
    """Iterate r <- r g(1 - l r^2) from 1 / sigma_max on the eigenvalues l; return r and the quotients E of the note.

    y = l r^2 is the squared singular value of A_k. Divided differences obey D(fg) = f_i D(g) + g_j D(f).
    """
    # M = 0 cannot be scaled: neither it nor its gradient is changed.
    vanishes = values[-1] <= _LEAST_SQUARE
    sigma_squared = torch.where(vanishes, values.new_ones(()), values[-1])
    r, y = sigma_squared.rsqrt().expand_as(values), values / sigma_squared
    Dr = torch.zeros(len(values), len(values), dtype=values.dtype, device=values.device)
    Dy = Dr + 1 / sigma_squared
    for _ in range(iterations if tolerance is None else _MOST_ITERATIONS):
        if tolerance is not None and float((1 - y).abs().max()) <= tolerance:
            break
        g, slope = _polynomial(1 - y, coefficients)
        Dg = -slope * Dy
        Dr = r[:, None] * Dg + g[None, :] * Dr
        Dy = y[:, None] * (g[:, None] + g[None, :]) * Dg + (g * g)[None, :] * Dy
        r, y = r * g, y * g * g
    return torch.where(vanishes, torch.ones_like(r), r), torch.where(vanishes, torch.zeros_like(Dr), Dr)


def _binomial(i: int) -> float:
    """Return binom(-1/2, i)."""
    return math.prod((-0.5 - k) / (k + 1) for k in range(i))


def _polynomial(q: Tensor, coefficients: tuple[float, ...]) -> tuple[Tensor, Tensor]:
    """Return g(q) and (g(q_i) - g(q_j)) / (q_i - q_j), both by Horner's rule and without a division."""
    value = torch.full_like(q, coefficients[-1])
    quotient = torch.zeros(len(q), len(q), dtype=q.dtype, device=q.device)
    for c in reversed(coefficients[:-1]):
        quotient = quotient * q[None, :] + value[:, None]
        value = value * q + c
    return value, quotient
