"""The common base of copying and denoise: the targets are blanks, and at the end ten symbols to recall."""

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

#: The number of symbols to remember, and the target class of all other steps.
DATA, BLANK = 10, 0


@dataclass(frozen=True, kw_only=True)
class Recall(Synthetic):
    """A task whose last ten targets are symbols and whose others are blanks: cross-entropy over all steps."""

    #: Number of different symbols.
    kinds: ClassVar[int]

    @property
    @abstractmethod
    def total_steps(self) -> int:
        """T + 20, the number of time steps."""

    @property
    def output_size(self) -> int:
        """The blank and the symbols."""
        return self.kinds + 1

    def loss(self, outputs: Tensor, batch: Batch) -> Tensor:
        """Return the sum of the cross-entropies over all time steps."""
        return cross_entropy(outputs, batch.targets)

    def terms(self, batch: Batch) -> float:
        """Return the number of time steps of all sequences."""
        return valid_steps(batch)

    def measures(self, outputs: Tensor, batch: Batch) -> Tally:
        """Return the accuracy on the symbols; blanks, which are easy, do not count."""
        asked = batch.targets != BLANK
        return Tally(accuracy=(correct(outputs, batch.targets, asked), float(asked.sum())))

    def baseline(self) -> dict[str, float]:
        """Return the score of predicting blanks and then all symbols alike: a loss of 10 ln(kinds) / (T + 20)."""
        return {"loss": DATA * math.log(self.kinds) / self.total_steps, "accuracy": 1 / self.kinds}
