"""The base of optimizers that keep a matrix on its set; other parameters take an ordinary step."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import torch
from torch import Tensor
from torch.optim.optimizer import ParamsT

from eigenloop.matrices import nearest_orthogonal, orthogonality_defect
from eigenloop.optim.stepwise import StepwiseOptimizer, real_view

#: A matrix is projected back if max|W'W - I| exceeds the first number. This is checked at intervals (the second number,
#: in steps), and after each step longer than the third, which amplifies earlier rounding errors of W.
_ALLOWED, _LOOK_EVERY, _LONG = 1e-6, 20, 0.1


class ProjectedOptimizer(StepwiseOptimizer):
    """RMSprop or SGD, with a special move for groups marked ``projected`` (see `param_groups`).

    ``normalise`` says whether RMSprop also divides the gradient of a projected matrix.
    """

    def __init__(self, params: ParamsT, defaults: dict[str, Any]) -> None:
        for name in ("lr", "eps", "weight_decay"):
            if not defaults[name] >= 0:
                raise ValueError(f"{name} must not be negative, got {defaults[name]}")
        if not 0 <= defaults["alpha"] < 1:
            raise ValueError(f"alpha must lie in [0, 1), got {defaults['alpha']}")
        if defaults["base"] not in ("rmsprop", "sgd"):
            raise ValueError(f"base={defaults['base']!r} is not known: choose 'rmsprop' or 'sgd'")
        super().__init__(params, {"normalise": True, **defaults, "projected": False})
        if not any(group["projected"] for group in self.param_groups):
            raise ValueError(
                f"{type(self).__name__} found no matrix to keep on its set: give it eigenloop.optim.param_groups(net, "
                "lr) of a network with Orthogonal or Unitary matrices, or use an ordinary optimizer"
            )

    @abstractmethod
    def _moved(self, W: Tensor, direction: Tensor, group: dict[str, Any]) -> Tensor:
        """Return the matrix on the set after a step from W along `direction`; both in double precision."""

    def _move(self, parameter: Tensor, grad: Tensor, group: dict[str, Any]) -> None:
        direction = self._preconditioned(parameter, grad, group)
        if not group["projected"]:
            parameter.add_(direction, alpha=-group["lr"])
            return
        if not torch.isfinite(direction).all():
            raise RuntimeError(
                "the gradient of a matrix that is kept on its set holds NaN or inf, so the matrix was not updated: "
                "skip such steps, or go back and lower the learning rate"
            )
        double = torch.complex128 if parameter.is_complex() else torch.float64
        before = parameter.to(double)
        W = self._moved(before, direction.to(double), group)
        state = self.state[parameter]
        state["steps"] = state.get("steps", 0) + 1
        look = state["steps"] % _LOOK_EVERY == 0 or float(torch.linalg.matrix_norm(W - before)) > _LONG
        if look and orthogonality_defect(W.to(parameter.dtype)) > _ALLOWED:
            W = nearest_orthogonal(W)
        parameter.copy_(W)

    def _preconditioned(self, parameter: Tensor, grad: Tensor, group: dict[str, Any]) -> Tensor:
        """Return g (SGD), or g / (sqrt(ms) + eps) with ms <- alpha ms + (1 - alpha) g^2, at first 0 (torch's RMSprop).

        The real and imaginary parts of a complex g have separate ms, see `real_view`.
        """
        if group["base"] == "sgd" or (group["projected"] and not group["normalise"]):
            return grad
        state = self.state[parameter]
        parts = real_view(grad.resolve_conj())
        if "mean_square" not in state:
            state["mean_square"] = torch.zeros_like(parts)
        mean_square = state["mean_square"].mul_(group["alpha"]).add_(parts.square(), alpha=1 - group["alpha"])
        direction = parts / (mean_square.sqrt() + group["eps"])
        return torch.view_as_complex(direction.contiguous()) if grad.is_complex() else direction

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        for group in self.param_groups:  # saved when this option was not yet in the groups
            group.setdefault("normalise", self.defaults.get("normalise", True))
