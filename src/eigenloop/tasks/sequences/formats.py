"""The readers of the file formats."""

from __future__ import annotations

import importlib
from pathlib import Path

from eigenloop.errors import DataError
from eigenloop.tasks.sequences.data import SequenceData
from eigenloop.tasks.sequences.options import Options

_HERE = "eigenloop.tasks.sequences"
#: The function that reads files with an extension, imported when needed; ``/`` stands for a folder.
FORMATS = {
    ".npz": f"{_HERE}.npz:read",
    ".npy": f"{_HERE}.npy:read",
    ".csv": f"{_HERE}.csv_file:read",
    ".csv.gz": f"{_HERE}.csv_file:read",
    ".tsv": f"{_HERE}.csv_file:read",
    ".tsv.gz": f"{_HERE}.csv_file:read",
    ".parquet": f"{_HERE}.parquet:read",
    ".ts": f"{_HERE}.ts:read",
    ".ts.gz": f"{_HERE}.ts:read",
    "/": f"{_HERE}.folder:read",
}


def read(path: Path | str, options: Options | None = None) -> SequenceData:
    r"""Read sequences from a file or a folder.

    Raises:
        DataError: it does not exist, has an unknown extension, or its content is not valid.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "watch.csv"
    ...     _ = path.write_text("case,ax,ay,activity\na,1,2,run\na,3,4,run\nb,5,6,walk\n")
    ...     data = read(path)
    >>> data.case_names, data.channel_names, data.class_names, data.lengths
    (('a', 'b'), ('ax', 'ay'), ('run', 'walk'), array([2, 1]))
    """
    path = Path(path).expanduser()
    try:
        folder, there = path.is_dir(), path.exists()
    except (OSError, ValueError) as error:
        raise DataError(path, f"it cannot be read: {getattr(error, 'strerror', None) or error}") from error
    if not there:
        raise DataError(path, "there is no such file or folder")
    name = path.name.lower()
    endings = [ending for ending in FORMATS if ("/" if folder else name).endswith(ending)]
    if not endings:
        known = ", ".join(ending for ending in FORMATS if ending != "/")
        raise DataError(path, f"its ending is none of those that are read: {known}, or a folder of .csv or .wav")
    module, _, function = FORMATS[max(endings, key=len)].partition(":")
    data: SequenceData = getattr(importlib.import_module(module), function)(path, options or Options())
    return data
