"""Writing tables as CSV, .npz or Parquet, chosen by the file's extension."""

from __future__ import annotations

import csv
import io
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eigenloop.errors import ConfigError, RunError
from eigenloop.runs import atomic
from eigenloop.tasks.sequences import libraries

ENDINGS = (".csv", ".npz", ".parquet")


def write_columns(path: Path, columns: Mapping[str, NDArray[Any]]) -> None:
    """Write columns of equal length to a file, atomically.

    Raises:
        ConfigError: the extension is not one of `ENDINGS`.
        RunError: the file cannot be written.
    """
    checked_ending(path)
    content = {".csv": _csv, ".npz": _npz, ".parquet": _parquet}[path.suffix.lower()](path, columns)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        atomic.write_bytes(path, content)
    except OSError as error:
        raise RunError(f"{path} could not be written: {error.strerror or error}") from error


def checked_ending(path: Path) -> None:
    """Raise a ConfigError if the file's extension is not one of `ENDINGS`."""
    if path.suffix.lower() not in ENDINGS:
        raise ConfigError(f"{path} must end in {', '.join(ENDINGS[:-1])} or {ENDINGS[-1]}")


def _csv(path: Path, columns: Mapping[str, NDArray[Any]]) -> bytes:
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    rows = zip(*(_written(column) for column in columns.values()), strict=True)
    writer.writerows(rows)
    return text.getvalue().encode("utf-8")


def _written(column: NDArray[Any]) -> list[Any]:
    """Return the entries of a column for a CSV file; floating-point numbers have seven digits, those of float32."""
    return [f"{value:.7g}" for value in column.tolist()] if column.dtype.kind == "f" else column.tolist()


def _npz(path: Path, columns: Mapping[str, NDArray[Any]]) -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:  # np.savez cannot write a column named "file"
        for name, column in columns.items():
            with archive.open(f"{name}.npy", "w") as stream:
                np.lib.format.write_array(stream, column, allow_pickle=False)
    return content.getvalue()


def _parquet(path: Path, columns: Mapping[str, NDArray[Any]]) -> bytes:
    libraries.pyarrow(path)
    import pyarrow as pa
    import pyarrow.parquet as parquet

    sink = pa.BufferOutputStream()
    table = pa.table({name: pa.array(column.tolist()) for name, column in columns.items()})
    parquet.write_table(table, sink)
    return bytes(sink.getvalue().to_pybytes())
