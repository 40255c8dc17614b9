"""The short-term matrix of ENRNN (Helfrich, Ye 2020, section 3): eigenvalues inside the unit disc."""

from __future__ import annotations

import warnings
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from eigenloop import initializers
from eigenloop.matrices.base import Matrix
from eigenloop.matrices.dominant import Dominant, dominant, spectral_radius
from eigenloop.matrices.errors import NotInSetError
from eigenloop.matrices.opaque import opaque
from eigenloop.matrices.orthogonality import real_only

#: The condition number above which an eigenvalue counts as multiple, and the least rho relative to ||T||_F; see
#: Note [Where the spectral radius has no gradient].
_LARGEST_CONDITION, _LEAST_RADIUS = 1e4, 1e-6


class UnitDisc(Matrix):
    r"""W = T / (rho(T) + eps), rho the spectral radius; plain T until rho(T) first exceeds 1.

    From then on T is always normalised, even if rho(T) falls below 1 again (the published rule), so that with eps = 0
    the largest eigenvalue lies on the unit circle.

    Note [The gradient of the spectral radius]
        With lambda the dominant eigenvalue, T u = lambda u and y^T T = lambda y^T (y = conj v of the paper),
        d lambda / dT = S = y u^T / (y^T u), and d rho / dT = Re(conj(lambda) S) / rho = C / rho. So

            dL/dT = (1 / (rho + eps)) [ G - sum(G . W) C / rho ].

        Proposition 3.2 has C / (rho + eps) in place of C / rho, which is correct only for eps = 0.

    Note [Where the spectral radius has no gradient]
        If lambda is a multiple eigenvalue, y^T u may vanish and rho has no gradient; if it is nearly multiple, the
        gradient is huge and valid for tiny steps only. If its norm, the condition number of lambda, exceeds 10^4, rho
        is treated as a constant in that step: W stays in the disc, and T moves along G. The paper suggests skipping the
        normalisation for a few steps instead, which lets the state grow. Here it is skipped only if rho is nearly zero
        relative to T (T = 0, nilpotent T), so that dividing by it is impossible; W = T is then in the disc. Both cases
        give a warning.

    Args:
        n: size.
        eps: makes the distance of the largest eigenvalue from the unit circle eps / (rho + eps).
        init: ``"disc"`` (the paper's: gamma_j exp(+-i t_j), gamma ~ U(-1, 1), t ~ U(0, pi/2)), or a matrix of
            spectral radius at most 1.
        generator: for reproducible draws.

    >>> W = UnitDisc(6)()
    >>> bool(torch.linalg.eigvals(W).abs().max() <= 1)
    True
    """

    _anchor = "weight"
    normalised: Tensor
    right: Tensor
    left: Tensor

    def __init__(
        self,
        n: int,
        *,
        eps: float = 0.0,
        init: str | Tensor = "disc",
        generator: torch.Generator | None = None,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__(n)
        real_only(self, dtype)
        if not eps >= 0:
            raise ValueError(f"eps must not be negative, got {eps}")
        self.eps = float(eps)
        self.weight = nn.Parameter(torch.empty(n, n, device=device, dtype=dtype))
        self.register_buffer("normalised", torch.zeros((), dtype=torch.bool, device=device))
        self.register_buffer("right", torch.zeros(n, device=device, dtype=dtype))
        self.register_buffer("left", torch.zeros(n, device=device, dtype=dtype))
        if isinstance(init, Tensor):
            self.assign_(init)
        elif init == "disc":
            with torch.no_grad():
                self.weight.copy_(initializers.disc(n, generator))
        else:
            raise ValueError(f"init={init!r} is not known: choose 'disc' or give a matrix")

    def exact(self) -> Tensor:
        """Compute W; a training forward pass also stores the leading eigenvectors and whether rho has exceeded 1."""
        T = self.weight.double()
        divisor, derivative, *carried = _divisor(T.detach(), self.right, self.left, self.normalised, self.eps)
        if self.training and torch.is_grad_enabled() and isinstance(self.weight, nn.Parameter):
            with torch.no_grad():
                for buffer, value in zip((self.right, self.left, self.normalised), carried, strict=True):
                    buffer.copy_(value)
        return T / _Divisor.apply(T, divisor, derivative)

    def defect(self) -> float:
        """Return by how much the spectral radius of the built W exceeds 1."""
        with torch.no_grad():
            return max(0.0, spectral_radius(self().double().cpu().numpy()) - 1)

    def _take_(self, W: Tensor, tolerance: float) -> None:
        radius = spectral_radius(W.cpu().numpy())
        if radius > 1 + tolerance:
            raise NotInSetError(
                "UnitDisc",
                "matrices of spectral radius at most 1",
                f"has spectral radius {radius:.6g}, above 1",
                radius - 1,
                tolerance,
                "divide it by its spectral radius, or use Free",
            )
        self.weight.copy_(W / max(1.0, radius))
        self.normalised.zero_()

    def extra_repr(self) -> str:
        """Return the size, and eps if it is not zero, for the printed module."""
        return str(self.n) if self.eps == 0 else f"{self.n}, eps={self.eps}"


def _divisor_fake(
    T: Tensor, right: Tensor, left: Tensor, normalised: Tensor, eps: float
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    return (
        T.new_empty(()),
        torch.empty_like(T),
        torch.empty_like(right),
        torch.empty_like(left),
        torch.empty_like(normalised),
    )


@opaque("unit_disc_divisor", _divisor_fake)
def _divisor(
    T: Tensor, right: Tensor, left: Tensor, normalised: Tensor, eps: float
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    """Return the divisor of T, its derivative, and the buffers that a training forward pass stores.

    The divisor is rho(T) + eps, or 1 with derivative zero if W = T: before normalisation starts, and if rho vanishes.
    """
    one, zero = T.new_ones(()), torch.zeros_like(T)
    if not torch.isfinite(T).all():
        return one, zero, right.clone(), left.clone(), normalised.clone()
    leading = dominant(T.cpu().numpy(), right.double().cpu().numpy(), left.double().cpu().numpy())
    vectors = torch.from_numpy(leading.right).to(right), torch.from_numpy(leading.left).to(left)
    switched = normalised.logical_or(torch.tensor(leading.radius > 1, device=normalised.device))
    if leading.radius <= 1 and (not normalised or _vanishes(leading.radius, eps, T)):
        return one, zero, *vectors, switched
    return T.new_tensor(leading.radius + eps), _radius_derivative(leading).to(T.device), *vectors, switched


def _vanishes(radius: float, eps: float, T: Tensor) -> bool:
    """Whether rho + eps is too small to divide T by; warns if it is."""
    vanishes = radius + eps <= _LEAST_RADIUS * float(torch.linalg.matrix_norm(T))
    if vanishes:
        warnings.warn(
            "the spectral radius of UnitDisc's matrix is nearly zero relative to its norm, so W is not divided by it: "
            "the matrix is used as it is for this step",
            stacklevel=2,
        )
    return vanishes


def _radius_derivative(leading: Dominant) -> Tensor:
    """Return C / rho, or zero with a warning if the dominant eigenvalue is multiple or nearly multiple."""
    n = len(leading.right)
    if leading.derivative is None or leading.condition > _LARGEST_CONDITION:
        warnings.warn(
            "the dominant eigenvalue of UnitDisc's matrix is multiple or nearly so, and its spectral radius has no "
            "gradient of use: it is held constant for this step",
            stacklevel=2,
        )
        return torch.zeros(n, n, dtype=torch.float64, device="cpu")
    return torch.from_numpy((leading.value.conjugate() * leading.derivative).real / leading.radius)


class _Divisor(torch.autograd.Function):
    """rho(T) + eps with a derivative that was computed beforehand."""

    @staticmethod
    def forward(ctx: Any, T: Tensor, divisor: Tensor, derivative: Tensor) -> Tensor:
        ctx.save_for_backward(derivative)
        return divisor.clone()

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None, None]:
        (derivative,) = ctx.saved_tensors
        return grad * derivative, None, None
