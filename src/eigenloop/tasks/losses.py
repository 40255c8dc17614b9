"""Losses as sums over their terms, with sequences of different lengths counted to their ends only."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from eigenloop.tasks.base import Batch


def valid_mask(batch: Batch) -> Tensor | None:
    """Return which steps count, (T, B), or None where all do."""
    if batch.lengths is None:
        return None
    return torch.arange(batch.steps, device=batch.inputs.device)[:, None] < batch.lengths


def valid_steps(batch: Batch) -> float:
    """Return how many steps of all sequences together count."""
    if batch.lengths is None:
        return float(batch.steps * batch.size)
    return float(batch.lengths.sum())


def cross_entropy(outputs: Tensor, targets: Tensor, mask: Tensor | None = None) -> Tensor:
    """Sum -log p(target) over all positions, or those of the mask: (..., classes) and (...)."""
    if mask is None:
        return nn.functional.cross_entropy(outputs.flatten(0, -2), targets.flatten(), reduction="sum")
    terms = nn.functional.cross_entropy(outputs.flatten(0, -2), targets.flatten(), reduction="none")
    return (terms * mask.flatten()).sum()


def squared_error(outputs: Tensor, targets: Tensor, mask: Tensor | None = None) -> Tensor:
    """Sum (y - target)^2 over all entries, or those of the mask, which lacks the last dimension."""
    squares = (outputs - targets).square()
    return squares.sum() if mask is None else (squares * mask[..., None]).sum()


def correct(outputs: Tensor, targets: Tensor, mask: Tensor | None = None) -> float:
    """Count the positions, of the mask if there is one, where the largest output is the target."""
    hits = outputs.argmax(-1) == targets
    return float((hits if mask is None else hits & mask).sum())
