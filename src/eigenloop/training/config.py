"""The former place of `eigenloop.training.settings.config`."""

from __future__ import annotations

import warnings
from typing import Any

from eigenloop.training.settings import config


def __getattr__(name: str) -> Any:
    if name.startswith("__"):  # Python's own questions about a module
        raise AttributeError(name)
    message = "eigenloop.training.config is eigenloop.training.settings.config now"
    warnings.warn(message, FutureWarning, stacklevel=2)
    return getattr(config, name)
