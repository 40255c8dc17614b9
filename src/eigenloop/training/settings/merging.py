"""Merging layers of settings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Settings = dict[str, dict[str, Any]]

#: The two settings for the length of a training, which exclude each other.
LENGTHS = ("steps", "epochs")


def merged(*layers: Mapping[str, Mapping[str, Any]]) -> Settings:
    """Return the layers of settings merged, where later ones override earlier ones.

    A length overrides an earlier one, even if one is in steps and the other in epochs:

    >>> merged({"training": {"steps": 100, "seed": 1}}, {"training": {"epochs": 2}})
    {'training': {'seed': 1, 'epochs': 2}}
    """
    result: Settings = {}
    for layer in layers:
        for section, values in layer.items():
            before = result.get(section, {})
            if section == "training" and any(length in values for length in LENGTHS):
                before = {key: value for key, value in before.items() if key not in LENGTHS}
            result[section] = {**before, **values}
    return result
