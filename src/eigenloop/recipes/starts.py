"""Helpers of the recipes: initialisation of input weights, biases and initial states as in the papers."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import torch
from torch import Tensor, nn

from eigenloop import initializers
from eigenloop.layers.base import RecurrentLayer

Size = int | Sequence[int]
Generator = torch.Generator | None
Init = str | Tensor


def glorot(m: int, n: int) -> float:
    """Return the standard deviation of Glorot's rule, sqrt(2 / (m + n))."""
    return math.sqrt(2 / (m + n))


def kaiming(m: int, n: int) -> float:
    """Return the standard deviation of Kaiming's rule for ReLU, sqrt(2 / m)."""
    return math.sqrt(2 / m)


def parameters_of(layer: RecurrentLayer, prefix: str) -> list[nn.Parameter]:
    """Return the layer's own parameters whose name starts with `prefix`."""
    return [parameter for name, parameter in layer.named_parameters() if name.startswith(prefix)]


def normal_inputs_(layer: RecurrentLayer, rule: Callable[[int, int], float], generator: Generator) -> None:
    """Draw every U from the normal distribution with standard deviation rule(m, n)."""
    for U in parameters_of(layer, "weight_ih"):
        initializers.fill_normal_(U, rule(U.shape[1], U.shape[0]), generator)


def uniform_inputs_(layer: RecurrentLayer, rule: Callable[[int, int], float], generator: Generator) -> None:
    """Draw every U from the uniform distribution with standard deviation rule(m, n)."""
    for U in parameters_of(layer, "weight_ih"):
        bound = math.sqrt(3) * rule(U.shape[1], U.shape[0])
        initializers.fill_uniform_(U, -bound, bound, generator)


def uniform_(layer: RecurrentLayer, prefix: str, bound: float, generator: Generator) -> None:
    """Draw the parameters whose name starts with `prefix` from U(-bound, bound)."""
    for parameter in parameters_of(layer, prefix):
        initializers.fill_uniform_(parameter, -bound, bound, generator)


def constant_(layer: RecurrentLayer, prefix: str, value: float) -> None:
    """Set the parameters whose name starts with `prefix` to one value."""
    for parameter in parameters_of(layer, prefix):
        nn.init.constant_(parameter, value)


def initial_states_(layer: RecurrentLayer, generator: Generator) -> None:
    """Draw trained initial states from U(+-sqrt(3 / (2n))), as in uRNN and oRNN."""
    for h0 in parameters_of(layer, "h0"):
        bound = math.sqrt(3 / (2 * len(h0)))
        initializers.fill_uniform_(h0, -bound, bound, generator)
