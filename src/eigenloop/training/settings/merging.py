"""Settings over settings: how layers of them are put together."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Settings = dict[str, dict[str, Any]]

#: One of these sets the length of a training; each excludes the other.
LENGTHS = ("steps", "epochs")


def merged(*layers: Mapping[str, Mapping[str, Any]]) -> Settings:
    """Put layers of settings together, later ones over earlier ones.

    A length takes the place of an earlier one, whatever it counts:

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
