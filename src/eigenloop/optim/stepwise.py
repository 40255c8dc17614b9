"""Optimizers that treat one parameter after the other."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.optim.optimizer import Optimizer


class StepwiseOptimizer(Optimizer):
    """The loop over groups and parameters; a subclass moves one parameter by its gradient."""

    @abstractmethod
    def _move(self, parameter: Tensor, grad: Tensor, group: dict[str, Any]) -> None:
        """Move one parameter in place; weight decay is in `grad` already."""

    @torch.no_grad()
    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Take one step; the closure, if given, recomputes the loss, which is returned."""
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for group in self.param_groups:
            for parameter in group["params"]:
                grad = parameter.grad
                if grad is None:
                    continue
                if grad.is_sparse:
                    raise RuntimeError(f"{type(self).__name__} takes dense gradients: embed with sparse=False")
                if group["weight_decay"]:
                    grad = grad.add(parameter, alpha=group["weight_decay"])
                self._move(parameter, grad, group)
        return loss
