"""The published models as recipes over layers and matrices, by name."""

from __future__ import annotations

import typing
from collections.abc import Callable
from typing import Any

from torch import nn

from eigenloop import registry
from eigenloop.errors import ConfigError
from eigenloop.recipes.starts import Size

__all__ = ["RECIPES", "Size"]


def _with_layer(entry: registry.Entry) -> tuple[Callable[..., Any], type[nn.Module]]:
    recipe = entry.load()
    layer = typing.get_type_hints(recipe).get("return")
    if not (isinstance(layer, type) and issubclass(layer, nn.Module)):
        raise ConfigError(f"the recipe of model {entry.name} does not say what it makes: annotate it with -> RNN")
    return recipe, layer


#: By name: the recipe and the layer class that it builds, whose options it accepts too.
RECIPES = registry.Loaded(registry.MODELS, _with_layer)
