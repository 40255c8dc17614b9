"""The former name of `eigenloop.comparison`."""

from __future__ import annotations

import warnings
from typing import Any

from eigenloop import comparison


def __getattr__(name: str) -> Any:
    if name.startswith("__"):  # Python's own questions about a module
        raise AttributeError(name)
    warnings.warn("eigenloop.published is called eigenloop.comparison now", FutureWarning, stacklevel=2)
    return getattr(comparison, name)
