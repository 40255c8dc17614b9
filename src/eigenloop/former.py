"""Modules that were renamed: the former name forwards to the present one, and warns."""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Callable
from typing import Any


def forwarding(former: str, now: str) -> Callable[[str], Any]:
    """Return the ``__getattr__`` of a module that moved.

    A name that the module never had is an AttributeError without a warning: Python and its tools ask for many.
    """

    def attribute(name: str) -> Any:
        module = importlib.import_module(now)
        if name.startswith("__") or not hasattr(module, name):
            raise AttributeError(f"module {former!r} has no attribute {name!r}")
        warnings.warn(f"{former} is called {now} now", FutureWarning, stacklevel=2)
        return getattr(module, name)

    return attribute
