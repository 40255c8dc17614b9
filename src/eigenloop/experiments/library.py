"""The experiments that come with the package, one YAML file each."""

from __future__ import annotations

import functools
from typing import Any

from pydantic import ValidationError

from eigenloop.errors import ConfigError, unknown_name
from eigenloop.experiments.schema import Experiment
from eigenloop.registry import experiment_files
from eigenloop.runs import yaml_text


def names() -> list[str]:
    """Return the names of all experiments."""
    return list(experiment_files())


@functools.cache
def load(name: str) -> Experiment:
    """Return an experiment by its name.

    >>> load("nnrnn-table6").rows["a100-b0-d0"].published
    5.19
    """
    if name not in experiment_files():
        raise unknown_name("experiment", name, names(), f"The experiments are {', '.join(names())}")
    return parsed(yaml_text.load(experiment_files()[name].read_text(encoding="utf-8")), name)


def parsed(content: Any, name: str) -> Experiment:
    """Check the content of a file."""
    if not isinstance(content, dict):
        raise ConfigError(f"experiment {name} is not a mapping")
    if "name" in content:
        raise ConfigError(f"experiment {name} is called as its file is: leave name out")
    try:
        return Experiment.model_validate({"name": name, **content})
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"]))
        raise ConfigError(f"experiment {name}: {place + ': ' if place else ''}{first['msg']}") from error
