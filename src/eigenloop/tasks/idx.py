"""The idx format of MNIST: a magic number, the sizes as big-endian integers, then unsigned bytes."""

from __future__ import annotations

import math
import struct
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from eigenloop.errors import DataError

SIDE, CLASSES = 28, 10
#: Magic number for unsigned bytes; the number of dimensions is added to it.
_MAGIC = 0x0800


def images(path: Path, data: bytes) -> NDArray[np.uint8]:
    """Return the pixels of each image, row by row: (n, 784)."""
    return _items(path, data, (SIDE, SIDE)).reshape(-1, SIDE * SIDE)


def labels(path: Path, data: bytes) -> NDArray[np.uint8]:
    """Return the labels, (n,), digits 0 to 9."""
    digits = _items(path, data, ())
    if digits.max() >= CLASSES:
        position = int(np.argmax(digits >= CLASSES))
        raise DataError(path, f"labels 0 to {CLASSES - 1} are expected, found {digits[position]} at number {position}")
    return digits


def _items(path: Path, data: bytes, shape: tuple[int, ...]) -> NDArray[np.uint8]:
    """Return (n, *shape) unsigned bytes; raises DataError if header and content do not agree with that."""
    dims = 1 + len(shape)
    header = 4 + 4 * dims
    if len(data) < header:
        raise DataError(path, f"an idx header of {header} bytes is expected, found {len(data)} bytes in all")
    magic, *sizes = struct.unpack_from(f">{1 + dims}I", data)
    if magic != _MAGIC + dims:
        raise DataError(
            path,
            f"the magic number {_MAGIC + dims:#010x} (idx, unsigned bytes, {dims} dimensions) is expected, "
            f"found {magic:#010x}",
        )
    if sizes[0] == 0 or tuple(sizes[1:]) != shape:
        wanted, stated = (" x ".join(map(str, these)) for these in (("n", *shape), sizes))
        raise DataError(path, f"the sizes {wanted} with n at least 1 are expected, found {stated}")
    if len(data) != header + math.prod(sizes):
        raise DataError(
            path,
            f"{header + math.prod(sizes):,} bytes are expected for {sizes[0]:,} items, found {len(data):,}: "
            "it may be cut off, so get it again",
        )
    return np.frombuffer(data, dtype=np.uint8, offset=header).reshape(sizes)
