"""Statistics of each channel, in one pass over blocks, so that memory-mapped values are never all in memory."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eigenloop.errors import DataError
from eigenloop.tasks.sequences.data import SequenceData, release
from eigenloop.tasks.sequences.pieces import Pieces, whole

#: Values in a block, chosen so that several blocks fit into the cache.
_BLOCK = 2**17
_LARGEST = float(np.finfo(np.float32).max)


@dataclass(frozen=True, eq=False)
class Statistics:
    """Statistics of each channel, (channels,).

    Attributes:
        count: number of values.
        missing: number of missing values.
        mean: mean.
        deviation: standard deviation.
        smallest: minimum.
        largest: maximum.
        first_missing: the place of the first missing value in words; None if there is none.
    """

    count: NDArray[np.int64]
    missing: NDArray[np.int64]
    mean: NDArray[np.float64]
    deviation: NDArray[np.float64]
    smallest: NDArray[np.float64]
    largest: NDArray[np.float64]
    first_missing: str | None

    @property
    def constant(self) -> NDArray[np.bool_]:
        """A mask of the channels that have the same value everywhere, or no value at all."""
        return ~(self.largest > self.smallest)


def statistics(data: SequenceData, pieces: Pieces | None = None) -> Statistics:
    """Return the statistics of all values, or of those in some pieces.

    Blocks are combined by the formula of Chan, Golub and LeVeque (1979), in float64.

    Raises:
        DataError: a value is infinite or too large for float32.

    >>> from eigenloop.tasks.sequences import from_arrays
    >>> summary = statistics(from_arrays(np.array([[1.0, 2.0, np.nan], [3.0, 4.0, 5.0]]), [0, 1]))
    >>> summary.mean, summary.missing, summary.first_missing
    (array([3.]), array([1]), 'case 0, step 2, channel 0')
    """
    m = data.channels
    count, missing = np.zeros(m, np.int64), np.zeros(m, np.int64)
    mean, squares = np.zeros(m), np.zeros(m)
    smallest, largest = np.full(m, np.inf), np.full(m, -np.inf)
    first = None
    for part, block in _blocks(data, whole(data) if pieces is None else pieces):
        seen = np.isfinite(block)
        full = bool(seen.all())
        low, high = block.min(1), block.max(1)
        if not full:
            _no_infinities(data, part, block)
            first = first or _place(data, part, ~seen)
            low, high = np.where(seen, block, np.inf).min(1), np.where(seen, block, -np.inf).max(1)
        elif max(-low.min(), high.max()) > _LARGEST:
            _no_infinities(data, part, block)
        n = seen.sum(1)
        filled = block if full else np.where(seen, block, 0.0)
        block_mean = filled.sum(1) / np.maximum(n, 1)
        centred = filled - block_mean[:, None]
        if not full:
            centred[~seen] = 0.0
        share, shift = n / np.maximum(count + n, 1), block_mean - mean
        squares += np.einsum("ij,ij->i", centred, centred) + shift**2 * (count * share)
        mean += shift * share
        count += n
        missing += block.shape[1] - n
        smallest, largest = np.minimum(smallest, low), np.maximum(largest, high)
    deviation = np.sqrt(squares / np.maximum(count, 1))
    return Statistics(count, missing, mean, deviation, smallest, largest, first)


def _blocks(data: SequenceData, pieces: Pieces) -> Iterator[tuple[Pieces, NDArray[np.float64]]]:
    """Yield the values of the pieces in order, in blocks (channels, steps), each with the pieces it consists of."""
    most = max(1, _BLOCK // data.channels)
    gathered: list[tuple[int, int, int]] = []
    size = 0
    for case, start, length in zip(pieces.case.tolist(), pieces.start.tolist(), pieces.length.tolist(), strict=True):
        while length > 0:
            taken = min(length, most - size)
            gathered.append((case, start, taken))
            start, length, size = start + taken, length - taken, size + taken
            if size == most:
                yield _gathered(data, gathered)
                gathered, size = [], 0
                release(data.values)
    if gathered:
        yield _gathered(data, gathered)


def _gathered(data: SequenceData, where: list[tuple[int, int, int]]) -> tuple[Pieces, NDArray[np.float64]]:
    slices: list[Any] = [data.values[data.steps(case, start, start + length)] for case, start, length in where]
    # Sums over the last axis are several times faster.
    block = np.ascontiguousarray((slices[0] if len(slices) == 1 else np.concatenate(slices)).T, np.float64)
    return Pieces.of(*zip(*where, strict=True)), block


def _place(data: SequenceData, part: Pieces, bad: NDArray[np.bool_]) -> str:
    step, channel = (int(index[0]) for index in np.nonzero(bad.T))
    ends = np.cumsum(part.length)
    piece = int(np.searchsorted(ends, step, side="right"))
    within = step - int(ends[piece] - part.length[piece])
    return data.place(int(part.case[piece]), int(part.start[piece]) + within, channel)


def _no_infinities(data: SequenceData, part: Pieces, block: NDArray[np.float64]) -> None:
    bad = np.abs(block) > _LARGEST
    if bad.any():
        value = block.T[bad.T][0]
        raise DataError(
            data.origin.path,
            f"the value {value:g} at {_place(data, part, bad)} is infinite or beyond what 32-bit floats hold: correct "
            "it, or leave it empty (NaN), which counts as missing",
        )
