"""Tasks with randomly generated sequences, each a function of its number, the seed and its split."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from eigenloop.tasks.base import Batch, Task
from eigenloop.tasks.options import at_least
from eigenloop.tasks.order import batches_in, items_of
from eigenloop.tasks.seeding import generators

#: Each split has its own random stream; validation and test sequences do not depend on the seed of a run.
_TRAIN, _HELD_OUT, _HELD_OUT_SEED = 0, {"valid": 1, "test": 2}, 5544


@dataclass(frozen=True, kw_only=True)
class Synthetic(Task):
    """A task that generates its sequences.

    Args:
        train_size: number of sequences in a fixed training set; without it every batch consists of new sequences.
        shuffle: draw a new order of the fixed training set for every epoch.
        valid_size: number of sequences in the validation split.
        test_size: number of sequences in the test split.
    """

    train_size: int | None = None
    shuffle: bool = True
    valid_size: int = 1000
    test_size: int = 1000

    def __post_init__(self) -> None:
        for name in ("train_size", "valid_size", "test_size"):
            if getattr(self, name) is not None:
                at_least(name, getattr(self, name), 1)

    @abstractmethod
    def draw(self, generators: Sequence[np.random.Generator]) -> Batch:
        """Draw one sequence from each generator."""

    def steps_per_epoch(self, batch_size: int) -> int | None:
        """Return the number of batches in an epoch of a fixed training set, or None if there is none."""
        return None if self.train_size is None else batches_in(self.train_size, batch_size)

    def train_batch(self, step: int, batch_size: int, seed: int) -> Batch:
        """Draw the sequences step * B, step * B + 1, ..., or those of the fixed training set for this step."""
        if self.train_size is None:
            numbers: Sequence[int] = range(step * batch_size, (step + 1) * batch_size)
        else:
            numbers = items_of(step, batch_size, self.train_size, self.shuffle, seed).tolist()
        return self.draw(generators(seed, _TRAIN, numbers))

    def evaluation(self, split: str, batch_size: int) -> Iterator[Batch]:
        """Draw the sequences of the validation or test split."""
        size = {"valid": self.valid_size, "test": self.test_size}[self.checked_split(split)]
        for start in range(0, size, batch_size):
            numbers = range(start, min(start + batch_size, size))
            yield self.draw(generators(_HELD_OUT_SEED, _HELD_OUT[split], numbers))


def one_hot(symbols: Tensor, classes: int, dtype: torch.dtype = torch.float32) -> Tensor:
    """Return one-hot vectors, by lookup in the identity matrix: several times faster than torch's one_hot in int64.

    >>> one_hot(torch.tensor([0, 2]), 3)
    tensor([[1., 0., 0.],
            [0., 0., 1.]])
    """
    return nn.functional.embedding(symbols, torch.eye(classes, dtype=dtype, device=symbols.device))
