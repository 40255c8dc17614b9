"""A random generator for every sequence, with fast seeding."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.random.bit_generator import ISeedSequence
from numpy.typing import NDArray

#: The increment of SplitMix64: 2^64 / golden ratio, made odd.
_STEP = np.uint64(0x9E3779B97F4A7C15)


def generators(seed: int, stream: int, numbers: Sequence[int]) -> list[np.random.Generator]:
    """Return one generator for each sequence, a function of seed, stream and the number of the sequence.

    NumPy's seeding takes 15 us to hash the entropy of a generator, longer than drawing ten symbols. Here seed and
    stream are hashed once, and SplitMix64 (Steele et al. 2014) mixes in the numbers of all sequences at once.

    >>> a, b = generators(0, 1, [5, 6])
    >>> a.random() == generators(0, 1, [5])[0].random(), a.random() == b.random()
    (True, False)
    """
    first, second = _key(seed, stream)
    with np.errstate(over="ignore"):
        number = _mixed(first + np.asarray(numbers, dtype=np.uint64) * _STEP)
        words = _mixed(number[:, None] ^ _mixed(second + np.arange(1, 5, dtype=np.uint64) * _STEP))
    return [np.random.Generator(np.random.PCG64(_Words(row))) for row in words]  # type: ignore[arg-type]


class _Words(ISeedSequence):
    """A seed sequence whose words are already mixed."""

    def __init__(self, words: NDArray[np.uint64]) -> None:
        self._words = words

    def generate_state(self, n_words: int, dtype: Any = np.uint32) -> NDArray[Any]:
        """Return the four 64-bit words that PCG64 requests."""
        return self._words


@functools.lru_cache(maxsize=8)
def _key(seed: int, stream: int) -> tuple[np.uint64, np.uint64]:
    first, second = np.random.SeedSequence((seed, stream)).generate_state(2, np.uint64)
    return first, second


def _mixed(z: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return SplitMix64's finaliser of z: every bit of the result depends on every bit of z."""
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    mixed: NDArray[np.uint64] = z ^ (z >> np.uint64(31))
    return mixed
