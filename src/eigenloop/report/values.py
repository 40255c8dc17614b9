"""Reading numbers, texts and JSON out of files that may hold anything."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from eigenloop.report.errors import damaged


def number(value: object) -> float | None:
    """Return a number as a float, NaN and inf included; anything else is None."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def finite(value: object) -> float | None:
    """Return a finite number as a float; anything else is None."""
    found = number(value)
    return found if found is not None and math.isfinite(found) else None


def numbers(value: object) -> dict[str, float]:
    """Return the entries of a mapping that are numbers; nothing where it is no mapping."""
    if not isinstance(value, Mapping):
        return {}
    found = {str(name): number(entry) for name, entry in value.items()}
    return {name: entry for name, entry in found.items() if entry is not None}


def text(value: object) -> str | None:
    """Return a text that says something; anything else is None."""
    return value if isinstance(value, str) and value.strip() else None


def texts(value: object) -> dict[str, str]:
    """Return the scalar entries of a mapping as texts; nothing where it is no mapping."""
    if not isinstance(value, Mapping):
        return {}
    return {str(name): str(entry) for name, entry in value.items() if isinstance(entry, str | int | float)}


def json_object(path: Path, fix: str) -> dict[str, Any] | None:
    """Read a file that holds one JSON object; None where there is no such file."""
    try:
        found = json.loads(path.read_bytes())
    except FileNotFoundError:
        return None
    # RecursionError: brackets nested thousands deep. ValueError: no JSON, no UTF-8, or an endless integer.
    except (ValueError, RecursionError) as error:
        raise damaged(path, error, fix) from error
    if not isinstance(found, dict):
        raise damaged(path, f"it holds a {type(found).__name__}, not an object", fix)
    return found
