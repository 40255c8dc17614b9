"""Keeping result files small and readable: six significant digits."""

from __future__ import annotations

import math
from typing import Any

from torch import Tensor

from eigenloop.text.numbers import significant


def rounded(value: Any, digits: int = 6) -> Any:
    """Round all floats inside tensors, lists, tuples and dicts to significant digits; None for inf and NaN.

    >>> rounded({"a": (0.1234567891, 2), "b": float("inf")})
    {'a': [0.123457, 2], 'b': None}
    """
    if isinstance(value, Tensor):
        return rounded(value.tolist(), digits)
    if isinstance(value, dict):
        return {key: rounded(item, digits) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [rounded(item, digits) for item in value]
    if isinstance(value, float):
        return significant(value, digits) if math.isfinite(value) else None
    return value
