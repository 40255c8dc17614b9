"""Default settings of a model on a task.

The papers' settings are in the experiment files and nowhere else. A row with the key ``default`` gives the settings of
its model on its task: those of budget full, without the options of the task (all models get the same problem) and
without the frequency of evaluations. ``default: true`` takes them unchanged; a mapping lists settings that differ.
If no row is marked, ``defaults.yaml`` has general settings for the task and for the model.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

import yaml

from eigenloop import registry
from eigenloop.errors import ConfigError
from eigenloop.recipes import RECIPES
from eigenloop.runs import yaml_text
from eigenloop.runs.effects import Effect, settings_with
from eigenloop.training.settings.fitting import fitting, without_choosing
from eigenloop.training.settings.merging import Settings, merged

#: Effects of the settings that are taken from a row: those that define the network and its training.
_TAKEN = (Effect.NUMBERS, Effect.LENGTH)
#: Optimizers that keep a matrix in its set, so that the optimizer of a task must not replace them.
_PROJECTING = ("projunn", "unitary-cayley")


@dataclass(frozen=True)
class DefaultRow:
    """A row of an experiment that is marked as the default of its task and model.

    Attributes:
        place: experiment and row, in words.
        variant: names of task and model; the model with its strategy if it has several.
        settings: all settings of the row at budget full.
        taken: the settings among them that become defaults of the model on this task.
    """

    place: str
    variant: tuple[str, str]
    settings: Settings
    taken: Settings


@dataclass(frozen=True)
class Defaults:
    """The default settings of a model on a task.

    Attributes:
        settings: the defaults, by section.
        source: where they come from, in words; None for a user's own data, whose defaults are not from a paper.
        row: all settings of the row that they come from; None if there is no such row.
    """

    settings: Settings
    source: str | None
    row: Settings | None = None


def defaults_for(task: str, model: str, given: Mapping[str, Mapping[str, Any]]) -> Defaults:
    """Return the default settings of a model on a task, without those that do not fit the given settings."""
    variant = _variant(model, given["model"].get("strategy"))
    general = _general()
    other = general["alike"].get(task, task)
    row = _default_row(task, model, variant) or _default_row(other, model, variant)
    of_task = general["tasks"].get(task, {})
    pair = next((p for p in general["pairs"] if task in p["tasks"] and model in p["models"]), None)
    layers = [settings_with(set(Effect) - set(_TAKEN), of_task), row.taken] if row else []
    if row is None:
        of_model = _of_model(model, variant)
        if of_model.get("optimizer", {}).get("name") in _PROJECTING:
            of_task = {section: values for section, values in of_task.items() if section != "optimizer"}
        layers = [of_model, of_task, pair["settings"] if pair else {}]
    settings = merged(*_of_one_optimizer(layers, given["optimizer"].get("name")))
    settings["model"] = fitting(model, settings.get("model", {}), given["model"])
    if task == "sequences" and given["task"].get("valid") == 0:
        settings = without_choosing(settings)
    return Defaults(settings, _source(task, model, row, pair), None if row is None else row.settings)


def _source(task: str, model: str, row: DefaultRow | None, pair: Mapping[str, Any] | None) -> str | None:
    if row is not None:
        return f"settings of {row.place}" + ("" if row.variant[0] == task else f", which is on {row.variant[0]}")
    if task == "sequences":
        return None
    if pair is not None:
        return f"settings of {pair['source']}"
    return f"no paper that we follow reports {model} on {task}: what is not set is as the model has it on copying"


def _of_model(model: str, variant: str) -> Settings:
    """Return the hidden size and optimizer of a model on a task for which no paper reports it."""
    models = _general()["models"]
    if variant in models or model in models:
        model_settings: Settings = models.get(variant) or models[model]
        return model_settings
    row = _default_row("copying", model, variant)
    if row is None:
        return {}
    return {
        "model": {key: row.taken["model"][key] for key in ("hidden_size",) if key in row.taken["model"]},
        "optimizer": row.taken.get("optimizer", {}),
    }


def _of_one_optimizer(layers: list[Settings], chosen: str | None) -> Iterator[Settings]:
    """Yield the layers of settings without the learning rates and options of optimizers that are not used."""
    names: list[str | None] = []
    for layer in layers:
        names.append(layer.get("optimizer", {}).get("name", names[-1] if names else None))
    used = chosen or (names[-1] if names else None)
    for layer, name in zip(layers, names, strict=True):
        yield layer if name == used else {section: v for section, v in layer.items() if section != "optimizer"}


def _default_row(task: str, model: str, variant: str) -> DefaultRow | None:
    return next((row for row in default_rows(task, model) if row.variant == (task, variant)), None)


def default_rows(task: str, model: str) -> list[DefaultRow]:
    """List the rows that are marked as defaults in the experiment files that mention a task and a model.

    Experiments of other packages are read only if the task or the model is not built in. Files that cannot be read are
    ignored; ``eigenloop reproduce`` reports what is wrong with them.
    """
    ours = task in registry.TASKS.own and model in registry.MODELS.own
    experiments = registry.EXPERIMENTS.own if ours else registry.EXPERIMENTS
    rows: list[DefaultRow] = []
    for name, entry in experiments.items():
        try:
            text = entry.load().read_text(encoding="utf-8")
        except (OSError, AttributeError, ValueError, ConfigError):
            continue
        if "default:" in text and task in text and model in text:  # parsing YAML takes a hundred times longer
            rows += _rows(name, text)
    return rows


@functools.cache
def _rows(name: str, text: str) -> tuple[DefaultRow, ...]:
    """Return the marked rows of a file."""
    try:
        content = yaml_text.load(text)
        marked = {row: values for row, values in content["rows"].items() if values.get("default")}
        return tuple(_row(f"{name}, row {row}", content, values) for row, values in marked.items())
    except (yaml.YAMLError, ValueError, AttributeError, KeyError, TypeError):
        return ()


def _row(place: str, content: Mapping[str, Any], row: Mapping[str, Any]) -> DefaultRow:
    settings = full_settings(content, row)
    other = {} if row["default"] is True else row["default"]
    taken = {section: values for section, values in settings_with(_TAKEN, settings).items() if section != "task"}
    task, model = settings["task"], settings["model"]
    variant = task["name"], _variant(model["name"], model.get("strategy"))
    return DefaultRow(place, variant, settings, merged(taken, other))


def full_settings(content: Mapping[str, Any], row: Mapping[str, Any]) -> Settings:
    """Return the merged settings of a row at budget full: the experiment's, the row's, and those of the budget."""
    budgets = [(part.get("budgets") or {}).get("full") or {} for part in (content, row)]
    return merged(*((part.get("settings") or {}) for part in (content, row, *budgets)))


def _variant(model: str, strategy: object) -> str:
    """Return a model's name; if it has several strategies, with the given one or the recipe's default."""
    parameter = inspect.signature(RECIPES[model][0]).parameters.get("strategy") if model in RECIPES else None
    if parameter is None:
        return model
    return f"{model}/{strategy if isinstance(strategy, str) else parameter.default}"


@functools.cache
def _general() -> dict[str, Any]:
    text = files("eigenloop").joinpath("training", "settings", "defaults.yaml").read_text(encoding="utf-8")
    content: dict[str, Any] = yaml_text.load(text)
    return content
