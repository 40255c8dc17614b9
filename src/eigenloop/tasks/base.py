"""The interface of a task: batches as a function of the training step, a loss, metrics and a baseline."""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from eigenloop.errors import ConfigError
from eigenloop.pooling import Pool
from eigenloop.tasks.tally import Tally


@dataclass(frozen=True)
class Batch:
    """A batch of sequences, time first.

    Attributes:
        inputs: (T, B, m), or (T, B) int64 if the task's inputs are tokens.
        targets: (T, B) classes or (T, B, k) values; without T if not `per_step`.
        per_step: there is a target for every time step; otherwise one for each sequence.
        lengths: (B,) number of valid steps of each sequence; None if all are valid. Further steps are ignored.
        continues: the sequences continue those of the previous batch, so its final states are the initial ones.
        lr_scale: factor for the learning rates in this training step.
        weights: (B,) weight of each sequence in the loss; None for equal weights.
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
        """Return the `index`-th of `count` parts with nearly the same number of sequences."""
        low, high = self.size * index // count, self.size * (index + 1) // count
        return dataclasses.replace(
            self,
            inputs=self.inputs[:, low:high],
            targets=self.targets[:, low:high] if self.per_step else self.targets[low:high],
            lengths=None if self.lengths is None else self.lengths[low:high],
            weights=None if self.weights is None else self.weights[low:high],
        )

    def segment(self, start: int, stop: int) -> Batch:
        """Return the time steps from `start` to `stop`; every segment has the targets of whole sequences."""
        return dataclasses.replace(
            self,
            inputs=self.inputs[start:stop],
            targets=self.targets[start:stop] if self.per_step else self.targets,
            lengths=None if self.lengths is None else (self.lengths - start).clamp(0, min(stop, self.steps) - start),
            continues=self.continues or start > 0,
        )

    def to(self, device: torch.device, dtype: torch.dtype) -> Batch:
        """Return the batch on another device, with floating-point tensors converted to `dtype`."""

        def moved(tensor: Tensor) -> Tensor:
            return tensor.to(device, dtype if tensor.is_floating_point() else tensor.dtype)

        lengths = None if self.lengths is None else self.lengths.to(device)
        weights = None if self.weights is None else moved(self.weights)
        inputs, targets = moved(self.inputs), moved(self.targets)
        return dataclasses.replace(self, inputs=inputs, targets=targets, lengths=lengths, weights=weights)


class Task(ABC):
    """A task: the data to train on, the loss and the metrics.

    A subclass is a frozen dataclass whose fields are its options. A task has no state between calls: the batch of a
    training step depends only on the step, the batch size and the seed, so that every process, and a run that is
    resumed, sees the same data.
    """

    #: The name of the task on the command line and in a configuration.
    name: ClassVar[str]
    #: The metric by which runs are compared, and whether higher is better.
    metric: ClassVar[str] = "loss"
    higher_is_better: ClassVar[bool] = False
    #: Inputs are token indices below `input_size`, for an embedding or one-hot vectors.
    tokens: ClassVar[bool] = False
    #: Only the hidden state after the last time step is read out.
    last: ClassVar[bool] = False

    @property
    def pooling(self) -> Pool | None:
        """How hidden states are pooled for sequences with one target; None if there is a target for every step."""
        return "last" if self.last else None

    @property
    def scales(self) -> frozenset[str]:
        """Which of ``"input"`` and ``"output"`` the network scales, by the values of `scalings`."""
        return frozenset()

    @property
    @abstractmethod
    def input_size(self) -> int:
        """Number of input features at a time step, or the vocabulary size if inputs are tokens."""

    @property
    @abstractmethod
    def output_size(self) -> int:
        """Number of outputs of the read-out."""

    @abstractmethod
    def steps_per_epoch(self, batch_size: int) -> int | None:
        """Return the number of batches in an epoch, or None if new data are generated for every batch."""

    @abstractmethod
    def train_batch(self, step: int, batch_size: int, seed: int) -> Batch:
        """Return the batch of a training step, counted from 0."""

    @property
    def splits(self) -> tuple[str, ...]:
        """The splits that can be evaluated; only ``"valid"`` may be used to choose a network."""
        return ("valid", "test")

    @abstractmethod
    def evaluation(self, split: str, batch_size: int) -> Iterator[Batch]:
        """Yield all batches of a split, ``"valid"`` or ``"test"``, always the same data in the same order."""

    def checked_split(self, split: str, *others: str) -> str:
        """Return the name of a split; raises ConfigError if it is neither one of `splits` nor one of `others`."""
        known = tuple(dict.fromkeys((*others, *self.splits)))
        if split not in known:
            raise ConfigError(f"{self.name} has no split {split!r}: choose {' or '.join(known)}")
        return split

    @abstractmethod
    def loss(self, outputs: Tensor, batch: Batch) -> Tensor:
        """Return the sum of the loss over all terms of a batch; `terms` is their number."""

    @abstractmethod
    def terms(self, batch: Batch) -> float:
        """Return the number of terms in the loss of a batch, or their total weight, by which the sum is divided."""

    def measures(self, outputs: Tensor, batch: Batch) -> Tally:
        """Return metrics of a batch other than the loss, as sums with counts."""
        return Tally()

    def metrics(self, means: Mapping[str, float]) -> dict[str, float]:
        """Convert the means of the loss and of `measures` into the reported metrics."""
        return dict(means)

    @abstractmethod
    def baseline(self) -> dict[str, float]:
        """Return the score of the best prediction that ignores the input, by name of the metric."""

    def scalings(self) -> dict[str, tuple[Tensor, Tensor]]:
        """Return (mean, scale) of the training split for each of `scales`."""
        return {}

    @property
    def short_name(self) -> str:
        """The name of the task in the default name of a run folder."""
        return self.name

    @property
    def counted(self) -> str | None:
        """What metrics are averaged over, in words, if not over whole sequences; otherwise None."""
        return None

    def settled(self) -> Task:
        """Return the task with options that depend on its files filled in, as a run stores it."""
        return self

    def changed_files(self) -> list[str]:
        """Return a sentence for each file whose content has changed since the run began."""
        return []

    def introduction(self) -> list[str]:
        """Return lines that describe the data, shown to the user before a training starts."""
        return []

    def prepare(self) -> None:
        """Read the files of the task, so that errors in them are reported before a training starts."""
        self.baseline()
