"""Which items of a fixed set a training step sees: a function of the step and the seed, with nothing to remember."""

from __future__ import annotations

import functools

import numpy as np
from numpy.typing import NDArray

#: Marks the numbers drawn for the order of an epoch, apart from those of the data themselves.
_ORDER = 3


def batches_in(size: int, batch_size: int) -> int:
    """Return how many batches hold `size` items; the last may be smaller."""
    return -(-size // batch_size)


def items_of(step: int, batch_size: int, size: int, shuffle: bool, seed: int) -> NDArray[np.int64]:
    """Return the numbers of the items in the batch of a training step.

    Every epoch sees each item once, in an order of its own if they are shuffled.

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
