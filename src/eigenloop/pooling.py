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
