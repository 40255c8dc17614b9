"""The adding problem (Hochreiter, Schmidhuber 1997; Arjovsky et al. 2016, section 5.2)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor

from eigenloop.tasks.base import Batch
from eigenloop.tasks.losses import squared_error
from eigenloop.tasks.options import at_least
from eigenloop.tasks.synthetic import Synthetic


@dataclass(frozen=True, kw_only=True)
class Adding(Synthetic):
    """Add the two marked numbers of a long list: mean squared error of the last output.

    The input at a step is (value, marker) with values ~ U[0, 1); one marker lies in each half, with the border at
    (T - 1) // 2 as in scoRNN, ENRNN and projUNN.

    Args:
        length: T, the number of time steps.
    """

    name: ClassVar[str] = "adding"
    last: ClassVar[bool] = True

    length: int = 750

    def __post_init__(self) -> None:
        super().__post_init__()
        at_least("length", self.length, 3)  # with fewer, the first half is empty

    @property
    def input_size(self) -> int:
        """2: value and marker."""
        return 2

    @property
    def output_size(self) -> int:
        """1: the sum."""
        return 1

    def draw(self, generators: Sequence[np.random.Generator]) -> Batch:
        """Draw the values, then the position of the marker in each half."""
        half, rows = (self.length - 1) // 2, len(generators)
        values = np.empty((rows, self.length), dtype=np.float32)
        places = np.empty((rows, 2), dtype=np.int64)
        for row, generator in enumerate(generators):
            generator.random(dtype=np.float32, out=values[row])
            places[row] = generator.integers(0, half), generator.integers(half, self.length)
        inputs = torch.zeros(self.length, rows, 2)
        inputs[..., 0] = torch.from_numpy(values).T
        inputs[..., 1].scatter_(0, torch.from_numpy(places.T), 1.0)
        sums = np.take_along_axis(values, places, axis=1).sum(axis=1, keepdims=True)
        return Batch(inputs, torch.from_numpy(sums), per_step=False)

    def loss(self, outputs: Tensor, batch: Batch) -> Tensor:
        """Return the sum of the squared errors."""
        return squared_error(outputs, batch.targets)

    def terms(self, batch: Batch) -> float:
        """Return the number of sequences: the loss has one term for each."""
        return float(batch.size)

    def baseline(self) -> dict[str, float]:
        """Return the loss of the constant prediction 1: the variance of the sum of two U(0, 1), 1/6."""
        return {"loss": 1 / 6}
