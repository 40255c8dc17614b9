"""A task of one's own: say a number again, some steps later."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor

from eigenloop.tasks import Batch
from eigenloop.tasks.synthetic import Synthetic


@dataclass(frozen=True, kw_only=True)
class Echo(Synthetic):
    """The output at step t is the input at step t - lag; mean squared error."""

    name: ClassVar[str] = "echo"

    length: int = 30
    lag: int = 3

    @property
    def input_size(self) -> int:
        return 1

    @property
    def output_size(self) -> int:
        return 1

    def draw(self, generators: Sequence[np.random.Generator]) -> Batch:
        values = np.stack([generator.random(self.length, dtype=np.float32) for generator in generators], 1)
        inputs = torch.from_numpy(values)[..., None]
        targets = torch.zeros_like(inputs)
        targets[self.lag :] = inputs[: -self.lag]
        return Batch(inputs, targets)

    def loss(self, outputs: Tensor, batch: Batch) -> Tensor:
        return (outputs - batch.targets).square().sum()

    def terms(self, batch: Batch) -> float:
        return float(batch.targets.numel())

    def baseline(self) -> dict[str, float]:
        """Always answering 1/2, and 0 before the first echo."""
        return {"loss": (self.length - self.lag) / self.length / 12}
