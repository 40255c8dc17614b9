"""NumPy's .npy: the header is validated, the values are memory-mapped; pickled objects are never loaded."""

from __future__ import annotations

import io
import math
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from eigenloop.errors import DataError
from eigenloop.tasks.sequences import bounded
from eigenloop.tasks.sequences.arrays import from_arrays
from eigenloop.tasks.sequences.data import Origin, SequenceData
from eigenloop.tasks.sequences.options import Options

#: Maximum size of a header in bytes; usual headers have about a hundred.
_HEADER = 2**14
#: Names of the arrays that may accompany X, in separate files or in an archive.
BESIDE = ("y", "lengths", "groups", "parts", "weights", "channels", "classes")


@dataclass(frozen=True)
class Header:
    """The header of an .npy file: shape, order and dtype of the array, and the offset of its values."""

    shape: tuple[int, ...]
    column_major: bool
    dtype: np.dtype[Any]
    offset: int

    @property
    def bytes(self) -> int:
        """The size of the values in bytes."""
        return math.prod(self.shape) * self.dtype.itemsize


def read(path: Path, options: Options) -> SequenceData:
    """Memory-map ``name.npy``; labels are in ``name_y.npy``, or in ``y.npy`` for ``X.npy``, and so on for `BESIDE`."""
    values = _mapped(path)
    prefix = "" if path.stem.lower() == "x" else f"{path.stem}_"
    beside = {name: path.with_name(f"{prefix}{name}.npy") for name in BESIDE}
    companions = {name: file for name, file in beside.items() if file.is_file()}
    arrays = {name: _loaded(file, options.max_bytes) for name, file in companions.items()}
    origin = Origin(path, (path, *companions.values()))
    return from_arrays(values, **named(path, arrays), layout=options.layout, per_step=options.per_step, origin=origin)


def named(path: Path, arrays: dict[str, NDArray[Any]]) -> dict[str, Any]:
    """Return the arrays with ``channels`` and ``classes`` as lists of names."""
    given: dict[str, Any] = dict(arrays)
    for name in {"channels", "classes"} & set(arrays):
        if arrays[name].ndim != 1:
            raise DataError(path, f"{name} has {arrays[name].ndim} axes: a list of names is wanted")
        given[name] = [str(entry) for entry in arrays[name].tolist()]
    return given


def header(path: Path, name: str, stream: IO[bytes]) -> Header:
    """Read the header of the array `name`, at most `_HEADER` bytes.

    Raises:
        DataError: the header is damaged, or the array holds objects or anything but numbers and text.
    """
    start = io.BytesIO(stream.read(_HEADER))
    try:
        version = np.lib.format.read_magic(start)
        if version not in ((1, 0), (2, 0)):
            raise ValueError(f"version {version} of the format")
        reader = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # warnings about Python 2 headers and about escapes in damaged ones
            shape, column_major, dtype = reader(start)
    except Exception as error:  # a damaged header raises many kinds of errors in numpy and in Python's parser
        raise DataError(path, f"the header of {name} is damaged or no .npy header: save the array again") from error
    if dtype.hasobject:
        raise DataError(
            path,
            f"{name} holds pickled Python objects, which are never loaded, since loading a pickle can run any program: "
            "save numbers or text, e.g. np.array(labels, dtype=str), and ragged cases one after another with lengths",
        )
    if dtype.kind not in "biufUS" or not dtype.itemsize:
        raise DataError(path, f"{name} is of dtype {str(dtype)[:60]}: save it as numbers or text")
    if not shape or not all(isinstance(size, int) and 0 <= size < 2**48 for size in shape):
        raise DataError(path, f"the header of {name} gives the shape {str(shape)[:60]}: save the array again")
    return Header(tuple(shape), bool(column_major), dtype, start.tell())


def array(path: Path, name: str, head: Header, content: bytes) -> NDArray[Any]:
    """Return the array in the content of an .npy file, without a copy; raises DataError if it is truncated."""
    if len(content) != (expected := head.offset + head.bytes):
        raise DataError(
            path, f"{name} is cut off or damaged: {expected:,} bytes are expected and {len(content):,} found"
        )
    flat: NDArray[Any] = np.frombuffer(content, head.dtype, math.prod(head.shape), head.offset)
    return flat.reshape(head.shape, order="F" if head.column_major else "C")


def _loaded(path: Path, limit: int) -> NDArray[Any]:
    data = bounded.content(path, limit)
    head = header(path, path.stem, io.BytesIO(data))
    return array(path, path.stem, head, data)


def _mapped(path: Path) -> NDArray[Any]:
    size = bounded.size_of(path)
    try:
        with path.open("rb") as file:
            if file.read(2) == b"\x1f\x8b":
                raise DataError(path, "it is gzipped, so it cannot be read piece by piece: unpack it with gunzip")
            file.seek(0)
            head = header(path, path.stem, file)
        if size != head.offset + head.bytes:
            raise DataError(
                path,
                f"it is cut off or damaged: {head.offset + head.bytes:,} bytes are expected and {size:,} found",
            )
        if not head.bytes:
            raise DataError(path, f"it holds no values, its shape is {head.shape}: at least one is needed")
        order: Any = "F" if head.column_major else "C"
        return np.memmap(path, head.dtype, "r", head.offset, head.shape, order)
    except (OSError, OverflowError) as error:
        raise DataError(path, f"it cannot be read: {getattr(error, 'strerror', None) or error}") from error
