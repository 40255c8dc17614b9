"""The former place of `eigenloop.training.settings.keys`."""

from __future__ import annotations

import warnings
from typing import Any

from eigenloop.training.settings import keys


def __getattr__(name: str) -> Any:
    if name.startswith("__"):  # Python's own questions about a module
        raise AttributeError(name)
    message = "eigenloop.training.keys is eigenloop.training.settings.keys now"
    warnings.warn(message, FutureWarning, stacklevel=2)
    return getattr(keys, name)
