"""A recipe's own matrix, and another one in its place."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from eigenloop.matrices import Matrix

R = TypeVar("R", bound=Callable[..., Any])
_OPTIONS: dict[Callable[..., Any], tuple[str, ...]] = {}


def own_matrix(*options: str) -> Callable[[R], R]:
    """Say which options of a recipe only describe its own matrix: beside ``recurrent=`` they have no effect."""

    def remember(recipe: R) -> R:
        _OPTIONS[recipe] = options
        return recipe

    return remember


def matrix_options(recipe: Callable[..., Any]) -> tuple[str, ...]:
    """Return the options that only describe the recipe's own matrix; none where it does not say."""
    return _OPTIONS.get(recipe, ())


def without_effect(recipe: Callable[..., Any], options: Mapping[str, Any]) -> list[str]:
    """List the options that were changed from their defaults to no effect, as ``recurrent=`` replaces the matrix."""
    if "recurrent" not in options:
        return []
    defaults = {name: parameter.default for name, parameter in inspect.signature(recipe).parameters.items()}
    # By `is` and `==` of plain values only: a start may be a tensor.
    given = [name for name in matrix_options(recipe) if name in options and options[name] is not defaults[name]]
    return [name for name in given if not (_plain(options[name]) and options[name] == defaults[name])]


def _plain(value: object) -> bool:
    return isinstance(value, bool | int | float | str)


def with_matrix(matrix: Callable[[int], Matrix], layer: Mapping[str, Any]) -> dict[str, Any]:
    """Return the layer's options with a recipe's own matrix, unless another one was asked for."""
    return {"recurrent": matrix, **layer}
