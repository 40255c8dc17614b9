"""Walking along time: the input of all steps, their order, which are valid, and the state each one started from."""

from __future__ import annotations

import torch
from torch import Tensor


def multiplied(x: Tensor, input_weight: Tensor | None, input_bias: Tensor | None) -> Tensor:
    """Return p = U x + input_bias of all steps at once; without a U the input is multiplied already."""
    if input_weight is not None:
        return torch.nn.functional.linear(x, input_weight, input_bias)
    return x if input_bias is None else x + input_bias


def steps(length: int, reverse: bool) -> range:
    """Return the time indices in the order in which the recurrence visits them."""
    return range(length - 1, -1, -1) if reverse else range(length)


def valid_steps(lengths: Tensor, T: int) -> Tensor:
    """Mark the steps inside each sequence: (T, B, 1) bool."""
    return (torch.arange(T, device=lengths.device)[:, None] < lengths[None, :]).unsqueeze(-1)


def previous_states(out: Tensor, h0: Tensor, lengths: Tensor | None, reverse: bool) -> Tensor:
    """Return, for every valid step, the state that it started from: (T, B, n).

    The outputs shifted by one, with h0 at the first step visited. In reverse that first step is the last
    valid one of each sequence. What stands at padded steps is of no use.
    """
    if len(out) == 0:
        return out
    if not reverse:
        return torch.cat((h0.unsqueeze(0), out[:-1]))
    previous = torch.cat((out[1:], h0.unsqueeze(0)))
    if lengths is not None:
        previous[lengths - 1, torch.arange(len(lengths), device=lengths.device)] = h0
    return previous
