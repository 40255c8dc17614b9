"""Modules that were renamed: the old name still works, with a warning."""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Callable
from typing import Any


def forwarding(former: str, now: str) -> Callable[[str], Any]:
    """Return the ``__getattr__`` of a renamed module: it forwards from `former` to `now` with a FutureWarning.

    A name that the module never had raises AttributeError without a warning, because Python and its tools look up many
    such names.
    """

    def attribute(name: str) -> Any:
        module = importlib.import_module(now)
        if name.startswith("__") or not hasattr(module, name):
            raise AttributeError(f"module {former!r} has no attribute {name!r}")
        warnings.warn(f"{former} is called {now} now", FutureWarning, stacklevel=2)
        return getattr(module, name)

    return attribute
