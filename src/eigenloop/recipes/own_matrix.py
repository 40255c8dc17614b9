"""The matrix of a recipe, and replacing it with ``recurrent=``."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from eigenloop.matrices import Matrix

R = TypeVar("R", bound=Callable[..., Any])
_OPTIONS: dict[Callable[..., Any], tuple[str, ...]] = {}


def own_matrix(*options: str) -> Callable[[R], R]:
    """Decorate a recipe: these of its options only describe its own matrix, and have no effect with ``recurrent=``."""

    def remember(recipe: R) -> R:
        _OPTIONS[recipe] = options
        return recipe

    return remember


def matrix_options(recipe: Callable[..., Any]) -> tuple[str, ...]:
    """Return the options that only describe the recipe's own matrix; empty if none were declared."""
    return _OPTIONS.get(recipe, ())


def without_effect(recipe: Callable[..., Any], options: Mapping[str, Any]) -> list[str]:
    """List the options that differ from their defaults but have no effect, as ``recurrent=`` replaces the matrix."""
    if options.get("recurrent") is None:
        return []
    defaults = {name: parameter.default for name, parameter in inspect.signature(recipe).parameters.items()}
    # Only plain values are compared with `==`: an `init` may be a tensor.
    given = [name for name in matrix_options(recipe) if name in options and options[name] is not defaults[name]]
    return [name for name in given if not (_plain(options[name]) and options[name] == defaults[name])]


def _plain(value: object) -> bool:
    return isinstance(value, bool | int | float | str)


def with_matrix(matrix: Callable[[int], Matrix], layer: Mapping[str, Any]) -> dict[str, Any]:
    """Return the layer's options with the recipe's own matrix as ``recurrent``, unless the options name another."""
    return {"recurrent": matrix, **layer}
