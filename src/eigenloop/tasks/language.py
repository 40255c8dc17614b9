"""Language modelling: prediction of the next token of a text, read as parallel streams."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import ClassVar

import numpy as np
from torch import Tensor

from eigenloop.tasks.base import Batch, Task
from eigenloop.tasks.losses import correct, cross_entropy, valid_mask, valid_steps
from eigenloop.tasks.options import at_least
from eigenloop.tasks.ptb_text import EOS, Corpus
from eigenloop.tasks.streams import all_segments, predictions, segment_count, train_segment
from eigenloop.tasks.tally import Tally


@dataclass(frozen=True, kw_only=True)
class LanguageModelling(Task):
    """Predict the next token of a text, which is cut into as many parallel streams as there are sequences in a batch.

    Args:
        bptt: time steps of a segment, through which gradients are propagated.
        carry: carry the hidden state from one segment to the next; otherwise each starts from the initial state, as in
            NC-GRU's code.
        varied: segments of random lengths around `bptt`, with learning rates in proportion (AWD-LSTM, NC-GRU).
        eval_streams: number of streams of the validation and test texts, whatever the batch size, because it affects
            the result.
        verify: require the published files; set ``False`` for your own text, in the same format and under the same
            names.
        data_dir: the folder with the data, or the one above.
    """

    tokens: ClassVar[bool] = True

    bptt: int = 150
    carry: bool = True
    varied: bool = False
    eval_streams: int = 10
    verify: bool = True
    data_dir: Path | None = None

    def __post_init__(self) -> None:
        at_least("bptt", self.bptt, 1)
        at_least("eval_streams", self.eval_streams, 1)

    @abstractmethod
    def _read(self) -> Corpus:
        """Read the training, validation and test texts."""

    @cached_property
    def corpus(self) -> Corpus:
        """The texts as token indices."""
        return self._read()

    @property
    def vocabulary(self) -> tuple[str, ...]:
        """The token of each index."""
        return self.corpus.vocabulary

    @abstractmethod
    def decode(self, tokens: Tensor | Iterable[int]) -> str:
        """Return the text of token indices."""

    def _symbols(self, tokens: Tensor | Iterable[int]) -> Iterator[str]:
        symbols = (self.vocabulary[int(token)] for token in tokens)
        return ("\n" if symbol == EOS else symbol for symbol in symbols)

    @property
    def input_size(self) -> int:
        """The vocabulary size."""
        return len(self.vocabulary)

    @property
    def output_size(self) -> int:
        """The vocabulary size: one logit for each token."""
        return len(self.vocabulary)

    def steps_per_epoch(self, batch_size: int) -> int:
        """Return the number of segments of the training text."""
        return segment_count(predictions(len(self.corpus.tokens["train"]), batch_size), self.bptt, self.varied)

    def train_batch(self, step: int, batch_size: int, seed: int) -> Batch:
        """Return the segment of a training step; every epoch begins with the initial state."""
        return train_segment(
            self.corpus.tokens["train"],
            step,
            batch_size,
            bptt=self.bptt,
            varied=self.varied,
            carry=self.carry,
            seed=seed,
        )

    def evaluation(self, split: str, batch_size: int) -> Iterator[Batch]:
        """Yield all segments of a text, in `eval_streams` streams."""
        tokens = self.corpus.tokens[self.checked_split(split, "train")]
        return all_segments(tokens, self.eval_streams, bptt=self.bptt, carry=self.carry)

    def loss(self, outputs: Tensor, batch: Batch) -> Tensor:
        """Return the sum of the cross-entropies of all predictions."""
        return cross_entropy(outputs, batch.targets, valid_mask(batch))

    def terms(self, batch: Batch) -> float:
        """Return the number of predicted tokens."""
        return valid_steps(batch)

    def measures(self, outputs: Tensor, batch: Batch) -> Tally:
        """Return the accuracy: the share of tokens with the largest predicted probability."""
        return Tally(accuracy=(correct(outputs, batch.targets, valid_mask(batch)), valid_steps(batch)))

    def baseline(self) -> dict[str, float]:
        """Return the loss of predicting the token frequencies of the training text, and the accuracy of its mode."""
        shares = np.bincount(self.corpus.tokens["train"]) / len(self.corpus.tokens["train"])
        return self.metrics({"loss": float(-(shares * np.log(shares)).sum()), "accuracy": float(shares.max())})

    def prepare(self) -> None:
        """Read the texts; raises ValueError if a text to evaluate is too short for `eval_streams`."""
        for split in self.splits:
            predictions(len(self.corpus.tokens[split]), self.eval_streams)
