"""Pooling over time: the last state of a sequence, or the mean or maximum of all its states."""

from __future__ import annotations

from typing import Literal, get_args

import torch
from torch import Tensor

Pool = Literal["last", "mean", "max"]


def checked_pool(pool: str | None) -> Pool | None:
    """Return `pool` if it is None or the name of a pooling; raise ValueError otherwise."""
    if pool is not None and pool not in get_args(Pool):
        raise ValueError(f"pool={pool!r} is not known: choose one of {', '.join(get_args(Pool))}")
    return pool  # type: ignore[return-value]


def pooled(states: Tensor, pool: Pool, lengths: Tensor | None, time: int) -> Tensor:
    """Return the mean or maximum over the valid steps: (T, B, n) or (B, T, n) gives (B, n), and (T, n) gives (n,).

    Args:
        states: the states of all steps.
        pool: ``"mean"`` or ``"max"``.
        lengths: valid steps of each sequence, (B,); None if all are valid.
        time: the dimension of time, 0 or 1.

    >>> states = torch.tensor([[[1.0], [5.0]], [[3.0], [9.0]]])
    >>> pooled(states, "mean", torch.tensor([2, 1]), time=0), pooled(states, "max", None, time=0)
    (tensor([[2.],
            [5.]]), tensor([[3.],
            [9.]]))
    """
    if lengths is None:
        return states.mean(time) if pool == "mean" else states.amax(time)
    steps = torch.arange(states.shape[time], device=states.device)
    valid = (steps[:, None] < lengths if time == 0 else steps < lengths[:, None])[..., None]
    if pool == "max":
        return states.masked_fill(~valid, -torch.inf).amax(time)
    return torch.where(valid, states, 0).sum(time) / lengths[:, None].to(states.dtype)


class RunningPool:
    """The mean or maximum of the states so far, given one step after the other.

    >>> pool = RunningPool("mean")
    >>> [pool(torch.tensor([value])).item() for value in (1.0, 3.0, 8.0)]
    [1.0, 2.0, 4.0]
    """

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self.reset()

    def reset(self) -> None:
        """Forget all states."""
        self._steps = 0
        self._sum_or_max: Tensor | None = None

    def __call__(self, state: Tensor) -> Tensor:
        """Take the next state, and return the mean or maximum of all states since the last reset."""
        self._steps += 1
        before = self._sum_or_max
        if self._pool == "max":
            self._sum_or_max = state.clone() if before is None else torch.maximum(before, state)
            return self._sum_or_max
        # A stream may run for millions of steps, whose sum needs more digits than a state has.
        self._sum_or_max = state.to(torch.float64, copy=True) if before is None else before + state
        return (self._sum_or_max / self._steps).to(state.dtype)
