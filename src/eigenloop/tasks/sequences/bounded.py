"""Reading untrusted files: never more than a limit in memory, compressed or not."""

from __future__ import annotations

import gzip
import hashlib
import io
import os
import stat
import zlib
from pathlib import Path

from eigenloop.errors import DataError

_BLOCK = 2**20


def content(path: Path, limit: int) -> bytes:
    """Return the content of a file, unpacked if it is gzipped, whatever its name.

    Raises:
        DataError: it cannot be read, is damaged, or has more than `limit` bytes, packed or unpacked.
    """
    size_of(path, limit)
    try:
        data = path.read_bytes()
        if data[:2] != b"\x1f\x8b":
            return data
        with gzip.GzipFile(fileobj=io.BytesIO(data)) as file:
            unpacked = file.read(limit + 1)
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise DataError(path, f"the gzip file is cut off or damaged ({error}): get it again") from error
    except OSError as error:
        raise DataError(path, f"it cannot be read: {error.strerror or error}") from error
    if len(unpacked) > limit:
        raise too_large(path, "unpacked, it", limit)
    return unpacked


def size_of(path: Path, limit: int | None = None) -> int:
    """Return the size of a file in bytes; raises DataError if it is not a file or is larger than the limit."""
    try:
        status = os.stat(path)
    except (OSError, ValueError) as error:
        raise DataError(path, f"it cannot be read: {getattr(error, 'strerror', None) or error}") from error
    if not stat.S_ISREG(status.st_mode):
        raise DataError(path, "it cannot be read: this is not a file")
    if limit is not None and status.st_size > limit:
        raise too_large(path, "it", limit)
    return status.st_size


def too_large(path: Path, what: str, limit: int) -> DataError:
    """Return the error for something that would take more memory than the limit."""
    return DataError(
        path,
        f"{what} takes more than {limit / 2**20:,.0f} MiB of memory, the limit: raise max_bytes, or save the values "
        "as .npy, which is read from the disk piece by piece",
    )


def sha256(path: Path) -> str:
    """Return the SHA-256 of a file in hexadecimal, as sha256sum prints it."""
    digest = hashlib.sha256()
    try:
        with path.open("rb") as file:
            while block := file.read(_BLOCK):
                digest.update(block)
    except OSError as error:
        raise DataError(path, f"it cannot be read: {error.strerror or error}") from error
    return digest.hexdigest()
