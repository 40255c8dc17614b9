"""The Schur form of nnRNN (Kerg, Goyette et al. 2019, eq. 1 and 5): W = P (Lambda + T) P^T."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor, nn

from eigenloop import initializers
from eigenloop.matrices import triangle
from eigenloop.matrices.base import Matrix, made_by
from eigenloop.matrices.errors import NotInSetError, next_even
from eigenloop.matrices.exponential import Exponential
from eigenloop.matrices.orthogonality import OrthogonalMatrix, real_only
from eigenloop.matrices.real_schur import block_schur


class Schur(Matrix):
    r"""W = P (Lambda + T) P^T: Lambda gives the eigenvalues (see the note), T the non-normal part.

    P is orthogonal, T strictly lower triangular and Lambda block diagonal with the 2 x 2 blocks
    gamma_i [[cos theta_i, -sin theta_i], [sin theta_i, cos theta_i]].

    Note [The blocks and the triangle overlap]
        In eq. 5, T also has entries below the diagonal inside the 2 x 2 blocks. If such an entry t is not zero, the
        block's eigenvalues are gamma cos(theta) +- sqrt(-gamma sin(theta) (gamma sin(theta) + t)), and gamma is no
        longer their modulus. ``blocks="exact"`` leaves those n/2 entries out of T, so that the eigenvalues of W are
        exactly gamma_i exp(+-i theta_i); ``blocks="paper"`` is the equation as printed, which gives the parameter
        counts in the published tables.

    Args:
        n: size, even.
        orthogonal: callable ``n -> matrix`` for P, an `OrthogonalMatrix`; default: `Exponential`, as in the paper.
        delta: weight of the penalty delta * sum_i (1 - gamma_i)^2.
        triangle_decay: weight decay of T, handed to the optimizer by `eigenloop.optim.param_groups`.
        train_gamma: whether gamma is trained; otherwise it is 1.
        blocks: ``"exact"`` or ``"paper"``; see the note.
        slow_eigenvalues: whether gamma and theta, like P, are trained at `recurrent_lr`; in the paper only P is.
            RMSprop and Adam move every angle by about the learning rate in each step, which is a phase of that size
            times the delay: over hundreds of steps the ordinary rate is too coarse.
        generator: for reproducible draws of theta ~ U(0, 2 pi), and of P where `orthogonal` is not given.

    >>> W = Schur(4)()
    >>> torch.linalg.eigvals(W).abs().sub(1).abs().max() < 1e-6
    tensor(True)
    """

    _anchor = "theta"
    gamma: Tensor
    orthogonal: Matrix

    def __init__(
        self,
        n: int,
        *,
        orthogonal: Callable[[int], Matrix] | None = None,
        delta: float = 0.0,
        triangle_decay: float = 0.0,
        train_gamma: bool = True,
        blocks: str = "exact",
        slow_eigenvalues: bool = False,
        generator: torch.Generator | None = None,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__(n)
        real_only(self, dtype)
        if n % 2:
            raise ValueError(f"Schur needs an even n, because eigenvalues come in pairs; got {n}: {next_even(n)}")
        if blocks not in ("exact", "paper"):
            raise ValueError(
                f"blocks={blocks!r} is not known: choose 'exact' (gamma is the modulus) or 'paper' (eq. 5)"
            )
        if not (delta >= 0 and triangle_decay >= 0):
            raise ValueError(f"delta and triangle_decay must not be negative, got {delta} and {triangle_decay}")
        self.delta, self.triangle_decay, self.blocks = delta, triangle_decay, blocks
        self.slow_eigenvalues = slow_eigenvalues
        dtype = torch.get_default_dtype() if dtype is None else dtype
        P = made_by(orthogonal or partial(Exponential, generator=generator), "orthogonal", n, device, dtype)
        if not isinstance(P, OrthogonalMatrix) or P.is_complex:
            raise TypeError(f"orthogonal must make a real orthogonal {n} x {n} matrix of eigenloop, got {P!r}")
        self.orthogonal = P
        self.theta = nn.Parameter(initializers.unit_angles(n // 2, generator).to(P.device, P.dtype))
        ones = torch.ones_like(self.theta.detach())
        if train_gamma:
            self.gamma = nn.Parameter(ones)
        else:
            self.register_buffer("gamma", ones)
        entries = triangle.triangle_size(n) - (n // 2 if blocks == "exact" else 0)
        self.triangle = nn.Parameter(ones.new_zeros(entries))

    def form(self) -> Tensor:
        """Compute Lambda + T, the lower (block) triangular Schur form, in double precision."""
        gamma, theta = self.gamma.double(), self.theta.double()
        entries = self.triangle.double()
        if self.blocks == "exact":
            mask = self._outside_blocks()
            entries = entries.new_zeros(triangle.triangle_size(self.n)).masked_scatter(mask, entries)
        lower = triangle.upper(entries, self.n).mT
        cosine, sine = gamma * torch.cos(theta), gamma * torch.sin(theta)
        blocks = torch.stack((cosine, -sine, sine, cosine), dim=1).view(-1, 2, 1, 2)
        eye = torch.eye(self.n // 2, dtype=blocks.dtype, device=blocks.device)
        return lower + (eye[:, None, :, None] * blocks).reshape(self.n, self.n)

    def exact(self) -> Tensor:
        """Compute W = P (Lambda + T) P^T."""
        P = self.orthogonal.exact()
        return P @ self.form() @ P.mT

    def _outside_blocks(self) -> Tensor:
        """Return a mask of the entries of the packed triangle that do not lie in a 2 x 2 block."""
        rows, columns = torch.triu_indices(self.n, self.n, 1, device=self.theta.device)
        return (rows // 2) != (columns // 2)

    def advance_(self) -> None:
        """Call `advance_` of P."""
        self.orthogonal.advance_()

    def defect(self) -> float:
        """Return max |P^T P - I|: the rest of the Schur form is unconstrained."""
        return self.orthogonal.defect()

    def penalty(self) -> Tensor:
        """Return delta * sum_i (1 - gamma_i)^2 (section 4)."""
        return self.delta * (1 - self.gamma).square().sum()

    def slow_parameters(self) -> list[nn.Parameter]:
        """Return those of P, with `slow_eigenvalues` also gamma and theta; all others have the ordinary rate."""
        return [*self.orthogonal.slow_parameters(), *(self._eigenvalues() if self.slow_eigenvalues else ())]

    def projected_parameters(self) -> list[nn.Parameter]:
        """Return those of P."""
        return self.orthogonal.projected_parameters()

    def weight_decays(self) -> list[tuple[nn.Parameter, float]]:
        """Return the decay of T, and 0 for gamma and theta, whose decay would work against the penalty.

        Slow parameters have no decay anyway, and are left out.
        """
        kept = [] if self.slow_eigenvalues else [(p, 0.0) for p in self._eigenvalues()]
        return [*kept, (self.triangle, self.triangle_decay)]

    def _eigenvalues(self) -> list[nn.Parameter]:
        return [p for p in (self.gamma, self.theta) if isinstance(p, nn.Parameter)]

    def _take_(self, W: Tensor, tolerance: float) -> None:
        """Set the parameters from the real Schur form of W.

        With ``blocks="paper"`` this works for every W. With ``"exact"`` it needs normal 2 x 2 blocks in some order of
        the eigenvalues; orthogonal matrices of determinant 1 and every W of another exact `Schur` have them.
        """
        normal = self.blocks == "exact"
        P, form = block_schur(W, normal_blocks=normal)
        diagonal = form.diagonal()[::2]
        above = torch.diagonal(form, 1)[::2]
        below = torch.diagonal(form, -1)[::2]
        distance = float((above + below).abs().max())
        allowed = tolerance * float(W.abs().max())
        if normal and distance > allowed:
            raise NotInSetError(
                'Schur(blocks="exact")',
                "matrices whose 2 x 2 Schur blocks are scaled rotations",
                f"has a block that deviates from one by {distance:.3g}",
                distance,
                allowed,
                'use blocks="paper", which reaches every matrix',
            )
        lower = triangle.upper_entries(form.mT)
        gamma = torch.hypot(diagonal, above)
        off = float((gamma - self.gamma.double()).abs().max())
        if not isinstance(self.gamma, nn.Parameter) and off > allowed:
            raise NotInSetError(
                "Schur(train_gamma=False)",
                "matrices whose eigenvalues have modulus 1",
                f"has |gamma - 1| = {off:.3g}",
                off,
                allowed,
                "use train_gamma=True",
            )
        self.orthogonal.assign_(P)
        self.theta.copy_(torch.atan2(-above, diagonal))
        if isinstance(self.gamma, nn.Parameter):
            self.gamma.copy_(gamma)
        outside = self._outside_blocks()
        if normal:
            self.triangle.copy_(lower[outside])
        else:
            lower[~outside] += above  # the difference between the entry and gamma sin(theta)
            self.triangle.copy_(lower)

    def extra_repr(self) -> str:
        """Return the size and all options that differ from their defaults, for the printed module."""
        shown = [str(self.n)]
        shown += [f"{name}={getattr(self, name)}" for name in ("delta", "triangle_decay") if getattr(self, name)]
        shown += ["train_gamma=False"] * (not isinstance(self.gamma, nn.Parameter))
        shown += ["blocks='paper'"] * (self.blocks == "paper")
        shown += ["slow_eigenvalues=True"] * self.slow_eigenvalues
        return ", ".join(shown)
