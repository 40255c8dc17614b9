"""The names of settings: those of a task, a model and an optimizer, and suggestions for misspelt ones."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import yaml

from eigenloop import models, registry
from eigenloop.errors import ConfigError, unknown_name
from eigenloop.recipes import RECIPES
from eigenloop.runs import yaml_text
from eigenloop.tasks import TASKS
from eigenloop.training.optimizers import OPTIMIZERS
from eigenloop.training.settings.defaults import defaults_for
from eigenloop.training.settings.kinds import (
    NOT_SETTABLE,
    layer_kinds,
    model_kinds,
    optimizer_kinds,
    section_kinds,
    task_kinds,
)
from eigenloop.training.settings.sections import SECTIONS, ScheduleSection, TrainingSection


def set_value(settings: dict[str, Any], assignment: str) -> None:
    """Add ``section.key=value`` to settings, in place; the section may be omitted if only one has the key.

    Raises:
        ConfigError: the assignment has no value, or the setting is unknown or ambiguous.

    >>> settings = {"task": {"name": "copying"}, "model": {"name": "scornn"}}
    >>> set_value(settings, "negative=20"); set_value(settings, "training.clip_norm=1")
    >>> settings["model"], settings["training"]
    ({'name': 'scornn', 'negative': 20}, {'clip_norm': 1})
    """
    key, equals, text = assignment.partition("=")
    if not equals or not key.strip():
        raise ConfigError(f"{assignment!r} sets nothing: write key=value, for example training.clip_norm=1")
    try:
        value = yaml_text.load(text)
    except (yaml.YAMLError, ValueError) as error:
        raise ConfigError(f"the value of {assignment!r} is not YAML: {' '.join(str(error).split())[:200]}") from error
    section, name = _place(settings, key.strip())
    settings[section] = {**(settings.get(section) or {}), name: value}


def known_keys(settings: Mapping[str, Any]) -> dict[str, list[str]]:
    """Return the keys of every section for the task, model and optimizer in `settings`."""
    given = checked_sections(settings)
    task, model = chosen_names(given)
    named = given["optimizer"].get("name") or defaults_for(task, model, given).settings["optimizer"].get("name", "adam")
    if named not in OPTIMIZERS:
        raise registry.OPTIMIZERS.unknown(named)
    kinds = {
        "task": task_kinds(task),
        "model": model_kinds(model),
        "optimizer": optimizer_kinds(named),
        "schedule": section_kinds(ScheduleSection),
        "training": section_kinds(TrainingSection),
    }
    return {section: list(settings) for section, settings in kinds.items()}


def _place(settings: Mapping[str, Any], key: str) -> tuple[str, str]:
    known = known_keys(settings)
    section, dot, name = key.partition(".")
    if dot:
        if section not in known:
            raise unknown_name("section", section, SECTIONS, f"The sections are {', '.join(SECTIONS)}")
        return section, name
    holders = [section for section, keys in known.items() if key in keys]
    if len(holders) == 1:
        return holders[0], key
    if holders:
        choices = " or ".join(f"{section}.{key}" for section in holders)
        raise ConfigError(f"{key!r} is a setting of several sections: write {choices}")
    _refuse_decided(key)
    every = [name for keys in known.values() for name in keys]
    listed = "; ".join(f"{section}: {', '.join(keys)}" for section, keys in known.items())
    raise unknown_name("setting", key, every, f"The settings are, by section, {listed}")


def checked_sections(settings: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Return all sections as mappings; raises ConfigError for an unknown section or one that is not a mapping."""
    for section, values in settings.items():
        if section not in SECTIONS:
            raise unknown_name("section", section, SECTIONS, f"The sections are {', '.join(SECTIONS)}")
        if values is not None and not isinstance(values, Mapping):
            raise ConfigError(f"section {section} is a mapping of settings, got {values!r}")
    return {section: {str(k): v for k, v in (settings.get(section) or {}).items()} for section in SECTIONS}


def chosen_names(given: Mapping[str, Mapping[str, Any]]) -> tuple[str, str]:
    """Return the names of task and model; raises ConfigError if one is missing or unknown."""
    task, model = given["task"].get("name"), given["model"].get("name")
    if task is None:
        raise ConfigError(f"no task is named: choose one of {', '.join(TASKS)}")
    if not isinstance(task, str) or task not in TASKS:
        raise registry.TASKS.unknown(task)
    if model is None:
        names = ", ".join(models.NAMES)
        raise ConfigError(
            "no model is named", f"set model.name, one of {names}", flags=f"choose --model, one of {names}"
        )
    if not isinstance(model, str) or model not in models.NAMES:
        raise registry.MODELS.unknown(model)
    return task, model


def refuse_unknown(section: str, given: Mapping[str, Any], known: Iterable[str], of: str) -> None:
    """Raise a ConfigError for an unknown key; it names the tasks or models that have the key, or the nearest key."""
    known = list(known)
    for key in given:
        if key not in known:
            _refuse_decided(key)
            settings = f"The settings of {of} are {', '.join(known)}"
            if holders := _holders(section, key):
                raise ConfigError(f"{of} has no setting {section}.{key}, which is one of {holders}. {settings}")
            raise unknown_name("setting", f"{section}.{key}", [f"{section}.{name}" for name in known], settings)


def _refuse_decided(key: str) -> None:
    if key in NOT_SETTABLE:
        raise ConfigError(
            f"{key!r} cannot be set in a configuration: it follows from the model, the task or the seed. To choose it, "
            "build the layer in Python"
        )


def _holders(section: str, key: str) -> str:
    """Return in words the tasks, models or optimizers that have a setting; empty if none has."""
    things: dict[str, tuple[registry.Loaded[Any], Callable[[str], Iterable[str]]]] = {
        "task": (TASKS, task_kinds),
        "model": (RECIPES, layer_kinds),
        "optimizer": (OPTIMIZERS, optimizer_kinds),
    }
    if section not in things:
        return ""
    every, kinds = things[section]
    holders = [name for name, _ in every.working() if key in kinds(name)]
    return f"{section} {', '.join(holders)}" if holders else ""
