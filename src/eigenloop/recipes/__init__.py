"""The published models as recipes over layers and matrices, by name."""

from __future__ import annotations

import typing
from collections.abc import Callable
from typing import Any

from torch import nn

from eigenloop import registry
from eigenloop.recipes.starts import Size

__all__ = ["RECIPES", "Size"]


def _with_layer(recipe: Callable[..., Any]) -> tuple[Callable[..., Any], type[nn.Module]]:
    return recipe, typing.get_type_hints(recipe)["return"]


#: Each name with its recipe and the layer that it makes, whose options it hands on.
RECIPES = {name: _with_layer(entry.load()) for name, entry in registry.MODELS.items()}
