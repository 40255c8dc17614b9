"""Bjorck's orthogonalisation of a free matrix (Bjorck and Bowie 1971), the map of QORNN's STE-Bjorck (appendix B)."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from eigenloop import initializers
from eigenloop.matrices.orthogonality import OrthogonalMatrix, real_only

#: With a tolerance: 1.5 to this power lifts a singular value of 1e-35 of the largest to 1.
_MOST_ITERATIONS = 200


class Bjorck(OrthogonalMatrix):
    r"""W = A_K with A_0 = M / sigma_max(M) and A_{k+1} = A_k (I + sum_{i=1..p} (-1)^i binom(-1/2, i) Q_k^i).

    M is the free parameter, Q_k = I - A_k^T A_k, and p the order; p = 1 is A <- 1.5 A - 0.5 A A^T A. The gradient is
    exact, with sigma_max held constant as in the paper.

    Note [Iterating on singular values]
        The iteration acts on the singular values of M alone: A_K = U f(S) V^T for M = U S V^T, with f the
        K-fold composition of x -> x g(1 - x^2). One decomposition therefore gives W and its gradient for any
        number of iterations,

            dL/dM = U [ E . sym(U^T G V) + F . skew(U^T G V) ] V^T,
            E_ij = (f(s_i) - f(s_j)) / (s_i - s_j),   F_ij = (f(s_i) + f(s_j)) / (s_i + s_j),

        where E and F follow from the composition without a division, so equal singular values do no harm.
        Backpropagating through K iterations would keep K matrices and cost 6 K products.

    From an orthogonal start the map stays exact while M drifts. Singular values below 1/440 of the largest are
    not repaired by 15 iterations: give a `tolerance` where M may go far.

    Args:
        n: size.
        iterations: K.
        order: p.
        tolerance: iterate until max |1 - f(s)^2| is below it instead, however long that takes.
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
        """Orthogonalise M; see Note [Iterating on singular values]."""
        M = self.weight.double()
        if not torch.compiler.is_compiling() and not torch.isfinite(M).all():
            return torch.full_like(M, math.nan)  # what the decomposition would refuse; the caller names it
        return _BjorckMap.apply(M, self.iterations, self._coefficients, self.tolerance)

    def _take_orthogonal_(self, Q: Tensor, tolerance: float) -> None:
        self.weight.copy_(Q)

    def slow_parameters(self) -> list[nn.Parameter]:
        """Return M, which QORNN trains at lr / 32 or lr / 8."""
        return [self.weight]

    def extra_repr(self) -> str:
        """Show the size and what differs from the defaults."""
        shown = [str(self.n)]
        shown += [f"iterations={self.iterations}"] * (self.iterations != 15)
        shown += [f"order={self.order}"] * (self.order != 1)
        shown += [f"tolerance={self.tolerance}"] * (self.tolerance is not None)
        return ", ".join(shown)


class _BjorckMap(torch.autograd.Function):
    """U f(S) V^T and its exact gradient."""

    @staticmethod
    def forward(
        ctx: Any, M: Tensor, iterations: int, coefficients: tuple[float, ...], tolerance: float | None
    ) -> Tensor:
        U, S, Vh = torch.linalg.svd(M)
        sigma = S[0].clamp_min(torch.finfo(S.dtype).tiny)
        values, symmetric, skew = _compose(S / sigma, iterations, coefficients, tolerance)
        ctx.save_for_backward(U, Vh, symmetric / sigma, skew / sigma)
        return (U * values) @ Vh

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, G: Tensor) -> tuple[Tensor, None, None, None]:
        U, Vh, symmetric, skew = ctx.saved_tensors
        inner = U.mT @ G @ Vh.mT
        mean, half = (inner + inner.mT) / 2, (inner - inner.mT) / 2
        return U @ (symmetric * mean + skew * half) @ Vh, None, None, None


def _compose(
    x: Tensor, iterations: int, coefficients: tuple[float, ...], tolerance: float | None
) -> tuple[Tensor, Tensor, Tensor]:
    """Iterate x -> x g(1 - x^2) on the singular values, and with it the quotients E and F of the note.

    E is the divided difference of f at (x_i, x_j). f being odd, F is the one at (x_i, -x_j).
    """
    symmetric = skew = torch.ones(len(x), len(x), dtype=x.dtype, device=x.device)
    for _ in range(iterations if tolerance is None else _MOST_ITERATIONS):
        if tolerance is not None and float((1 - x * x).abs().max()) <= tolerance:
            break
        symmetric = symmetric * _divided_difference(x[:, None], x[None, :], coefficients)
        skew = skew * _divided_difference(x[:, None], -x[None, :], coefficients)
        x = x * _polynomial(1 - x * x, coefficients)
    return x, symmetric, skew


def _binomial(i: int) -> float:
    """Return binom(-1/2, i)."""
    return math.prod((-0.5 - k) / (k + 1) for k in range(i))


def _polynomial(q: Tensor, coefficients: tuple[float, ...]) -> Tensor:
    result = torch.full_like(q, coefficients[-1])
    for c in reversed(coefficients[:-1]):
        result = result * q + c
    return result


def _divided_difference(a: Tensor, b: Tensor, coefficients: tuple[float, ...]) -> Tensor:
    """Return (h(a) - h(b)) / (a - b) for h(x) = x g(1 - x^2), without dividing.

    By the product rule this is g(q_a) + b (g(q_a) - g(q_b)) / (a - b), and q_a - q_b = -(a - b) (a + b).
    """
    qa, qb = 1 - a * a, 1 - b * b
    # (g(qa) - g(qb)) / (qa - qb) by Horner's rule for both at once: d <- d qb + p(qa), p <- p qa + c.
    value, quotient = torch.full_like(qa + qb, coefficients[-1]), torch.zeros_like(qa + qb)
    for c in reversed(coefficients[:-1]):
        quotient = quotient * qb + value
        value = value * qa + c
    return value - b * (a + b) * quotient
