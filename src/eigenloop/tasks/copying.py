"""The copying problem (Hochreiter, Schmidhuber 1997; Arjovsky et al. 2016, section 5.1)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
import torch

from eigenloop.tasks.base import Batch
from eigenloop.tasks.options import at_least, one_of
from eigenloop.tasks.recall import BLANK, DATA, Recall
from eigenloop.tasks.synthetic import one_hot

#: The symbols are 1 to 8, the marker is 9.
KINDS, MARKER = 8, 9


@dataclass(frozen=True, kw_only=True)
class Copying(Recall):
    """Repeat ten symbols after `delay` blanks: cross-entropy over all T + 20 steps.

    Papers use two conventions, and results are comparable only within one of them:

    * ``"marker"``: 10 symbols, T blanks, the marker, 9 blanks; the output starts at the marker (expRNN, projUNN, QORNN,
      NC-GRU);
    * ``"after-marker"``: 10 symbols, T - 1 blanks, the marker, 10 blanks; the output starts one step later (scoRNN,
      ENRNN, nnRNN, GORU, EURNN, oRNN).

    Args:
        delay: T.
        convention: where the output starts.
    """

    name: ClassVar[str] = "copying"
    kinds: ClassVar[int] = KINDS

    delay: int = 1000
    convention: Literal["marker", "after-marker"] = "marker"

    def __post_init__(self) -> None:
        super().__post_init__()
        one_of("convention", self.convention, ("marker", "after-marker"))
        at_least("delay", self.delay, 1)

    @property
    def input_size(self) -> int:
        """10: the blank, eight symbols and the marker."""
        return KINDS + 2

    @property
    def total_steps(self) -> int:
        """T + 20, the number of time steps."""
        return self.delay + 2 * DATA

    def draw(self, generators: Sequence[np.random.Generator]) -> Batch:
        """Draw ten symbols, 1 to 8, for each sequence."""
        data = torch.from_numpy(np.stack([generator.integers(1, KINDS + 1, DATA) for generator in generators], axis=1))
        inputs = torch.zeros(self.total_steps, len(generators), self.input_size)
        inputs[:DATA] = one_hot(data, self.input_size)
        marker = self.delay + DATA - (self.convention == "after-marker")
        inputs[DATA:, :, BLANK] = 1.0
        inputs[marker, :, BLANK], inputs[marker, :, MARKER] = 0.0, 1.0
        targets = torch.full((self.total_steps, len(generators)), BLANK)
        targets[-DATA:] = data
        return Batch(inputs, targets)
