"""``model.recurrent``: a published model with a different recurrent matrix."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from eigenloop.errors import ConfigError
from eigenloop.recipes import RECIPES
from eigenloop.recipes.own_matrix import matrix_options, without_effect


def with_another_matrix(model: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the model's settings without those of its own matrix if ``recurrent`` replaces that matrix.

    Args:
        model: the settings of the section ``model``, including those of the paper.
        given: the settings among them that the user chose.

    Raises:
        ConfigError: the user chose a setting of the replaced matrix, which would have no effect.
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
