"""JSON as the files of a run hold it: without NaN and inf, which other readers refuse."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any


def finite(value: Any) -> Any:
    """Return nested values with null for NaN and inf, which JSON does not have."""
    if isinstance(value, Mapping):
        return {key: finite(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def json_line(value: Any) -> str:
    """Return a value as one line of JSON.

    >>> json_line({"loss": float("inf")})
    '{"loss": null}'
    """
    return json.dumps(finite(value))
