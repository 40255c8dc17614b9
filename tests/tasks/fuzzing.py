"""Files as they should not be: what a reader of files must answer with an error that names the file."""

import gzip
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from eigenloop.tasks import DataError


def damaged(data: bytes, seed: int = 0, each: int = 12) -> Iterator[tuple[str, bytes]]:
    """Yield contents that differ from `data`: cut, with flipped bits, random, empty, longer, packed and damaged."""
    generator = np.random.default_rng(seed)
    cuts = {0, 1, 3, 4, 7, 8, 15, 16, len(data) - 1, *generator.integers(0, len(data), each).tolist()}
    yield from ((f"cut to {size}", data[:size]) for size in sorted(cuts) if size < len(data))
    for position in {0, 1, 2, 3, 7, *generator.integers(0, len(data), each).tolist()}:
        if position < len(data):
            bit = int(generator.integers(0, 8))
            yield f"bit {bit} of byte {position}", _flipped(data, position, bit)
    for size in (1, 5, 100, len(data)):
        yield f"{size} random bytes", generator.bytes(size)
    yield "longer", data + b"\x00"
    yield "twice", data + data
    packed = gzip.compress(data, mtime=0)
    yield "gzip, checksum", _flipped(packed, len(packed) - 6, 0)
    yield "gzip, size", _flipped(packed, len(packed) - 1, 0)
    yield "gzip, header only", packed[:10]
    yield "gzip, magic only", packed[:2]
    yield "gzip, cut", packed[: len(packed) // 2]
    yield "gzip, trailing rubbish", packed + b"rubbish"
    yield "gzip of nothing", gzip.compress(b"")
    yield "gzip, method", _flipped(packed, 2, 1)
    for position in generator.integers(10, len(packed) - 8, each).tolist():
        yield f"gzip, byte {position}", _flipped(packed, position, 0)


def _flipped(data: bytes, position: int, bit: int) -> bytes:
    return data[:position] + bytes([data[position] ^ 1 << bit]) + data[position + 1 :]


def _content(data: bytes) -> bytes | None:
    try:
        return gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data
    except (EOFError, gzip.BadGzipFile, zlib.error):
        return None


def refuses_whatever_is_damaged(path: Path, load: Callable[[], None]) -> None:
    """Check that every damage is refused by an error that names the file, and that the file itself is read."""
    good = path.read_bytes()
    load()
    for what, data in damaged(good):
        if _content(data) == _content(good):  # gzip's header has bytes that mean nothing
            continue
        path.write_bytes(data)
        with pytest.raises(DataError) as caught:
            load()
        assert str(path) in str(caught.value), what
    path.write_bytes(good)
    load()


def reads_or_refuses(path: Path, load: Callable[[], None], seed: int = 0) -> None:
    """Check that a damage which may be a valid file still is either read, or refused by an error that names a file."""
    good = path.read_bytes()
    said = []
    for _, data in damaged(good, seed, each=30):
        path.write_bytes(data)
        try:
            load()
        except DataError as error:
            said.append(str(error))
    path.write_bytes(good)
    assert [message for message in said if str(path.parent) not in message] == []


def refuses_what_is_no_file(path: Path, load: Callable[[], None], monkeypatch: pytest.MonkeyPatch) -> None:
    """Check a folder in place of a file, and a file that may not be read."""
    good = path.read_bytes()
    path.unlink()
    path.mkdir()
    with pytest.raises(DataError, match="cannot be read") as caught:
        load()
    assert str(path) in str(caught.value)
    path.rmdir()
    path.write_bytes(good)

    read_bytes = Path.read_bytes

    def forbidden(self: Path) -> bytes:
        if self == path:
            raise PermissionError(13, "Permission denied", str(path))
        return read_bytes(self)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "read_bytes", forbidden)
        with pytest.raises(DataError, match="Permission denied") as caught:
            load()
    assert str(path) in str(caught.value)
