"""projUNN (Kiani, Balestriero, LeCun, Lloyd 2022): rank-k steps of an orthogonal matrix, projected in O(k n^2)."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.optim.optimizer import ParamsT

from eigenloop.matrices import nearest_orthogonal
from eigenloop.matrices.skew_exponential import skew_exponential
from eigenloop.optim.projected import ProjectedOptimizer


class ProjUNN(ProjectedOptimizer):
    r"""Replaces the step d of a matrix W by a rank-k approximation a b^T and projects W + a b^T back to the group.

    * variant D: the nearest orthogonal matrix, (W + a b^T) ((W + a b^T)^T (W + a b^T))^{-1/2} (theorem 3.2);
    * variant T: along the group, W exp((W^T a b^T - b a^T W) / 2) (theorem 3.3).

    Both change W only in the span of [b, W^T a], so that only a 2k x 2k problem has to be solved.

    Note [Divide the step, not the gradient]
        RMSprop's step does not depend on the scale of the gradient, so a lower learning rate for W means dividing the
        preconditioned step by `divider`, 32 for adding and copying in the papers.

    Note [RMSprop of the raw gradient]
        In the paper, RMSprop is applied to the gradient G of an unconstrained W. One component of G is normal to the
        group. The projection would remove it, but not after RMSprop has divided every entry by its own magnitude: the
        projected step need not be a descent direction. ``tangent=True`` removes that component before RMSprop, by
        taking (G - W G^T W) / 2. This is not in the paper. docs/quantization.md has a task that is learnt only with it.

    Args:
        params: groups of `eigenloop.optim.param_groups`, which mark the matrices; all other parameters take an ordinary
            step.
        lr: learning rate of groups without their own.
        rank: k.
        sampler: ``"lsi"`` (a random sketch of d's rows) or ``"column"`` (k columns of d, drawn by their norms).
        variant: ``"D"`` or ``"T"``.
        base: ``"rmsprop"`` or ``"sgd"``.
        divider: divides the step of W.
        tangent: use only the component of the gradient along the group; False as in the paper.
        alpha: RMSprop's smoothing factor.
        eps: added to RMSprop's denominator.
        weight_decay: weight decay of groups without their own.
        seed: seed of the sampler's generator, whose state is saved in the state_dict.

    >>> import eigenloop as el
    >>> net = el.Model(el.RNN(3, 8, recurrent="orthogonal"), 2)
    >>> optimizer = ProjUNN(el.optim.param_groups(net, lr=1e-3), rank=1, divider=32)
    """

    def __init__(
        self,
        params: ParamsT,
        lr: float = 1e-3,
        *,
        rank: int = 1,
        sampler: str = "lsi",
        variant: str = "D",
        base: str = "rmsprop",
        divider: float = 1.0,
        tangent: bool = False,
        alpha: float = 0.99,
        eps: float = 1e-8,
        weight_decay: float = 0.0,
        seed: int = 0,
    ) -> None:
        if isinstance(rank, bool) or not isinstance(rank, int) or rank < 1:
            raise ValueError(f"rank is a whole number of at least 1, got {rank!r}")
        if sampler not in ("lsi", "column"):
            raise ValueError(f"sampler={sampler!r} is not known: choose 'lsi' or 'column'")
        if variant not in ("D", "T"):
            raise ValueError(f"variant={variant!r} is not known: choose 'D' or 'T'")
        if not divider > 0:
            raise ValueError(f"divider must be positive, got {divider}")
        own = {"rank": rank, "sampler": sampler, "variant": variant, "divider": divider, "tangent": tangent}
        defaults = {"lr": lr, "base": base, "alpha": alpha, "eps": eps, "weight_decay": weight_decay}
        self.generator = torch.Generator().manual_seed(seed)
        super().__init__(params, {**defaults, **own})
        if any(p.is_complex() for group in self.param_groups if group["projected"] for p in group["params"]):
            raise ValueError("ProjUNN moves real matrices: use el.optim.UnitaryCayley for a complex one")

    def _move(self, parameter: Tensor, grad: Tensor, group: dict[str, Any]) -> None:
        if group["projected"] and group["tangent"]:
            grad = along_the_group(parameter, grad)
        super()._move(parameter, grad, group)

    def _moved(self, W: Tensor, direction: Tensor, group: dict[str, Any]) -> Tensor:
        d = direction * (-group["lr"] / group["divider"])
        rank = min(group["rank"], len(W))
        a, b = (_lsi if group["sampler"] == "lsi" else _columns)(d, rank, self.generator)
        return (nearest if group["variant"] == "D" else along)(W, a, b)

    def state_dict(self) -> dict[str, Any]:
        """Return the state of the optimizer and of the sampler's generator."""
        return {**super().state_dict(), "generator": self.generator.get_state()}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Restore the state and the sampler's generator."""
        state_dict = dict(state_dict)
        generator = state_dict.pop("generator", None)
        super().load_state_dict(state_dict)
        if generator is not None:
            self.generator.set_state(generator.cpu())

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "generator": self.generator.get_state()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        state = dict(state)
        if not hasattr(self, "generator"):  # unpickled; load_state_dict also calls this, but already has a generator
            self.generator = torch.Generator()
        if "generator" in state:
            self.generator.set_state(state.pop("generator"))
        super().__setstate__(state)
        for group in self.param_groups:
            group.setdefault("tangent", False)  # saved before this option existed


def along_the_group(W: Tensor, grad: Tensor) -> Tensor:
    """Return (G - W G^T W) / 2, the component of a gradient G tangent to the orthogonal group at W."""
    return (grad - W @ grad.mT @ W) / 2


def _lsi(d: Tensor, rank: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """Project d onto the row space of a random sketch R^T d: return a = d b and b, orthonormal (n, k)."""
    drawn = torch.randn(len(d), rank, dtype=d.dtype, device="cpu", generator=generator).to(d.device)
    b = torch.linalg.qr(d.mT @ torch.linalg.qr(drawn).Q).Q
    return d @ b, b


def _columns(d: Tensor, rank: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """Project d onto the span of k of its columns, drawn without replacement with weights given by their norms."""
    norms = torch.linalg.vector_norm(d, dim=0).cpu()
    weights = norms + norms.max().clamp_min(torch.finfo(d.dtype).tiny) * 1e-12  # k columns need weights > 0
    chosen = torch.multinomial(weights, rank, generator=generator).to(d.device)
    a = torch.linalg.qr(d[:, chosen]).Q
    return a, d.mT @ a


def nearest(W: Tensor, a: Tensor, b: Tensor) -> Tensor:
    """Return the orthogonal matrix nearest to W + a b^T (variant D), for W orthogonal and a, b of shape (n, k).

    (W + a b^T)^T (W + a b^T) = I + S with S in the span of [b, W^T a]; its inverse square root only scales along the
    eigenvectors u of S.
    """
    turned = W.mT @ a
    basis = torch.linalg.qr(torch.cat((b, turned), dim=1)).Q
    inner_a, inner_b = basis.mT @ turned, basis.mT @ b
    cross = inner_a @ inner_b.mT
    s, vectors = torch.linalg.eigh(cross + cross.mT + inner_b @ (a.mT @ a) @ inner_b.mT)
    u = basis @ vectors
    moved = W + a @ b.mT
    # 1 + s are squared singular values of W + a b^T; one that is tiny relative to another is mostly rounding error.
    squares = 1 + s
    if not squares.min() > 1e-6 * squares.max():
        return nearest_orthogonal(moved)
    return moved + (moved @ u * (squares.rsqrt() - 1)) @ u.mT


def along(W: Tensor, a: Tensor, b: Tensor) -> Tensor:
    """Return W exp((W^T a b^T - b a^T W) / 2) (variant T)."""
    turned = W.mT @ a
    basis = torch.linalg.qr(torch.cat((b, turned), dim=1)).Q
    cross = (basis.mT @ turned) @ (basis.mT @ b).mT / 2
    rotation = skew_exponential(cross - cross.mT)
    rotation.diagonal().sub_(1)
    return W + (W @ basis @ rotation) @ basis.mT
