"""The parenthesis problem (Foerster et al. 2017; Mucllari et al. 2022, section 5.1)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from eigenloop.tasks.base import Batch
from eigenloop.tasks.losses import correct, cross_entropy, squared_error, valid_steps
from eigenloop.tasks.options import at_least, one_of
from eigenloop.tasks.synthetic import Synthetic, one_hot
from eigenloop.tasks.tally import Tally

#: The largest count.
DEEPEST = 5


@dataclass(frozen=True, kw_only=True)
class Parenthesis(Synthetic):
    """Count the open brackets of each type, at every step.

    Tokens 2k and 2k + 1 open and close a bracket of type k, the last token is noise; each step draws one of them with
    equal probability. Counts are limited to 0 and 5. The output is one of six counts for each type.

    Args:
        length: T, the number of time steps.
        types: number of types of brackets; the published code has 3, its paper 10.
        objective: ``"mse"`` between the outputs and one-hot counts, as published, or ``"cross-entropy"``.
    """

    name: ClassVar[str] = "parenthesis"

    length: int = 100
    types: int = 3
    objective: Literal["mse", "cross-entropy"] = "mse"

    def __post_init__(self) -> None:
        super().__post_init__()
        one_of("objective", self.objective, ("mse", "cross-entropy"))
        at_least("length", self.length, 1)
        at_least("types", self.types, 1)
        if self.types > 100:
            raise ValueError(f"types is at most 100, got {self.types}: each needs two inputs and six outputs")

    @property
    def input_size(self) -> int:
        """2 * types + 1: an opening and a closing bracket of each type, and noise."""
        return 2 * self.types + 1

    @property
    def output_size(self) -> int:
        """6 * types: six counts of each type."""
        return (DEEPEST + 1) * self.types

    def draw(self, generators: Sequence[np.random.Generator]) -> Batch:
        """Draw the tokens and count the open brackets."""
        tokens = np.stack([g.integers(0, self.input_size, self.length, dtype=np.uint8) for g in generators], axis=1)
        counts = torch.from_numpy(open_brackets(tokens, self.types)).transpose(1, 2)
        return Batch(one_hot(torch.from_numpy(tokens).long(), self.input_size), counts.long())

    def _counts(self, outputs: Tensor) -> Tensor:
        """Return the outputs reshaped to (T, B, types, 6), six counts of each type."""
        return outputs.unflatten(-1, (self.types, DEEPEST + 1))

    def loss(self, outputs: Tensor, batch: Batch) -> Tensor:
        """Return the sum of the errors over all time steps and types."""
        if self.objective == "cross-entropy":
            return cross_entropy(self._counts(outputs), batch.targets)
        wanted = one_hot(batch.targets, DEEPEST + 1, outputs.dtype)
        return squared_error(self._counts(outputs), wanted)

    def terms(self, batch: Batch) -> float:
        """Return the number of steps times types, and times the six outputs if the objective is ``"mse"``."""
        return valid_steps(batch) * self.types * (1 if self.objective == "cross-entropy" else DEEPEST + 1)

    def measures(self, outputs: Tensor, batch: Batch) -> Tally:
        """Return the accuracy: the share of correct counts."""
        return Tally(accuracy=(correct(self._counts(outputs), batch.targets), valid_steps(batch) * self.types))

    def baseline(self) -> dict[str, float]:
        """Return the score of predicting the frequencies of the counts at each step, where early counts are small."""
        p = count_frequencies(self.length, self.types)
        if self.objective == "cross-entropy":
            from scipy.special import entr  # here, because importing the tasks does not need it

            loss = float(entr(p).sum(axis=1).mean())
        else:
            loss = float((p * (1 - p)).mean())
        return {"loss": loss, "accuracy": float(p.max(axis=1).mean())}


def open_brackets(tokens: NDArray[np.uint8], types: int) -> NDArray[np.int8]:
    """Return the number of open brackets after every step: tokens (T, B) give counts (T, types, B), 0 to 5.

    Each count depends on the one before, and a loop over T steps would pay the overhead of a NumPy call at each. So
    time is cut into about sqrt(T) blocks that are processed in parallel. A block maps a count c to c + (the sum of its
    changes), clipped to the interval from its result for 0 to its result for 5. Two passes, from 0 and from 5, give
    these bounds and with them the count at the beginning of each block; a third pass computes all counts.
    """
    T, B = tokens.shape
    length = math.isqrt(T - 1) + 1
    blocks = -(-T // length)
    in_order = np.zeros((blocks * length, types, B), dtype=np.int8)
    for kind in range(types):
        np.subtract(tokens == 2 * kind, tokens == 2 * kind + 1, out=in_order[:T, kind], dtype=np.int8)
    change = np.ascontiguousarray(in_order.reshape(blocks, length, types, B).swapaxes(0, 1))
    lowest, highest = np.zeros_like(change[0]), np.full_like(change[0], DEEPEST)
    for moved in change:
        _count(lowest, moved, out=lowest)
        _count(highest, moved, out=highest)
    total = change.sum(axis=0, dtype=np.int64)
    count = np.zeros_like(change[0])
    for block in range(blocks - 1):
        count[block + 1] = np.clip(count[block] + total[block], lowest[block], highest[block])
    for moved in change:  # each step's change becomes its count
        _count(count, moved, out=moved)
        count = moved
    return change.swapaxes(0, 1).reshape(blocks * length, types, B)[:T]


def _count(before: NDArray[np.int8], change: NDArray[np.int8], out: NDArray[np.int8]) -> None:
    """Write before + change, clipped to 0 and 5, to `out`."""
    np.add(before, change, out=out)
    np.minimum(out, DEEPEST, out=out)
    np.maximum(out, 0, out=out)


def count_frequencies(length: int, types: int) -> NDArray[np.float64]:
    """Return the probability of each count 0..5 at each step, (T, 6): a random walk from 0 between two barriers."""
    move = 1 / (2 * types + 1)
    walk = np.zeros((DEEPEST + 1, DEEPEST + 1))
    for count in range(DEEPEST + 1):
        walk[min(DEEPEST, count + 1), count] += move
        walk[max(0, count - 1), count] += move
        walk[count, count] += 1 - 2 * move
    frequencies = np.empty((length, DEEPEST + 1))
    now = np.eye(DEEPEST + 1)[0]
    for step in range(length):
        now = walk @ now
        frequencies[step] = now
    return frequencies
