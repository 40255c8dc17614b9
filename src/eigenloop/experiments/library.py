"""The experiments by name, one YAML file each."""

from __future__ import annotations

import functools
from typing import Any

import yaml
from pydantic import ValidationError

from eigenloop.errors import ConfigError
from eigenloop.experiments.schema import Experiment
from eigenloop.registry import EXPERIMENTS
from eigenloop.runs import yaml_text


def names() -> list[str]:
    """Return the names of all experiments."""
    return list(EXPERIMENTS)


@functools.cache
def load(name: str) -> Experiment:
    """Read an experiment by its name.

    Raises:
        ConfigError: the name is unknown, or its file is not a valid experiment.

    >>> load("nnrnn-table6").rows["a100-b0-d0"].published
    5.19
    """
    if name not in EXPERIMENTS:
        raise EXPERIMENTS.unknown(name)
    try:
        content = yaml_text.load(EXPERIMENTS[name].load().read_text(encoding="utf-8"))
    except (OSError, AttributeError, ValueError, yaml.YAMLError) as error:
        raise ConfigError(f"experiment {name} is not a readable YAML file: {error}") from error
    return parsed(content, name)


def parsed(content: Any, name: str) -> Experiment:
    """Validate the content of an experiment file and return it as an `Experiment`.

    Raises:
        ConfigError: the content does not fit the schema.
    """
    if not isinstance(content, dict):
        raise ConfigError(f"experiment {name} is not a mapping")
    if "name" in content:
        raise ConfigError(f"experiment {name} takes its name from its file: leave out name")
    try:
        return Experiment.model_validate({"name": name, **content})
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"]))
        raise ConfigError(f"experiment {name}: {place + ': ' if place else ''}{first['msg']}") from error
