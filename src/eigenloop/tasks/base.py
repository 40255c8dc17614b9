"""What every task is: batches that are functions of their position, a loss, measures, and a baseline."""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from eigenloop.pooling import Pool
from eigenloop.tasks.tally import Tally


@dataclass(frozen=True)
class Batch:
    """Sequences side by side, time first.

    Attributes:
        inputs: (T, B, m), or (T, B) int64 where the task's inputs are tokens.
        targets: (T, B) classes or (T, B, k) values; without T if not `per_step`.
        per_step: there is a target for every step; otherwise one for each sequence.
        lengths: (B,) valid steps of each sequence; None where all are valid. Steps beyond count for nothing.
        continues: the state after the batch before goes on here.
        lr_scale: factor of the learning rates in this step.
        weights: (B,) what each sequence counts in the loss; None where all count alike.
    """

    inputs: Tensor
    targets: Tensor
    per_step: bool = True
    lengths: Tensor | None = None
    continues: bool = False
    lr_scale: float = 1.0
    weights: Tensor | None = None

    @property
    def size(self) -> int:
        """B, the number of sequences."""
        return self.inputs.shape[1]

    @property
    def steps(self) -> int:
        """T, the number of time steps."""
        return self.inputs.shape[0]

    def is_finite(self) -> bool:
        """Whether inputs and targets hold neither NaN nor inf."""
        return bool(torch.isfinite(self.inputs).all() and torch.isfinite(self.targets).all())

    def part(self, index: int, count: int) -> Batch:
        """Return the `index`-th of `count` nearly equal parts, cut between sequences."""
        low, high = self.size * index // count, self.size * (index + 1) // count
        return dataclasses.replace(
            self,
            inputs=self.inputs[:, low:high],
            targets=self.targets[:, low:high] if self.per_step else self.targets[low:high],
            lengths=None if self.lengths is None else self.lengths[low:high],
            weights=None if self.weights is None else self.weights[low:high],
        )

    def segment(self, start: int, stop: int) -> Batch:
        """Return the steps from `start` to `stop`; targets of whole sequences go with every segment."""
        return dataclasses.replace(
            self,
            inputs=self.inputs[start:stop],
            targets=self.targets[start:stop] if self.per_step else self.targets,
            lengths=None if self.lengths is None else (self.lengths - start).clamp(0, min(stop, self.steps) - start),
            continues=self.continues or start > 0,
        )

    def to(self, device: torch.device, dtype: torch.dtype) -> Batch:
        """Move the tensors, and give those of floating point another precision."""

        def moved(tensor: Tensor) -> Tensor:
            return tensor.to(device, dtype if tensor.is_floating_point() else tensor.dtype)

        lengths = None if self.lengths is None else self.lengths.to(device)
        weights = None if self.weights is None else moved(self.weights)
        inputs, targets = moved(self.inputs), moved(self.targets)
        return dataclasses.replace(self, inputs=inputs, targets=targets, lengths=lengths, weights=weights)


class Task(ABC):
    """A problem to train on.

    A subclass is a frozen dataclass whose fields are its options. Nothing is carried from one call to the next: the
    batch of a training step depends on the step, the batch size and the seed only, so that any process, or a run
    that is taken up again, sees the same data.
    """

    #: The name by which the command line knows it.
    name: ClassVar[str]
    #: The measure by which runs are compared, and in which direction.
    metric: ClassVar[str] = "loss"
    higher_is_better: ClassVar[bool] = False
    #: Inputs are token numbers below `input_size`, for an embedding or one-hot vectors.
    tokens: ClassVar[bool] = False
    #: Only the state after the last step is read.
    last: ClassVar[bool] = False

    @property
    def pooling(self) -> Pool | None:
        """What is read of a sequence that has one target; None where there is one for every step."""
        return "last" if self.last else None

    @property
    def scales(self) -> frozenset[str]:
        """Whether the network scales its ``"input"`` and ``"output"``, with what `scalings` returns."""
        return frozenset()

    @property
    @abstractmethod
    def input_size(self) -> int:
        """Features of the input at one step; the number of tokens where inputs are tokens."""

    @property
    @abstractmethod
    def output_size(self) -> int:
        """Features that the read-out delivers."""

    @abstractmethod
    def steps_per_epoch(self, batch_size: int) -> int | None:
        """Return how many batches see all the data once; None where the data never repeats."""

    @abstractmethod
    def train_batch(self, step: int, batch_size: int, seed: int) -> Batch:
        """Return the batch of training step 0, 1, ..."""

    @property
    def splits(self) -> tuple[str, ...]:
        """The parts that can be evaluated; the choice of a model may use ``"valid"`` only."""
        return ("valid", "test")

    @abstractmethod
    def evaluation(self, split: str, batch_size: int) -> Iterator[Batch]:
        """Return all of ``"valid"`` or ``"test"``, always the same and in the same order."""

    @abstractmethod
    def loss(self, outputs: Tensor, batch: Batch) -> Tensor:
        """Return the sum of the loss over the terms of a batch; `terms` counts them."""

    @abstractmethod
    def terms(self, batch: Batch) -> float:
        """Return the number of terms in the loss of a batch, by which the sum is divided."""

    def measures(self, outputs: Tensor, batch: Batch) -> Tally:
        """Return further measures of a batch as sums with counts."""
        return Tally()

    def metrics(self, means: Mapping[str, float]) -> dict[str, float]:
        """Turn the means of loss and measures into what is reported."""
        return dict(means)

    @abstractmethod
    def baseline(self) -> dict[str, float]:
        """Return what the best guess without looking at the input reaches, by name of the metric."""

    def scalings(self) -> dict[str, tuple[Tensor, Tensor]]:
        """Return mean and scale of what the network scales (`scales`), learnt from the training split."""
        return {}

    @property
    def short_name(self) -> str:
        """What its runs are called, where nobody says."""
        return self.name

    @property
    def counted(self) -> str | None:
        """What the measures of a training are over, where they are not over whole sequences."""
        return None

    def settled(self) -> Task:
        """Return the task with all that its files decide written into its options, as a run remembers it."""
        return self

    def changed_files(self) -> list[str]:
        """Say of each file that it is no longer the one that this run was trained with."""
        return []

    def introduction(self) -> list[str]:
        """Return lines that say what was read, for people to see before a training starts."""
        return []

    def prepare(self) -> None:
        """Read whatever the task reads from files, so that what is wrong there is reported before anything starts."""
        self.baseline()
