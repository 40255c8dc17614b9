"""What a network on own sequences is trained for: the right class, or values near the measured ones."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor, nn

from eigenloop.tasks.base import Batch
from eigenloop.tasks.losses import valid_mask
from eigenloop.tasks.tally import Tally

#: With more classes than this the recall of each is left to the end.
_MOST_RECALLS = 64


class Objective(Protocol):
    """Loss, measures and the guess that does not look at the input."""

    def loss(self, outputs: Tensor, batch: Batch) -> Tensor:
        """Return the sum over the terms of a batch, each with its weight."""

    def terms(self, batch: Batch) -> float:
        """Return the sum of the weights."""

    def measures(self, outputs: Tensor, batch: Batch) -> Tally:
        """Return measures as sums with counts."""

    def metrics(self, means: Mapping[str, float]) -> dict[str, float]:
        """Turn means into what is reported."""


@dataclass(frozen=True, eq=False)
class Classes:
    """Cross-entropy, each term times the weight of its class and of its sequence.

    Attributes:
        weights: (classes,), what each class counts; None where all count alike.
    """

    weights: Tensor | None = None

    def loss(self, outputs: Tensor, batch: Batch) -> Tensor:
        """Sum -w log p(target)."""
        terms = nn.functional.cross_entropy(outputs.flatten(0, -2), batch.targets.flatten(), reduction="none")
        return terms.sum() if _alike(batch, self.weights) else (terms * self._weights(batch).flatten()).sum()

    def terms(self, batch: Batch) -> float:
        """Sum w."""
        return float(batch.targets.numel() if _alike(batch, self.weights) else self._weights(batch).sum())

    def _weights(self, batch: Batch) -> Tensor:
        weights = term_weights(batch)
        return weights if self.weights is None else weights * self.weights.to(weights)[batch.targets]

    def measures(self, outputs: Tensor, batch: Batch) -> Tally:
        """Count what is right, of all and of each class."""
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
        """Report the mean of the recalls of the classes that there are: balanced accuracy."""
        recalls = [value for name, value in means.items() if name.startswith("recall ") and not math.isnan(value)]
        other_means = {name: value for name, value in means.items() if not name.startswith("recall ")}
        return other_means | ({"balanced_accuracy": sum(recalls) / len(recalls)} if recalls else {})


@dataclass(frozen=True, eq=False)
class Values:
    """The mean of ((y - target) / scale)^2, so that a guess of the mean has a loss near 1 in whichever units.

    Attributes:
        scale: (outputs,), deviations of the targets of the training split.
    """

    scale: Tensor

    def loss(self, outputs: Tensor, batch: Batch) -> Tensor:
        """Sum w ((y - target) / scale)^2."""
        squares = ((outputs - batch.targets) / self.scale.to(outputs)).square()
        return squares.sum() if _alike(batch, None) else (squares * term_weights(batch)[..., None]).sum()

    def terms(self, batch: Batch) -> float:
        """Sum w over sequences or steps, and outputs."""
        return float(term_weights(batch).sum()) * len(self.scale)

    def measures(self, outputs: Tensor, batch: Batch) -> Tally:
        """Sum squares and absolute values of the errors, in the units of the targets."""
        errors, mask = (outputs - batch.targets).double(), valid_mask(batch) if batch.per_step else None
        errors = errors if mask is None else errors[mask]
        squares, absolute = float(errors.square().sum()), float(errors.abs().sum())
        return Tally(rmse=(squares, errors.numel()), mae=(absolute, errors.numel()))

    def metrics(self, means: Mapping[str, float]) -> dict[str, float]:
        """Report the root of the mean square."""
        return {**means, "rmse": math.sqrt(means["rmse"])}


def term_weights(batch: Batch) -> Tensor:
    """Return what each target counts, (B,) or (T, B): 0 beyond the end of a sequence, else the sequence's weight."""
    shape = (batch.steps, batch.size) if batch.per_step else (batch.size,)
    dtype = batch.inputs.dtype if batch.inputs.is_floating_point() else torch.float32
    weights = torch.ones(shape, device=batch.inputs.device, dtype=dtype)
    if batch.per_step and (mask := valid_mask(batch)) is not None:
        weights = weights * mask
    return weights if batch.weights is None else weights * batch.weights.to(weights)


def _alike(batch: Batch, weights: Tensor | None) -> bool:
    return weights is None and batch.weights is None and (batch.lengths is None or not batch.per_step)
