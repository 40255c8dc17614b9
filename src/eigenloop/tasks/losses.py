"""Losses as sums over their terms; steps beyond the end of a sequence do not count."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from eigenloop.tasks.base import Batch


def valid_mask(batch: Batch) -> Tensor | None:
    """Return which time steps are valid, (T, B), or None if all are."""
    if batch.lengths is None:
        return None
    return torch.arange(batch.steps, device=batch.inputs.device)[:, None] < batch.lengths


def valid_steps(batch: Batch) -> float:
    """Return the total number of valid time steps of all sequences."""
    if batch.lengths is None:
        return float(batch.steps * batch.size)
    return float(batch.lengths.sum())


def cross_entropy(outputs: Tensor, targets: Tensor, mask: Tensor | None = None) -> Tensor:
    """Return the sum of -log p(target) over all positions, or those of the mask.

    Args:
        outputs: (..., classes) logits.
        targets: (...) classes.
        mask: (...) positions that count; None for all.
    """
    if mask is None:
        return nn.functional.cross_entropy(outputs.flatten(0, -2), targets.flatten(), reduction="sum")
    terms = nn.functional.cross_entropy(outputs.flatten(0, -2), targets.flatten(), reduction="none")
    return (terms * mask.flatten()).sum()


def squared_error(outputs: Tensor, targets: Tensor, mask: Tensor | None = None) -> Tensor:
    """Return the sum of (y - target)^2 over all entries, or those of the mask, which lacks the last dimension."""
    squares = (outputs - targets).square()
    return squares.sum() if mask is None else (squares * mask[..., None]).sum()


def correct(outputs: Tensor, targets: Tensor, mask: Tensor | None = None) -> float:
    """Return the number of positions, of the mask if there is one, where the largest output is the target."""
    hits = outputs.argmax(-1) == targets
    return float((hits if mask is None else hits & mask).sum())
