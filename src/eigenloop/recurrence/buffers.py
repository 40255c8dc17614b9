"""Recycling of large arrays: the page faults of newly allocated ones cost a tenth of a training step.

A block returns to the free list when its tensor is freed, in whichever thread; the size of the free list is bounded.
"""

from __future__ import annotations

import math
import threading
import weakref
from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

#: Smaller arrays are allocated by torch, where page faults do not matter.
LEAST_BYTES = 1 << 20
#: Upper limit of the free list.
MOST_BYTES = 1 << 30

_free: list[np.ndarray] = []
_lock = threading.RLock()  # a finalizer may run in the middle of `_take`, in the same thread


def recycled(shape: Sequence[int], dtype: torch.dtype) -> Tensor:
    """Return an uninitialised CPU tensor, on recycled memory if a suitable block is free."""
    size = math.prod(shape) * dtype.itemsize
    if size < LEAST_BYTES:
        return torch.empty(shape, dtype=dtype, device="cpu")  # C writes to it, whatever torch's default device is
    block = _take(size)
    view = block[:size]
    weakref.finalize(view, _give_back, block).atexit = False
    return torch.from_numpy(view).view(dtype).view(shape)


def _take(size: int) -> np.ndarray:
    with _lock:
        for i, block in enumerate(_free):
            if size <= block.nbytes <= 2 * size:
                return _free.pop(i)
    return np.empty(size, dtype=np.uint8)


def _give_back(block: np.ndarray) -> None:
    with _lock:
        _free.append(block)
        while sum(kept.nbytes for kept in _free) > MOST_BYTES:
            _free.pop(0)


def release() -> None:
    """Empty the free list and return its memory to the system."""
    with _lock:
        _free.clear()
