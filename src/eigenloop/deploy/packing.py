"""Pack codes of k bits in rows of full bytes, the layout in the memory of a device."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from eigenloop.deploy.operations import Whole


def group(bits: int) -> int:
    """Return how many codes a loop reads at once: they fill full bytes, and at least one 32-bit word."""
    return 16 if bits < 4 else 8


def row_bytes(columns: int, bits: int) -> int:
    """Return the number of bytes of a row."""
    return math.ceil(columns * bits / 8)


def spare_bytes(columns: int, bits: int) -> int:
    """Return how many zero bytes follow the last row, so that a loop can read a full last group."""
    size = group(bits)
    return math.ceil(columns / size) * size * bits // 8 - row_bytes(columns, bits)


def packed(codes: Whole, bits: int) -> NDArray[np.uint8]:
    """Pack codes, (rows, columns): code number j of a row takes the bits j k .. j k + k - 1, the lowest first.

    Codes are in two's complement. Bit b of a row is bit b % 8 of its byte b // 8; each row begins with a new byte. The
    remaining bits of its last byte are zero, and so are the spare bytes after the last row.

    >>> packed(np.array([[1, -1, -8]]), 4)
    array([241,   8,   0,   0], dtype=uint8)
    """
    rows, columns = codes.shape
    spread = (codes[:, :, None].astype(np.int64) >> np.arange(bits)) & 1
    stored = np.packbits(spread.astype(np.uint8).reshape(rows, columns * bits), axis=1, bitorder="little")
    return np.append(stored.reshape(-1), np.zeros(spare_bytes(columns, bits), np.uint8))


def unpacked(data: NDArray[np.uint8], bits: int, shape: tuple[int, int]) -> Whole:
    """Return the codes, (rows, columns), of bytes from `packed`.

    >>> unpacked(packed(np.array([[1, -1, -8]]), 4), 4, (1, 3))
    array([[ 1, -1, -8]])
    """
    rows, columns = shape
    stored = data[: rows * row_bytes(columns, bits)].reshape(rows, -1)
    spread = np.unpackbits(stored, axis=1, count=columns * bits, bitorder="little")
    weights = 1 << np.arange(bits, dtype=np.int64)
    weights[-1] *= -1
    codes: Whole = spread.reshape(rows, columns, bits).astype(np.int64) @ weights
    return codes
