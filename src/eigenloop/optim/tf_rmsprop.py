"""RMSprop as in TensorFlow 1, with which scoRNN, ENRNN, GORU, EURNN and NC-GRU were trained."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.optim.optimizer import ParamsT

from eigenloop.optim.stepwise import StepwiseOptimizer, real_view


class TFRMSprop(StepwiseOptimizer):
    """ms <- decay ms + (1 - decay) g^2,  p <- p - lr g / sqrt(ms + eps), with ms = 1 at the start.

    torch's RMSprop starts with ms = 0 and adds eps outside the root: its first step is 1 / sqrt(1 - alpha) times the
    learning rate in every coordinate, ten times for alpha = 0.99. TensorFlow's starts with steps of about lr g, and the
    initial 1 loses its influence after about 19 ln(1/g) steps: a warm-up that the published settings rely on.

    Args:
        params: parameters or groups.
        lr: learning rate.
        decay: decay of the mean square.
        eps: added inside the root.
        momentum: momentum of the step, in TensorFlow's order: m <- momentum * m + lr g / sqrt(ms + eps).
        weight_decay: weight_decay * p is added to g.

    >>> p = torch.nn.Parameter(torch.tensor([1.0]))
    >>> (3 * p).sum().backward()
    >>> TFRMSprop([p], lr=0.1).step()
    >>> bool(torch.isclose(p, torch.tensor([1.0 - 0.1 * 3 / (0.9 + 0.1 * 9) ** 0.5])))
    True
    """

    def __init__(
        self,
        params: ParamsT,
        lr: float = 1e-3,
        decay: float = 0.9,
        eps: float = 1e-10,
        momentum: float = 0.0,
        weight_decay: float = 0.0,
    ) -> None:
        for name, value in (("lr", lr), ("eps", eps), ("momentum", momentum), ("weight_decay", weight_decay)):
            if not value >= 0:
                raise ValueError(f"{name} must not be negative, got {value}")
        if not 0 <= decay < 1:
            raise ValueError(f"decay must lie in [0, 1), got {decay}")
        defaults = {"lr": lr, "decay": decay, "eps": eps, "momentum": momentum, "weight_decay": weight_decay}
        super().__init__(params, defaults)

    def _move(self, parameter: Tensor, grad: Tensor, group: dict[str, Any]) -> None:
        state = self.state[parameter]
        parameter, grad = real_view(parameter), real_view(grad.resolve_conj())
        if not state:
            state["mean_square"] = torch.ones_like(parameter, memory_format=torch.preserve_format)
        mean_square = state["mean_square"].mul_(group["decay"]).add_(grad * grad, alpha=1 - group["decay"])
        step = group["lr"] * grad / (mean_square + group["eps"]).sqrt_()
        if group["momentum"]:
            if "momentum_buffer" not in state:
                state["momentum_buffer"] = torch.zeros_like(parameter, memory_format=torch.preserve_format)
            step = state["momentum_buffer"].mul_(group["momentum"]).add_(step)
        parameter.sub_(step)
