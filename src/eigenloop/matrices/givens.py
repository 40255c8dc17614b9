"""Layers of plane rotations: EURNN (Jing et al. 2017) and GORU (Jing et al. 2019)."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from eigenloop import dtypes
from eigenloop.matrices.errors import NotInSetError, next_even
from eigenloop.matrices.givens_fit import fit_angles
from eigenloop.matrices.givens_mesh import mesh_angles
from eigenloop.matrices.orthogonality import OrthogonalMatrix, real_only


class Givens(OrthogonalMatrix):
    r"""W = [diag(e^{i omega})] F_L ... F_1, each F rotating disjoint pairs of coordinates.

    A pair (a, b) is multiplied by [[cos t, -e^{i p} sin t], [sin t, e^{i p} cos t]]; in the real case p = 0 and there
    is no omega.

    * ``style="tunable"``: `capacity` layers that pair (0,1), (2,3), ... and (1,2), (3,4), ... in turn; capacity = n
      represents every rotation (every unitary matrix if complex), fewer layers only banded ones.
    * ``style="fft"``: log2 n layers that pair coordinates n/2, n/4, ..., 1 apart; n must be a power of two.

    Note [Rotations run backwards]
        The backward pass inverts one layer after the other, which is cheap because F^-1 = F^H, so that it stores one
        n x n matrix instead of one per layer.

    Args:
        n: size, even.
        style: ``"tunable"`` or ``"fft"``.
        capacity: number of layers of the tunable style, even; default: 2.
        complex: unitary instead of orthogonal.
        init: ``"uniform"`` (angles U(-pi, pi), the papers'), ``"identity"``, or a matrix that the layers can represent.
        generator: for reproducible draws.

    >>> Givens(8, style="fft").defect() < 1e-6
    True
    """

    _anchor = "theta"

    def __init__(
        self,
        n: int,
        *,
        style: str = "tunable",
        capacity: int | None = None,
        complex: bool = False,
        init: str | Tensor = "uniform",
        generator: torch.Generator | None = None,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__(n)
        real_only(self, dtype)
        pairs = _pairs(n, style, capacity)
        self.style, self.capacity, self._complex = style, len(pairs), complex
        flat = [(layer, a, b) for layer, members in enumerate(pairs) for a, b in members]
        # No buffers: these are not part of the state, and `to_empty` would leave them without values.
        self.layer_of, self.first, self.second = (
            torch.tensor(column, device="cpu") for column in zip(*flat, strict=True)
        )
        self.theta = nn.Parameter(torch.zeros(len(flat), device=device, dtype=dtype))
        if complex:
            self.phi = nn.Parameter(torch.zeros(len(flat), device=device, dtype=dtype))
            self.omega = nn.Parameter(torch.zeros(n, device=device, dtype=dtype))
        if isinstance(init, Tensor):
            self.assign_(init)
        elif init == "uniform":
            with torch.no_grad():
                for angles in self.parameters():
                    drawn = torch.rand(angles.shape, dtype=torch.float64, device="cpu", generator=generator)
                    angles.copy_(math.pi * (2 * drawn - 1))
        elif init != "identity":
            raise ValueError(f"init={init!r} is not known: choose 'uniform', 'identity' or give a matrix")

    @property
    def is_complex(self) -> bool:
        """Whether W is unitary rather than orthogonal."""
        return self._complex

    @property
    def dtype(self) -> torch.dtype:
        """The dtype of W."""
        return dtypes.complex(self.theta.dtype) if self._complex else self.theta.dtype

    def exact(self) -> Tensor:
        """Multiply the layers; see Note [Rotations run backwards]."""
        own, other, partner = self._coefficients()
        W = _LayerProduct.apply(own, other, partner)
        return torch.exp(1j * self.omega.double())[:, None] * W if self._complex else W

    def _coefficients(self) -> tuple[Tensor, Tensor, Tensor]:
        """Write each layer as x -> own * x + other * x[partner]: three (L, n) tensors."""
        theta = self.theta.double()
        cosine, sine = torch.cos(theta), torch.sin(theta)
        phase = torch.exp(1j * self.phi.double()) if self._complex else torch.ones_like(theta)
        shape = (self.capacity, self.n)
        layer_of, first, second = (index.to(theta.device) for index in (self.layer_of, self.first, self.second))
        a, b = (layer_of, first), (layer_of, second)
        own = torch.ones(shape, dtype=phase.dtype, device=theta.device)
        own = own.index_put(a, cosine.to(phase.dtype)).index_put(b, phase * cosine)
        other = torch.zeros_like(own).index_put(a, -phase * sine).index_put(b, sine.to(phase.dtype))
        partner = torch.arange(self.n, device=theta.device).repeat(self.capacity, 1)
        partner[a], partner[b] = second, first
        return own, other, partner

    def _take_orthogonal_(self, Q: Tensor, tolerance: float) -> None:
        if self.style == "tunable" and self.capacity >= self.n:
            angles, distance = mesh_angles(Q, self.layer_of, self.first)
        else:
            angles, distance = fit_angles(Q, self.layer_of, self.first, self.second)
        if distance > tolerance:
            raise NotInSetError(
                f"Givens(style={self.style!r}, capacity={self.capacity})",
                f"products of {self.capacity} layers of rotations",
                f"lies {distance:.3g} from the nearest one that was reached",
                distance,
                tolerance,
                f"use capacity={self.n} (and determinant 1 where W is real), or another orthogonal matrix",
            )
        self.theta.copy_(angles.theta)
        if self._complex:
            self.phi.copy_(angles.phi)
            self.omega.copy_(angles.omega)

    def slow_parameters(self) -> list[nn.Parameter]:
        """Return all angles."""
        return list(self.parameters())

    def extra_repr(self) -> str:
        """Return the size and the style of the layers, for the printed module."""
        return f"{self.n}, style={self.style!r}, capacity={self.capacity}" + ", complex=True" * self._complex


def _pairs(n: int, style: str, capacity: int | None) -> list[list[tuple[int, int]]]:
    """List the pairs of each layer."""
    if style == "tunable":
        capacity = 2 if capacity is None else capacity
        if n % 2:
            raise ValueError(f"Givens layers pair coordinates, so n is even; got {n}: {next_even(n)}")
        if isinstance(capacity, bool) or not isinstance(capacity, int) or capacity < 2 or capacity % 2:
            raise ValueError(f"capacity, the number of layers, is even and at least 2, got {capacity!r}")
        return [[(i, i + 1) for i in range(layer % 2, n - 1, 2)] for layer in range(capacity)]
    if style == "fft":
        if n < 2 or n & (n - 1):
            raise ValueError(
                f'style="fft" needs n a power of two, got {n}: use {2 ** max(1, round(math.log2(max(n, 2))))}'
            )
        if capacity is not None:
            raise ValueError(f'style="fft" has log2 n = {n.bit_length() - 1} layers: leave out capacity={capacity}')
        distances = [n >> (layer + 1) for layer in range(n.bit_length() - 1)]
        return [[(i, i + d) for i in range(n) if not i & d] for d in distances]
    raise ValueError(f"style={style!r} is not known: choose 'tunable' or 'fft'")


class _LayerProduct(torch.autograd.Function):
    """F_L ... F_1 from the coefficients of the layers."""

    @staticmethod
    def forward(ctx: Any, own: Tensor, other: Tensor, partner: Tensor) -> Tensor:
        W = torch.eye(own.shape[1], dtype=own.dtype, device=own.device)
        for layer in range(len(own)):
            W = own[layer, :, None] * W + other[layer, :, None] * W[partner[layer]]
        ctx.save_for_backward(W, own, other, partner)
        return W

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, G: Tensor) -> tuple[Tensor, Tensor, None]:
        W, own, other, partner = ctx.saved_tensors
        grad_own, grad_other = torch.empty_like(own), torch.empty_like(other)
        for layer in reversed(range(len(own))):
            # F^H has conj(own) on the diagonal and the partner's conj(other) off the diagonal.
            back, beside, where = own[layer].conj(), other[layer].conj()[partner[layer]], partner[layer]
            W = back[:, None] * W + beside[:, None] * W[where]
            grad_own[layer] = (G * W.conj()).sum(1)
            grad_other[layer] = (G * W.conj()[where]).sum(1)
            G = back[:, None] * G + beside[:, None] * G[where]
        return grad_own, grad_other, None
