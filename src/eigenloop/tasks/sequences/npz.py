"""NumPy's .npz: X and y, or X_train, y_train, X_test, y_test, and the arrays that accompany them."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from eigenloop.errors import DataError
from eigenloop.tasks.sequences import bounded, npy
from eigenloop.tasks.sequences.arrays import from_arrays
from eigenloop.tasks.sequences.data import PARTS, Origin, SequenceData
from eigenloop.tasks.sequences.joining import join
from eigenloop.tasks.sequences.options import Options

#: Arrays that are shared by all splits.
_COMMON = ("channels", "classes")


def read(path: Path, options: Options) -> SequenceData:
    """Read X and, if present, y, lengths, groups, parts, weights, channels and classes; or X_train, y_train, ..."""
    arrays = _arrays(path, options.max_bytes)

    def data(suffix: str) -> SequenceData:
        names = {name: name if name in _COMMON else name + suffix for name in npy.BESIDE}
        given = npy.named(path, {name: arrays[key] for name, key in names.items() if key in arrays})
        X = arrays["X" + suffix]
        return from_arrays(X, **given, layout=options.layout, per_step=options.per_step, origin=Origin(path, (path,)))

    if "X" in arrays:
        return data("")
    if "X_train" not in arrays:
        listing = ", ".join(sorted(arrays)[:8]) or "none of these"
        raise DataError(
            path, f"no array is named X or X_train (of those known there is {listing}): np.savez(..., X=X, y=y)"
        )
    return join({part: data(f"_{part}") for part in PARTS if f"X_{part}" in arrays})


def _arrays(path: Path, limit: int) -> dict[str, NDArray[Any]]:
    """Read the arrays with known names; raises DataError if they exceed the memory limit together."""
    bounded.size_of(path, limit)
    known = {base + suffix for base in ("X", *npy.BESIDE) for suffix in ("", *(f"_{part}" for part in PARTS))}
    arrays: dict[str, NDArray[Any]] = {}
    try:
        with zipfile.ZipFile(path) as archive:
            for info in archive.infolist():
                name = info.filename.removesuffix(".npy")
                if name not in known:
                    continue
                if info.file_size > limit:
                    raise bounded.too_large(path, f"unpacked, {name}", limit)
                limit -= info.file_size
                with archive.open(info) as stream:
                    head = npy.header(path, name, stream)
                    if head.offset + head.bytes != info.file_size:
                        raise DataError(path, f"{name} is cut off or damaged: its header and its size disagree")
                with archive.open(info) as stream:
                    arrays[name] = npy.array(path, name, head, stream.read())
    except DataError:
        raise
    except OSError as error:
        raise DataError(path, f"it cannot be read: {error.strerror or error}") from error
    except Exception as error:  # zipfile, zlib and lzma raise different errors for a damaged archive
        reason = (str(error).splitlines() or [type(error).__name__])[0][:200]
        raise DataError(path, f"the .npz archive is cut off or damaged ({reason}): save it again") from error
    return arrays
