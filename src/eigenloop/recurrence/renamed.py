"""The first argument of a recurrence is now `x`; the old name `projected` fits only without an `input_weight`."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")


def takes_projected(recurrence: Callable[P, R]) -> Callable[P, R]:
    """Make a recurrence accept its input under the old keyword `projected`, with a warning."""

    @wraps(recurrence)
    def call(*arguments: P.args, **options: P.kwargs) -> R:
        if "projected" in options:
            warnings.warn("projected= is called x= now", FutureWarning, stacklevel=2)
            options["x"] = options.pop("projected")
        return recurrence(*arguments, **options)

    return call
