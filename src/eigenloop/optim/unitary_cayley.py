"""The optimizer of the full-capacity uRNN (Wisdom, Powers, Hershey, Le Roux, Atlas 2016, section 4)."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.optim.optimizer import ParamsT

from eigenloop.optim.projected import ProjectedOptimizer


class UnitaryCayley(ProjectedOptimizer):
    r"""X <- (I + lr/2 A)^{-1} (I - lr/2 A) X with A = G X^H - X G^H, for unitary or orthogonal matrices.

    A is skew-Hermitian, so its Cayley transform is unitary and X stays unitary; to first order X follows the negative
    gradient within the group. All other parameters take a step of RMSprop or SGD.

    Args:
        params: groups of `eigenloop.optim.param_groups`, which mark the matrices.
        lr: learning rate of groups without their own.
        normalise: divide G elementwise by its running root mean square first (Wisdom's MNIST runs, with lr 1e-6); the
            raw gradient otherwise (copying and TIMIT).
        base: ``"rmsprop"`` or ``"sgd"`` for all other parameters.
        alpha: RMSprop's smoothing factor.
        eps: added to RMSprop's denominator.
        weight_decay: weight decay of groups without their own.

    >>> import eigenloop as el
    >>> net = el.Model(el.RNN(3, 8, recurrent="unitary"), 2, complex_readout="both")
    >>> optimizer = UnitaryCayley(el.optim.param_groups(net, lr=1e-3, recurrent_lr=1e-3))
    """

    def __init__(
        self,
        params: ParamsT,
        lr: float = 1e-3,
        *,
        normalise: bool = False,
        base: str = "rmsprop",
        alpha: float = 0.9,
        eps: float = 1e-8,
        weight_decay: float = 0.0,
    ) -> None:
        defaults = {"lr": lr, "base": base, "alpha": alpha, "eps": eps, "weight_decay": weight_decay}
        super().__init__(params, {**defaults, "normalise": normalise})

    def _moved(self, W: Tensor, direction: Tensor, group: dict[str, Any]) -> Tensor:
        A = direction @ W.mH
        half = group["lr"] / 2 * (A - A.mH)
        eye = torch.eye(len(W), dtype=W.dtype, device=W.device)
        return torch.linalg.solve(eye + half, (eye - half) @ W)
