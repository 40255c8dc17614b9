"""Helpers for the loop over time: U x of all steps, the order of steps, valid steps, and previous states."""

from __future__ import annotations

import torch
from torch import Tensor


def multiplied(x: Tensor, input_weight: Tensor | None, input_bias: Tensor | None) -> Tensor:
    """Return p = U x + input_bias of all steps at once; without `input_weight`, x is already U x."""
    if input_weight is not None:
        return torch.nn.functional.linear(x, input_weight, input_bias)
    return x if input_bias is None else x + input_bias


def steps(length: int, reverse: bool) -> range:
    """Return the time indices in the order in which the recurrence visits them."""
    return range(length - 1, -1, -1) if reverse else range(length)


def valid_steps(lengths: Tensor, T: int) -> Tensor:
    """Return a mask of the valid steps of each sequence: (T, B, 1) bool."""
    return (torch.arange(T, device=lengths.device)[:, None] < lengths[None, :]).unsqueeze(-1)


def previous_states(out: Tensor, h0: Tensor, lengths: Tensor | None, reverse: bool) -> Tensor:
    """Return the previous state of every valid step: (T, B, n).

    These are the outputs shifted by one step, with h0 at the first step visited, which in reverse is the last valid
    step of each sequence. Values at padded steps are meaningless.
    """
    if len(out) == 0:
        return out
    if not reverse:
        return torch.cat((h0.unsqueeze(0), out[:-1]))
    previous = torch.cat((out[1:], h0.unsqueeze(0)))
    if lengths is not None:
        previous[lengths - 1, torch.arange(len(lengths), device=lengths.device)] = h0
    return previous
