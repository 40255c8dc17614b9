"""JSON without NaN and inf, which other JSON readers refuse."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any


def finite(value: Any) -> Any:
    """Return nested values with None (null) in place of NaN and inf, which JSON cannot represent."""
    if isinstance(value, Mapping):
        return {key: finite(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def json_line(value: Any) -> str:
    """Return a value as one line of JSON, with null for NaN and inf.

    >>> json_line({"loss": float("inf")})
    '{"loss": null}'
    """
    return json.dumps(finite(value))
