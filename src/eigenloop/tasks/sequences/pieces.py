"""Pieces of cases, given by case, start and length: whole cases, blocks in time and windows; values are not copied."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eigenloop.tasks.options import at_least
from eigenloop.tasks.sequences.data import SequenceData

#: Maximum number of windows; the indices of more would take more memory than the network.
MOST_WINDOWS = 20_000_000


@dataclass(frozen=True, eq=False)
class Pieces:
    """Contiguous pieces of cases: piece i is steps `start[i]` to `start[i] + length[i]` of case `case[i]`.

    >>> pieces = Pieces.of([0, 0, 1], [0, 10, 0], [10, 5, 8])
    >>> len(pieces), pieces[[2, 0]].case
    (3, array([1, 0]))
    """

    case: NDArray[np.int64]
    start: NDArray[np.int64]
    length: NDArray[np.int64]

    @classmethod
    def of(cls, case: Any, start: Any, length: Any) -> Pieces:
        """Make pieces from three lists of numbers."""
        return cls(*(np.asarray(numbers, np.int64) for numbers in (case, start, length)))

    def __len__(self) -> int:
        return len(self.case)

    def __getitem__(self, which: Any) -> Pieces:
        """Return the pieces selected by a slice, a mask or a list of indices."""
        return Pieces(self.case[which], self.start[which], self.length[which])


def whole(data: SequenceData, cases: Any = None) -> Pieces:
    """Return all cases, or those with the given indices, each as one piece."""
    numbers = np.arange(len(data)) if cases is None else np.asarray(cases, np.int64)
    return Pieces(numbers, np.zeros(len(numbers), np.int64), data.lengths[numbers])


def blocks(pieces: Pieces, shares: list[float]) -> list[Pieces]:
    """Cut every piece into consecutive blocks whose lengths are in the ratio of `shares`; return the pieces by block.

    Empty blocks are left out.

    >>> first, second = blocks(Pieces.of([7], [100], [10]), [0.8, 0.2])
    >>> first.start, first.length, second.start, second.length
    (array([100]), array([8]), array([108]), array([2]))
    """
    bounds = np.cumsum([0.0, *shares]) / sum(shares)
    cuts = np.rint(bounds * pieces.length[:, None]).astype(np.int64)
    parts = [
        Pieces(pieces.case, pieces.start + low, high - low) for low, high in zip(cuts.T[:-1], cuts.T[1:], strict=True)
    ]
    return [part[part.length > 0] for part in parts]


def windows(pieces: Pieces, window: int, stride: int | None = None, *, keep_rest: bool = False) -> Pieces:
    """Cut pieces into windows of `window` steps, one every `stride` steps, none beyond the end of its piece.

    A piece that is shorter than a window is kept as one window. Steps at the end of a piece that do not fill a window
    are left out, unless `keep_rest` makes them one shorter window; with ``stride=window``, every step is then in
    exactly one window.

    Raises:
        ValueError: `window` or `stride` is below 1, or there are more than `MOST_WINDOWS`.

    >>> cut = windows(Pieces.of([0, 1], [0, 20], [11, 3]), window=4, stride=3)
    >>> list(zip(cut.case.tolist(), cut.start.tolist(), cut.length.tolist()))
    [(0, 0, 4), (0, 3, 4), (0, 6, 4), (1, 20, 3)]
    """
    return windows_of(pieces, window, stride, keep_rest=keep_rest)[0]


def windows_of(
    pieces: Pieces, window: int, stride: int | None = None, *, keep_rest: bool = False
) -> tuple[Pieces, NDArray[np.int64]]:
    """Return the result of `windows`, and the index of the piece to which each window belongs."""
    stride = window if stride is None else stride
    at_least("window", window, 1)
    at_least("stride", stride, 1)
    counts = np.maximum(0, (pieces.length - window) // stride) + 1
    if keep_rest:
        covered = (counts - 1) * stride + window
        counts += (pieces.length > covered) & (pieces.length > counts * stride)
    if (total := int(counts.sum())) > MOST_WINDOWS:
        raise ValueError(
            f"window={window}, stride={stride} make {total:,} windows, more than {MOST_WINDOWS:,}: take a larger stride"
        )
    owner = np.repeat(np.arange(len(pieces)), counts)
    offset = (np.arange(total) - np.repeat(np.cumsum(counts) - counts, counts)) * stride
    length = np.minimum(window, pieces.length[owner] - offset)
    return Pieces(pieces.case[owner], pieces.start[owner] + offset, length), owner
