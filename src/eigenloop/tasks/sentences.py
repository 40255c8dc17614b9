"""A text as separate lines, each from the initial state: long ones are cut or chunked, short ones padded."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from eigenloop.tasks.base import Batch


@dataclass(frozen=True, eq=False)
class Pieces:
    """Pieces of a text, given by start and number of steps; step t reads token t and predicts token t + 1."""

    tokens: NDArray[np.integer]
    starts: NDArray[np.int64]
    lengths: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.starts)

    def batch(self, numbers: NDArray[np.int64], padding: int) -> Batch:
        """Return the pieces with these indices as a batch, padded to the longest of them."""
        starts, lengths = self.starts[numbers], self.lengths[numbers]
        steps = np.arange(lengths.max() + 1)[:, None]
        tokens = self.tokens[np.minimum(starts + steps, len(self.tokens) - 1)].astype(np.int64)
        inputs = np.where(steps[:-1] < lengths, tokens[:-1], padding)
        targets = np.where(steps[:-1] < lengths, tokens[1:], padding)
        return Batch(torch.from_numpy(inputs), torch.from_numpy(targets), lengths=torch.from_numpy(lengths))


def pieces(tokens: NDArray[np.integer], end: int, longest: int, chunk: bool) -> Pieces:
    """Cut a text into lines after every `end` token.

    The first token of a line is not predicted, so empty lines are left out. Steps beyond `longest` are dropped, or with
    `chunk` continue in further pieces, each of which begins with the token that was predicted last.

    Raises:
        ValueError: all lines are empty.

    >>> text = np.array([5, 6, 7, 0, 0, 8, 0])
    >>> pieces(text, 0, longest=2, chunk=False).lengths, pieces(text, 0, longest=2, chunk=True).lengths
    (array([2, 1]), array([2, 1, 1]))
    """
    ends = np.flatnonzero(tokens == end)
    starts = np.concatenate(([0], ends[:-1] + 1))[: len(ends)]
    steps = ends - starts
    if not steps.any():
        raise ValueError(
            f"none of the {len(ends):,} lines has a character to predict from: the text has empty lines only"
        )
    if not chunk:
        kept = steps > 0
        return Pieces(tokens, starts[kept], np.minimum(steps[kept], longest))
    counts = -(-steps // longest)
    number = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
    offsets = number * longest
    return Pieces(tokens, np.repeat(starts, counts) + offsets, np.minimum(np.repeat(steps, counts) - offsets, longest))
