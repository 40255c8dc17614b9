"""Optional libraries that some formats need."""

from __future__ import annotations

import importlib.util
from pathlib import Path

from eigenloop.errors import DataError


def pyarrow(path: Path) -> None:
    """Raise a DataError that says how to install pyarrow if it is missing."""
    if importlib.util.find_spec("pyarrow") is None:
        raise DataError(path, "reading CSV and Parquet needs pyarrow: pip install 'eigenloop[data]'")
