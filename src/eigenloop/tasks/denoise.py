"""The denoise problem (Jing et al. 2019, section 5.2; Mucllari et al. 2022, section 5.2)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch

from eigenloop.tasks.base import Batch
from eigenloop.tasks.options import at_least
from eigenloop.tasks.recall import BLANK, DATA, Recall
from eigenloop.tasks.synthetic import one_hot

#: The symbols are 1 to 9, the marker is 10.
KINDS, MARKER = 9, 10


@dataclass(frozen=True, kw_only=True)
class Denoise(Recall):
    """Pick ten symbols out of T + 9 steps of noise and repeat them: cross-entropy over all T + 20 steps.

    Args:
        length: T; the ten symbols are at random positions in the first T + 9 steps, then follow the marker and 10
            blanks.
        published: draw as the published code does: positions may coincide, so that a later symbol overwrites an
            earlier one, which is still a target; and the marker is a vector of zeros.
    """

    name: ClassVar[str] = "denoise"
    kinds: ClassVar[int] = KINDS

    length: int = 200
    published: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        at_least("length", self.length, 1)

    @property
    def total_steps(self) -> int:
        """T + 20, the number of time steps."""
        return self.length + 2 * DATA

    @property
    def input_size(self) -> int:
        """11: the blank, nine symbols and the marker; 10 with `published`, where the marker has no input."""
        return KINDS + 1 if self.published else KINDS + 2

    def draw(self, generators: Sequence[np.random.Generator]) -> Batch:
        """Draw ten symbols, 1 to 9, and their positions in increasing order."""
        open_steps, rows = self.length + DATA - 1, len(generators)
        data, places = np.empty((2, DATA, rows), dtype=np.int64)
        for row, generator in enumerate(generators):
            data[:, row] = generator.integers(1, KINDS + 1, DATA)
            if self.published:
                places[:, row] = np.sort(generator.integers(0, open_steps, DATA))
            else:
                places[:, row] = np.sort(generator.choice(open_steps, DATA, replace=False))
        symbols = np.full((self.total_steps, rows), BLANK)
        columns = np.arange(rows)
        for place, value in zip(places, data, strict=True):  # in order: a later symbol overwrites an earlier one
            symbols[place, columns] = value
        symbols[open_steps] = MARKER
        targets = torch.full(symbols.shape, BLANK)
        targets[-DATA:] = torch.from_numpy(data)
        inputs = one_hot(torch.from_numpy(symbols), KINDS + 2)
        return Batch(inputs[..., : self.input_size].contiguous(), targets)
