"""The base of optimizers that update one parameter after the other."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.optim.optimizer import Optimizer


class OutdatedStateError(ValueError):
    """The saved state of an optimizer comes from an older version and cannot be resumed."""


class StepwiseOptimizer(Optimizer):
    """The loop over groups and parameters; a subclass implements the update of one parameter in `_move`."""

    @abstractmethod
    def _move(self, parameter: Tensor, grad: Tensor, group: dict[str, Any]) -> None:
        """Update one parameter in place; weight decay is already included in `grad`."""

    @torch.no_grad()
    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Take one step and return the loss, if a closure that computes it is given."""
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

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Restore the state; raises OutdatedStateError if its shapes do not match those of the parameters."""
        super().load_state_dict(state_dict)
        for parameter, state in self.state.items():
            for value in state.values():
                if isinstance(value, Tensor) and value.dim() and value.shape != real_view(parameter).shape:
                    raise OutdatedStateError(
                        f"the saved state of {type(self).__name__} holds {tuple(value.shape)} numbers for a parameter "
                        f"of shape {tuple(parameter.shape)}: a version before this one had one running mean for both "
                        "parts of a complex number. Start the training again"
                    )


def real_view(tensor: Tensor) -> Tensor:
    """Return a complex tensor as a real view (..., 2) of its real and imaginary parts; a real tensor unchanged.

    Element-wise optimizers treat the two parts as separate numbers, as in torch and in the code of Wisdom and of EUNN:
    each is divided by its own root mean square.
    """
    return torch.view_as_real(tensor) if tensor.is_complex() else tensor
