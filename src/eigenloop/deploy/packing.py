"""Codes of k bits packed without gaps, as they lie in the memory of a device."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from eigenloop.deploy.operations import Whole


def packed(codes: Whole, bits: int) -> NDArray[np.uint8]:
    """Pack codes row by row: code number i takes the bits i k .. i k + k - 1, the lowest first, in two's complement.

    Bit b of the stream is bit b % 8 of byte b // 8; what is left of the last byte is zero.

    >>> packed(np.array([[1, -1, -8]]), 4)
    array([241,   8], dtype=uint8)
    """
    flat = codes.reshape(-1).astype(np.int64) & ((1 << bits) - 1)
    spread = (flat[:, None] >> np.arange(bits)) & 1
    return np.packbits(spread.astype(np.uint8).reshape(-1), bitorder="little")


def unpacked(data: NDArray[np.uint8], bits: int, shape: tuple[int, ...]) -> Whole:
    """Undo `packed`.

    >>> unpacked(packed(np.array([[1, -1, -8]]), 4), 4, (1, 3))
    array([[ 1, -1, -8]])
    """
    count = math.prod(shape)
    spread = np.unpackbits(data, count=count * bits, bitorder="little").reshape(count, bits).astype(np.int64)
    weights = 1 << np.arange(bits, dtype=np.int64)
    weights[-1] *= -1
    return (spread @ weights).reshape(shape)
