"""``model.recurrent``: a published model with another matrix than its own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from eigenloop.errors import ConfigError
from eigenloop.recipes import RECIPES
from eigenloop.recipes.own_matrix import matrix_options, without_effect


def with_another_matrix(model: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """Leave out what the paper says of the model's own matrix where another takes its place.

    Args:
        model: the settings of the section ``model``, with the paper's.
        given: those of them that the user chose; one that would have no effect is refused.
    """
    if "recurrent" not in model:
        return dict(model)
    name = model["name"]
    recipe, _ = RECIPES[name]
    useless = without_effect(recipe, {**given, "recurrent": model["recurrent"]})
    if useless:
        raise ConfigError(
            f"model.{useless[0]}={given[useless[0]]!r} describes the own matrix of {name} and has no effect with "
            f"model.recurrent={model['recurrent']!r}, which takes its place: leave one of them out"
        )
    return {key: value for key, value in model.items() if key not in matrix_options(recipe)}
