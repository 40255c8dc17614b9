"""The Neumann-Cayley map of NC-GRU (Mucllari et al. 2022, algorithm 1): the inverse is updated, not recomputed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from eigenloop.matrices import triangle
from eigenloop.matrices.cayley import ScaledCayley
from eigenloop.matrices.opaque import opaque

#: Random vectors that estimate the residual; several, because a single one may be nearly orthogonal to it.
_PROBES = 8


class NeumannCayley(ScaledCayley):
    r"""An orthogonal W = (I + A)^-1 (I - A) D whose inverse Z is updated by a Neumann series.

    After the optimizer has changed A by S, the new inverse is (I + Z S)^-1 Z, and with X = -Z S the series gives

        Z <- (I + X + X^2 + ... + X^order) Z,

    which needs ||X|| < 1 and leaves a residual of about ||X||^(order + 1). Z is recomputed exactly every
    `reset_every` steps, and whenever its residual exceeds `tolerance`.

    Note [The step that was really taken]
        The published code updates Z with lr times the raw gradient, while A moves by Adam's step, which is orders of
        magnitude larger: Z is stale and W loses orthogonality (0.2 to 1.9 in the Frobenius norm at n = 56). Here
        the module stores the skew entries that Z was computed for; their difference from the current entries in a
        training forward pass is the step, whichever optimizer took it.

    W is computed as (2 Z - I) D, which equals Z (I - A) D for the exact Z but does not multiply the error of Z by a
    large A. The gradient is scoRNN's closed form with the updated Z: V = 2 Z^T (G D) Z^T, dL/dA = V^T - V (first
    derivatives only). In evaluation, if Z is not up to date, W is computed with the exact inverse and Z is not changed.

    Args:
        n: size.
        negative: number of -1s, the last entries of D; default: n // 2.
        order: order of the series, 1, 2 (the paper's) or 3.
        reset_every: optimizer steps between two exact inverses; the paper has 50, and 20 for copying.
        tolerance: root-mean-square row norm of I - (I + A) Z above which Z is recomputed exactly.
        exact: compute the inverse exactly at every step; for comparison.
        init: as for `ScaledCayley`.
        generator: for reproducible draws.

    >>> NeumannCayley(8, negative=3).defect() < 1e-6
    True
    """

    inverse: Tensor
    inverse_skew: Tensor
    inverse_step: Tensor
    age: Tensor

    def __init__(
        self,
        n: int,
        *,
        negative: int | None = None,
        order: int = 2,
        reset_every: int = 50,
        tolerance: float = 1e-5,
        exact: bool = False,
        init: str | Tensor = "cayley",
        generator: torch.Generator | None = None,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        if order not in (1, 2, 3):
            raise ValueError(f"order of the Neumann series is 1, 2 or 3, got {order!r}")
        if isinstance(reset_every, bool) or not isinstance(reset_every, int) or reset_every < 1:
            raise ValueError(f"reset_every is a number of optimizer steps, at least 1, got {reset_every!r}")
        if not tolerance > 0:
            raise ValueError(f"tolerance must be positive, got {tolerance}")
        super().__init__(n, negative=negative, init=init, generator=generator, device=device, dtype=dtype)
        self.order, self.reset_every, self.tolerance, self.always_exact = order, reset_every, tolerance, exact
        self.register_buffer("inverse", torch.empty_like(self.signs).new_zeros(n, n))
        self.register_buffer("inverse_skew", torch.zeros_like(self.skew.detach()))
        self.register_buffer("age", torch.zeros((), dtype=torch.int64, device=device))
        self.register_buffer("inverse_step", torch.zeros_like(self.inverse), persistent=False)
        self._reset_()

    # ---------------------------------------------------------------- the map

    def _map(self) -> Tensor:
        # A traced graph cannot depend on values. In training Z has just been updated; in evaluation it may be outdated,
        # so the exact inverse is used.
        if torch.compiler.is_compiling():
            fits = self.training and torch.is_grad_enabled() and isinstance(self.skew, nn.Parameter)
        else:
            fits = torch.equal(self.skew, self.inverse_skew)
        if fits:
            Z = self.inverse
        else:
            Z = self._exact_inverse().to(self.skew.dtype)
        return _CayleyFromInverse.apply(self.skew, Z, self.signs)

    def exact(self) -> Tensor:
        """Return W as the network uses it, cast to double precision; it is as accurate as the updated inverse."""
        return self._map().double()

    @torch.no_grad()
    def _exact_inverse(self) -> Tensor:
        return _exact_inverse(self.skew, self.n)

    # ---------------------------------------------------------------- the updated inverse

    def advance_(self) -> None:
        """Update Z after an optimizer step; see Note [The step that was really taken]."""
        # A tensor passed by functional_call is not the result of an optimizer step.
        if not isinstance(self.skew, nn.Parameter):
            return
        if not torch.compiler.is_compiling() and torch.equal(self.skew, self.inverse_skew):
            return
        with torch.no_grad():
            carried = self.inverse, self.inverse_skew, self.inverse_step, self.age
            reset_every = 1 if self.always_exact else self.reset_every
            inverse, step, age = _followed(self.skew.detach(), *carried, self.order, reset_every, self.tolerance)
            self.inverse.copy_(inverse)
            self.inverse_skew.copy_(self.skew)
            self.inverse_step.copy_(step)
            self.age.copy_(age)

    @torch.no_grad()
    def _reset_(self) -> None:
        self.inverse.copy_(self._exact_inverse())
        self.inverse_skew.copy_(self.skew)
        self.age.zero_()

    @property
    def step_norm(self) -> float:
        """||Z S||_2 of the last update; the series converges if it is below 1 (the paper's figure 8)."""
        return float(torch.linalg.matrix_norm(self.inverse_step.double(), ord=2))

    def _take_orthogonal_(self, Q: Tensor, tolerance: float) -> None:
        super()._take_orthogonal_(Q, tolerance)
        if hasattr(self, "inverse"):  # not yet set when __init__ assigns the initial matrix
            self._reset_()

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> NeumannCayley:
        """Convert, and recompute Z if the dtype changes: a float32 inverse is accurate to float32 only."""
        before = self.inverse.dtype
        super()._apply(fn, recurse)
        self._recompute_after_(before)
        return self

    def _load_from_state_dict(self, state_dict: dict[str, Any], prefix: str, *rest: Any) -> None:
        super()._load_from_state_dict(state_dict, prefix, *rest)
        stored = state_dict.get(f"{prefix}inverse")
        if isinstance(stored, Tensor):
            self._recompute_after_(stored.dtype)

    def _recompute_after_(self, before: torch.dtype) -> None:
        """Recompute Z if it comes from another dtype."""
        if self.inverse.dtype != before and self._has_values and torch.isfinite(self.skew).all():
            self._reset_()

    def extra_repr(self) -> str:
        """Return the size, the number of -1 in D, and how the inverse is computed, for the printed module."""
        kept = "exact=True" if self.always_exact else f"order={self.order}, reset_every={self.reset_every}"
        return f"{super().extra_repr()}, {kept}"


def _exact_inverse(skew: Tensor, n: int) -> Tensor:
    """Return (I + A)^-1 in double precision."""
    A = triangle.skew(skew.double(), n)
    return torch.linalg.inv(torch.eye(n, dtype=A.dtype, device=A.device) + A)


def _followed_fake(
    skew: Tensor, inverse: Tensor, inverse_skew: Tensor, step: Tensor, age: Tensor, *options: Any
) -> tuple[Tensor, Tensor, Tensor]:
    return torch.empty_like(inverse), torch.empty_like(inverse), torch.empty_like(age)


@opaque("neumann_step", _followed_fake)
def _followed(
    skew: Tensor,
    inverse: Tensor,
    inverse_skew: Tensor,
    step: Tensor,
    age: Tensor,
    order: int,
    reset_every: int,
    tolerance: float,
) -> tuple[Tensor, Tensor, Tensor]:
    """Return the inverse for the new entries of A, X = -Z S of the step, and the number of steps since a reset."""
    n = len(inverse)
    if torch.equal(skew, inverse_skew):
        return inverse.clone(), step.clone(), age.clone()
    X = -(inverse @ triangle.skew(skew - inverse_skew, n))
    age = age + 1
    if age < reset_every:
        series = inverse
        for _ in range(order):
            series = torch.addmm(inverse, X, series)
        if _residual(series, skew) <= tolerance:
            return series, X, age
    return _exact_inverse(skew, n).to(inverse.dtype), X, torch.zeros_like(age)


def _residual(Z: Tensor, skew: Tensor) -> float:
    """Estimate the root-mean-square row norm of I - (I + A) Z with a few random sign vectors, in O(n^2)."""
    n = len(Z)
    probes = 1 - 2 * torch.randint(2, (n, _PROBES), generator=torch.Generator().manual_seed(n), device="cpu")
    signs = probes.to(Z)
    image = Z @ signs
    left = signs - image - triangle.skew(skew, n) @ image
    return float(left.square().mean().sqrt())


class _CayleyFromInverse(torch.autograd.Function):
    """W = (2 Z - I) D for a given Z = (I + A)^-1, with the gradient of the free entries of A."""

    @staticmethod
    def forward(ctx: Any, skew: Tensor, Z: Tensor, signs: Tensor) -> Tensor:
        ctx.save_for_backward(Z, signs)
        W = 2 * Z * signs
        W.diagonal().sub_(signs)
        return W

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, G: Tensor) -> tuple[Tensor, None, None]:
        Z, signs = ctx.saved_tensors
        V = 2 * Z.mT @ (G * signs) @ Z.mT
        return triangle.upper_entries(V.mT - V), None, None
