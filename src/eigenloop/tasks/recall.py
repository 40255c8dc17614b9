"""What copying and denoise share: ten symbols are to be given back at the end, and blanks everywhere before."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor

from eigenloop.tasks.base import Batch
from eigenloop.tasks.losses import correct, cross_entropy, valid_steps
from eigenloop.tasks.synthetic import Synthetic
from eigenloop.tasks.tally import Tally

#: Symbols to remember, and the class of all other steps.
DATA, BLANK = 10, 0


@dataclass(frozen=True, kw_only=True)
class Recall(Synthetic):
    """A task whose last ten targets are symbols and whose others are blanks: cross-entropy over all steps."""

    #: How many symbols there are to choose from.
    kinds: ClassVar[int]

    @property
    @abstractmethod
    def total_steps(self) -> int:
        """T + 20, all steps."""

    @property
    def output_size(self) -> int:
        """Blank and the symbols."""
        return self.kinds + 1

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
        """Blanks, then a guess: 10 ln(kinds) / (T + 20)."""
        return {"loss": DATA * math.log(self.kinds) / self.total_steps, "accuracy": 1 / self.kinds}
