"""The Penn Treebank (Marcus et al. 1993; Mikolov et al. 2012): prediction of the next character or word."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Literal

from torch import Tensor

from eigenloop.tasks import ptb_text
from eigenloop.tasks.base import Batch
from eigenloop.tasks.language import LanguageModelling
from eigenloop.tasks.options import at_least, one_of
from eigenloop.tasks.order import batches_in, items_of
from eigenloop.tasks.ptb_text import BLANK, EOS, SPLITS, Corpus
from eigenloop.tasks.sentences import Pieces, pieces


@dataclass(frozen=True, kw_only=True)
class PTBCharacters(LanguageModelling):
    """Predict the next of 50 characters: 49, and the end of a line.

    Args:
        mode: ``"streams"``, or ``"sentences"``: each line separately from the initial state, padded to the longest of
            the batch; its first character is not predicted (QORNN). `bptt`, `carry` and `eval_streams` have no effect
            then.
        longest: maximum number of time steps of a sentence.
        long: how longer sentences, a quarter of all, are treated: ``"cut"`` drops the rest, ``"chunk"`` continues in
            further pieces so that every character is predicted.
        shuffle: draw a new order of the sentences for every epoch.
    """

    name: ClassVar[str] = "ptb-char"
    metric: ClassVar[str] = "bpc"

    mode: Literal["streams", "sentences"] = "streams"
    longest: int = 150
    long: Literal["cut", "chunk"] = "cut"
    shuffle: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        at_least("longest", self.longest, 1)
        one_of("mode", self.mode, ("streams", "sentences"))
        one_of("long", self.long, ("cut", "chunk"))
        if self.varied and self.mode == "sentences":
            raise ValueError("varied is for streams, and mode is 'sentences': set varied=False or mode='streams'")

    def _read(self) -> Corpus:
        return ptb_text.characters(self.data_dir, self.verify)

    @cached_property
    def _pieces(self) -> dict[str, Pieces]:
        end = self.vocabulary.index(EOS)
        return {split: pieces(self.corpus.tokens[split], end, self.longest, self.long == "chunk") for split in SPLITS}

    @property
    def _padding(self) -> int:
        return self.vocabulary.index(BLANK) if BLANK in self.vocabulary else 0

    def decode(self, tokens: Tensor | Iterable[int]) -> str:
        """Return the text of token indices, with ``_`` for spaces as in the files."""
        return "".join(self._symbols(tokens))

    def steps_per_epoch(self, batch_size: int) -> int:
        """Return the number of batches in an epoch."""
        if self.mode == "streams":
            return super().steps_per_epoch(batch_size)
        return batches_in(len(self._pieces["train"]), batch_size)

    def train_batch(self, step: int, batch_size: int, seed: int) -> Batch:
        """Return the segment or the sentences of a training step."""
        if self.mode == "streams":
            return super().train_batch(step, batch_size, seed)
        train = self._pieces["train"]
        return train.batch(items_of(step, batch_size, len(train), self.shuffle, seed), self._padding)

    def evaluation(self, split: str, batch_size: int) -> Iterator[Batch]:
        """Yield all segments, or all sentences in the order of the text."""
        if self.mode == "streams":
            return super().evaluation(split, batch_size)
        held = self._pieces[self.checked_split(split, "train")]
        steps = range(batches_in(len(held), batch_size))
        return (held.batch(items_of(step, batch_size, len(held), False, 0), self._padding) for step in steps)

    def metrics(self, means: Mapping[str, float]) -> dict[str, float]:
        """Add ``bpc``, bits per character: the loss divided by ln 2."""
        return {**means, "bpc": means["loss"] / math.log(2)}

    def prepare(self) -> None:
        """Read the texts, and cut them into sentences in that mode."""
        if self.mode == "streams":
            super().prepare()
        else:
            _ = self._pieces


@dataclass(frozen=True, kw_only=True)
class PTBWords(LanguageModelling):
    """Predict the next of 10,000 words, one of which is the end of a line."""

    name: ClassVar[str] = "ptb-word"
    metric: ClassVar[str] = "perplexity"

    bptt: int = 70

    def _read(self) -> Corpus:
        return ptb_text.words(self.data_dir, self.verify)

    def decode(self, tokens: Tensor | Iterable[int]) -> str:
        """Return the text of token indices, with a space before every word and every newline as in the files."""
        return "".join(f" {symbol}" for symbol in self._symbols(tokens))

    def metrics(self, means: Mapping[str, float]) -> dict[str, float]:
        """Add the perplexity, exp(loss); inf if it overflows."""
        try:
            perplexity = math.exp(means["loss"])
        except OverflowError:
            perplexity = math.inf
        return {**means, "perplexity": perplexity}
