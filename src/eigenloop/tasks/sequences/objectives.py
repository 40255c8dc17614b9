"""The training objectives for your own sequences: cross-entropy for classes, scaled squared error for values."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

from eigenloop.tasks.base import Batch
from eigenloop.tasks.losses import log_losses, valid_mask
from eigenloop.tasks.tally import Tally

#: With more classes than this, the recall of each class is not computed during training.
_MOST_RECALLS = 64


class Objective(Protocol):
    """A loss with its metrics."""

    def loss(self, outputs: Tensor, batch: Batch) -> Tensor:
        """Return the weighted sum of the loss over the terms of a batch."""

    def terms(self, batch: Batch) -> float:
        """Return the sum of the weights of a batch."""

    def measures(self, outputs: Tensor, batch: Batch) -> Tally:
        """Return metrics of a batch other than the loss, as sums with counts."""

    def metrics(self, means: Mapping[str, float]) -> dict[str, float]:
        """Convert means into the reported metrics."""


@dataclass(frozen=True, eq=False)
class Classes:
    """Cross-entropy, with each term multiplied by the weights of its class and of its sequence.

    Attributes:
        weights: (classes,) weight of each class; None for equal weights.
    """

    weights: Tensor | None = None

    def loss(self, outputs: Tensor, batch: Batch) -> Tensor:
        """Return the sum of -w log p(target)."""
        terms = log_losses(outputs, batch.targets)
        return terms.sum() if _alike(batch, self.weights) else (terms * self._weights(batch).flatten()).sum()

    def terms(self, batch: Batch) -> float:
        """Return the sum of the weights w."""
        return float(batch.targets.numel() if _alike(batch, self.weights) else self._weights(batch).sum())

    def _weights(self, batch: Batch) -> Tensor:
        weights = term_weights(batch)
        return weights if self.weights is None else weights * self.weights.to(weights)[batch.targets]

    def measures(self, outputs: Tensor, batch: Batch) -> Tally:
        """Return the accuracy, and the recall of each class unless there are too many."""
        classes, mask = outputs.shape[-1], valid_mask(batch) if batch.per_step else None
        right, targets = outputs.argmax(-1) == batch.targets, batch.targets
        if mask is not None:
            right, targets = right[mask], targets[mask]
        tally = Tally(accuracy=(float(right.sum()), targets.numel()))
        if classes <= _MOST_RECALLS:
            counts = torch.bincount(targets.flatten(), minlength=classes).tolist()
            hits = torch.bincount(targets[right].flatten(), minlength=classes).tolist()
            tally.add(Tally(**{f"recall {k}": pair for k, pair in enumerate(zip(hits, counts, strict=True))}))
        return tally

    def metrics(self, means: Mapping[str, float]) -> dict[str, float]:
        """Replace the recalls by their mean over the classes that occur, the balanced accuracy."""
        recalls = [value for name, value in means.items() if name.startswith("recall ") and not math.isnan(value)]
        other_means = {name: value for name, value in means.items() if not name.startswith("recall ")}
        return other_means | ({"balanced_accuracy": sum(recalls) / len(recalls)} if recalls else {})


@dataclass(frozen=True, eq=False)
class Values:
    """The mean of ((y - target) / scale)^2, so that predicting the mean gives a loss near 1 in any units.

    Attributes:
        scale: (outputs,) standard deviations of the targets in the training split.
    """

    scale: Tensor

    def loss(self, outputs: Tensor, batch: Batch) -> Tensor:
        """Return the sum of w ((y - target) / scale)^2."""
        squares = ((outputs - batch.targets) / self.scale.to(outputs)).square()
        return squares.sum() if _alike(batch, None) else (squares * term_weights(batch)[..., None]).sum()

    def terms(self, batch: Batch) -> float:
        """Return the sum of the weights w over sequences or steps, times the number of outputs."""
        return float(term_weights(batch).sum()) * len(self.scale)

    def measures(self, outputs: Tensor, batch: Batch) -> Tally:
        """Return the sums of squared and absolute errors, in the units of the targets."""
        errors, mask = (outputs - batch.targets).double(), valid_mask(batch) if batch.per_step else None
        errors = errors if mask is None else errors[mask]
        squares, absolute = float(errors.square().sum()), float(errors.abs().sum())
        return Tally(rmse=(squares, errors.numel()), mae=(absolute, errors.numel()))

    def metrics(self, means: Mapping[str, float]) -> dict[str, float]:
        """Replace the mean squared error by its root, ``rmse``."""
        return {**means, "rmse": math.sqrt(means["rmse"])}


def term_weights(batch: Batch) -> Tensor:
    """Return the weight of each target, (B,) or (T, B): the weight of its sequence, or 0 beyond the sequence's end."""
    shape = (batch.steps, batch.size) if batch.per_step else (batch.size,)
    dtype = batch.inputs.dtype if batch.inputs.is_floating_point() else torch.float32
    weights = torch.ones(shape, device=batch.inputs.device, dtype=dtype)
    if batch.per_step and (mask := valid_mask(batch)) is not None:
        weights = weights * mask
    return weights if batch.weights is None else weights * batch.weights.to(weights)


def _alike(batch: Batch, weights: Tensor | None) -> bool:
    return weights is None and batch.weights is None and (batch.lengths is None or not batch.per_step)
