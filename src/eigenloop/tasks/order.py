"""The items of a fixed training set in each training step, as a function of the step and the seed, without state."""

from __future__ import annotations

import functools

import numpy as np
from numpy.typing import NDArray

#: Part of the seed for the order of an epoch, to keep it apart from the random numbers of the data.
_ORDER = 3


def batches_in(size: int, batch_size: int) -> int:
    """Return the number of batches that hold `size` items; the last may be smaller."""
    return -(-size // batch_size)


def items_of(step: int, batch_size: int, size: int, shuffle: bool, seed: int) -> NDArray[np.int64]:
    """Return the indices of the items in the batch of a training step.

    Every epoch contains each item once, in a new order if they are shuffled.

    >>> items_of(0, 4, 10, False, 0), items_of(2, 4, 10, False, 0)
    (array([0, 1, 2, 3]), array([8, 9]))
    """
    epoch, position = divmod(step, batches_in(size, batch_size))
    start = position * batch_size
    if shuffle:
        return _order(size, seed, epoch)[start : start + batch_size]
    return np.arange(start, min(start + batch_size, size))


@functools.lru_cache(maxsize=2)
def _order(size: int, seed: int, epoch: int) -> NDArray[np.int64]:
    order = np.random.default_rng((seed, _ORDER, epoch)).permutation(size)
    order.flags.writeable = False
    return order
