"""The copying problem (Hochreiter, Schmidhuber 1997; Arjovsky et al. 2016, section 5.1)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
import torch
from torch import Tensor

from eigenloop.tasks.base import Batch
from eigenloop.tasks.errors import at_least, one_of
from eigenloop.tasks.losses import correct, cross_entropy, valid_steps
from eigenloop.tasks.synthetic import Synthetic, one_hot
from eigenloop.tasks.tally import Tally

#: Symbols to remember, kinds of them, and the two others.
DATA, KINDS, BLANK, MARKER = 10, 8, 0, 9


@dataclass(frozen=True, kw_only=True)
class Copying(Synthetic):
    """Repeat ten symbols after `delay` blanks: cross-entropy over all T + 20 steps.

    Two conventions are in use, and a number without one means little:

    * ``"marker"``: 10 data, T blanks, the marker, 9 blanks; the answer starts at the marker (expRNN, projUNN, QORNN,
      NC-GRU);
    * ``"after-marker"``: 10 data, T - 1 blanks, the marker, 10 blanks; it starts one step later (scoRNN, ENRNN, nnRNN,
      GORU, EURNN, oRNN).

    Args:
        delay: T.
        convention: where the answer starts.
    """

    name: ClassVar[str] = "copying"

    delay: int = 1000
    convention: Literal["marker", "after-marker"] = "marker"

    def __post_init__(self) -> None:
        super().__post_init__()
        one_of("convention", self.convention, ("marker", "after-marker"))
        at_least("delay", self.delay, 1)

    @property
    def input_size(self) -> int:
        """Blank, eight symbols, marker."""
        return KINDS + 2

    @property
    def output_size(self) -> int:
        """Blank and eight symbols."""
        return KINDS + 1

    @property
    def length(self) -> int:
        """T + 20, all steps."""
        return self.delay + 2 * DATA

    def draw(self, generators: Sequence[np.random.Generator]) -> Batch:
        """Draw the ten symbols, 1 to 8."""
        data = torch.from_numpy(np.stack([generator.integers(1, KINDS + 1, DATA) for generator in generators], axis=1))
        inputs = torch.zeros(self.length, len(generators), self.input_size)
        inputs[:DATA] = one_hot(data, self.input_size)
        marker = self.delay + DATA - (self.convention == "after-marker")
        inputs[DATA:, :, BLANK] = 1.0
        inputs[marker, :, BLANK], inputs[marker, :, MARKER] = 0.0, 1.0
        targets = torch.full((self.length, len(generators)), BLANK)
        targets[-DATA:] = data
        return Batch(inputs, targets)

    def loss(self, outputs: Tensor, batch: Batch) -> Tensor:
        """Sum the cross-entropies of all steps."""
        return cross_entropy(outputs, batch.targets)

    def terms(self, batch: Batch) -> float:
        """All steps of all sequences."""
        return valid_steps(batch)

    def measures(self, outputs: Tensor, batch: Batch) -> Tally:
        """Return the share of the symbols that are recalled; blanks, which are easy, do not count."""
        asked = batch.targets != BLANK
        return Tally(accuracy=(correct(outputs, batch.targets, asked), float(asked.sum())))

    def baseline(self) -> dict[str, float]:
        """Blanks, then a guess among eight: 10 ln 8 / (T + 20)."""
        return {"loss": DATA * math.log(KINDS) / self.length, "accuracy": 1 / KINDS}
