"""Hidden states that are carried from one batch to the next: a tensor, a tuple (LSTM) or a list with one per layer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from eigenloop.training.processes import Processes


def each(state: Any, function: Callable[[Tensor], Tensor]) -> Any:
    """Apply a function to every tensor of a state."""
    if state is None:
        return None
    if isinstance(state, (list, tuple)):
        return type(state)(each(part, function) for part in state)
    return function(state)


def detached(state: Any) -> Any:
    """Return a state that is detached from the autograd graph."""
    return each(state, lambda tensor: tensor.detach())


def kept_where(ended: Tensor, before: Any, after: Any) -> Any:
    """Return the states `before` for the sequences marked in `ended`, (B,) bool, and `after` for the others."""
    if isinstance(after, (list, tuple)):
        return type(after)(kept_where(ended, old, new) for old, new in zip(before, after, strict=True))
    return torch.where(ended[:, None], before, after)


def moved(state: Any, device: torch.device) -> Any:
    """Return a state on another device."""
    return each(state, lambda tensor: tensor.to(device))


def gathered(states: list[Any], processes: Processes) -> list[list[Any]]:
    """Return the states of every process, by rank; their structure must be the same in all."""
    everyones: list[list[Tensor]] = []

    def collect(tensor: Tensor) -> Tensor:
        everyones.append(processes.gathered(tensor.cpu()))
        return tensor

    for state in states:
        each(state, collect)
    result = []
    for rank in range(processes.count):
        tensors = iter([parts[rank] for parts in everyones])
        result.append([each(state, lambda _, mine=tensors: next(mine)) for state in states])  # type: ignore[misc]
    return result
