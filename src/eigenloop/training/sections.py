"""The former place of `eigenloop.training.settings.sections`."""

from __future__ import annotations

import warnings
from typing import Any

from eigenloop.training.settings import sections


def __getattr__(name: str) -> Any:
    if name.startswith("__"):  # Python's own questions about a module
        raise AttributeError(name)
    message = "eigenloop.training.sections is eigenloop.training.settings.sections now"
    warnings.warn(message, FutureWarning, stacklevel=2)
    return getattr(sections, name)
