"""Parquet: the same long tables as in CSV, with types."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from eigenloop.errors import DataError
from eigenloop.tasks.sequences import bounded, libraries
from eigenloop.tasks.sequences.columns import roles
from eigenloop.tasks.sequences.data import SequenceData
from eigenloop.tasks.sequences.options import Options
from eigenloop.tasks.sequences.table import from_table

#: Rows unpacked at a time, so that a small file that unpacks to a huge table is detected early.
_BATCH = 2**16


def read(path: Path, options: Options) -> SequenceData:
    """Read a long table, one row per time step."""
    libraries.pyarrow(path)
    data = bounded.content(path, options.max_bytes)
    try:
        frame = _table(path, data, options.max_bytes)
        names = [str(name) for name in frame.schema.names]
    except DataError:
        raise
    except Exception as error:  # pyarrow's exceptions, and Python's that pass through it
        reason = (str(error).splitlines() or [type(error).__name__])[0][:200]
        raise DataError(path, f"the Parquet file is cut off or damaged ({reason}): save it again") from error
    column_roles = roles(path, names, options.columns)
    return from_table(path, frame, column_roles, options.per_step, lambda row: f"row {row + 1}", None)


def _table(path: Path, data: bytes, limit: int) -> Any:
    import pyarrow as pa
    import pyarrow.parquet as pq

    limits = {"thrift_string_size_limit": 2**24, "thrift_container_size_limit": 2**20}
    with pq.ParquetFile(pa.BufferReader(data), **limits) as file:
        about = file.metadata
        words = [about.schema.column(n).path for n in range(about.num_columns)]
        unpacked = sum(about.row_group(n).total_byte_size for n in range(about.num_row_groups))
        if max(unpacked, 8 * about.num_rows * about.num_columns) > limit:
            raise bounded.too_large(path, "unpacked, it", limit)
    # Dictionary-encoded columns stay encoded: a long text repeated in a million rows is stored once.
    with pq.ParquetFile(pa.BufferReader(data), read_dictionary=words, **limits) as file:
        batches, size = [], 0
        for batch in file.iter_batches(_BATCH, use_threads=False):
            batch.validate(full=True)
            size += batch.nbytes
            if size > limit:
                raise bounded.too_large(path, "unpacked, it", limit)
            batches.append(batch)
        return pa.Table.from_batches(batches, file.schema_arrow)
