"""A configuration: task, model, optimizer, schedule and training, complete and checked.

Every setting has a place, ``section.key``. What is not set comes from the papers (`published`), then from the defaults
of the task, the model, the optimizer and the loop, so that a configuration in a file says all there is to say.
"""

from __future__ import annotations

import dataclasses
import inspect
import typing
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from eigenloop import registry
from eigenloop.errors import ConfigError
from eigenloop.recipes import RECIPES
from eigenloop.runs import yaml_text
from eigenloop.tasks import TASKS, Task
from eigenloop.training import optimizers
from eigenloop.training.keys import (
    checked_sections,
    chosen_names,
    layer_options,
    refuse_unknown,
    task_options,
)
from eigenloop.training.other_matrix import with_another_matrix
from eigenloop.training.published import SECTIONS, published_settings
from eigenloop.training.sections import NetworkSection, ScheduleSection, TrainingSection
from eigenloop.training.values import converted_to, like, plain, rate, refuse_truth


@dataclass(frozen=True)
class Config:
    """A complete configuration.

    Attributes:
        task: the task with its options.
        network: what stands around the recurrent layer.
        options: of the recurrent layer, for `eigenloop.build`.
        optimizer: ``name``, ``lr``, ``recurrent_lr`` and the optimizer's own options.
        schedule: how the rates change.
        training: the loop.
    """

    task: Task
    network: NetworkSection
    options: Mapping[str, Any]
    optimizer: Mapping[str, Any]
    schedule: ScheduleSection
    training: TrainingSection

    def as_dict(self) -> dict[str, dict[str, Any]]:
        """Return all settings by section, as they stand in ``config.yaml``."""
        task = {field.name: getattr(self.task, field.name) for field in dataclasses.fields(self.task)}  # type: ignore[arg-type]
        return {
            "task": {"name": self.task.name} | {key: _plain_value(value) for key, value in task.items()},
            "model": self.network.model_dump(mode="json") | dict(self.options),
            "optimizer": dict(self.optimizer),
            "schedule": self.schedule.model_dump(mode="json"),
            "training": self.training.model_dump(mode="json"),
        }

    def as_yaml(self) -> str:
        """Return the content of ``config.yaml``."""
        return yaml_text.dump(self.as_dict())


def _plain_value(value: Any) -> Any:
    """Return an option of a task as a file holds it."""
    if isinstance(value, Path):
        return str(value)
    return list(value) if isinstance(value, tuple) else value


def make_config(settings: Mapping[str, Any]) -> Config:
    """Complete and check settings: a mapping of sections, of which ``task.name`` and ``model.name`` must be there.

    >>> config = make_config({"task": {"name": "copying", "delay": 200}, "model": {"name": "scornn"}})
    >>> config.task.delay, config.network.hidden_size, config.optimizer["recurrent_lr"]
    (200, 190, 0.0001)
    """
    given = checked_sections(settings)
    merged = published_settings(*chosen_names(given), given)
    for section in SECTIONS:
        merged[section] |= given[section]
    merged["model"] = with_another_matrix(merged["model"], given["model"])
    config = Config(
        task=_task(merged["task"]),
        network=_network(merged["model"]),
        options=_layer_options(merged["model"]),
        optimizer=_optimizer(merged["optimizer"]),
        schedule=_section("schedule", ScheduleSection, merged["schedule"]),
        training=_section("training", TrainingSection, merged["training"]),
    )
    _check_together(config)
    return config


def _section(name: str, kind: type[Any], values: Mapping[str, Any]) -> Any:
    refuse_unknown(name, values, list(kind.model_fields), f"section {name}")
    for key, value in values.items():
        refuse_truth(f"{name}.{key}", value, kind.model_fields[key].annotation)
    try:
        return kind(**values)
    except ValidationError as error:
        raise _refused(name, error) from error


def _refused(section: str, error: ValidationError) -> ConfigError:
    first = error.errors()[0]
    key = ".".join(str(part) for part in (section, *first["loc"][:1]))
    return ConfigError(f"{key}={first['input']!r} is refused: {first['msg'][0].lower()}{first['msg'][1:]}")


def _task(values: Mapping[str, Any]) -> Task:
    kind = TASKS[values["name"]]
    refuse_unknown("task", values, ["name", *task_options(kind)], f"task {kind.name}")
    hints = typing.get_type_hints(kind)
    converted = {key: converted_to(f"task.{key}", value, hints[key]) for key, value in values.items() if key != "name"}
    try:
        return kind(**converted)
    except ValueError as error:
        raise ConfigError(f"task {kind.name}: {error}") from error


def _network(values: Mapping[str, Any]) -> NetworkSection:
    own = {key: value for key, value in values.items() if key in NetworkSection.model_fields}
    network: NetworkSection = _section("model", NetworkSection, own)
    return network


def _layer_options(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options for `build`: those that are set, and the recipe's own defaults."""
    model = values["name"]
    known = layer_options(model)
    refuse_unknown("model", values, [*NetworkSection.model_fields, *known], f"model {model}")
    recipe, layer = RECIPES[model]
    hints = typing.get_type_hints(layer.__init__) | typing.get_type_hints(recipe)
    defaults = {
        name: list(p.default) if isinstance(p.default, tuple) else p.default
        for name, p in inspect.signature(recipe).parameters.items()
        if name in known and p.default is not p.empty
    }
    given = {
        key: converted_to(f"model.{key}", value, plain(hints.get(key, Any)))
        for key, value in values.items()
        if key in known
    }
    chosen = defaults | given
    return {key: chosen[key] for key in known if key in chosen}


def _optimizer(values: Mapping[str, Any]) -> dict[str, Any]:
    name = values.get("name", "adam")
    if not isinstance(name, str) or name not in optimizers.OPTIMIZERS:
        raise registry.OPTIMIZERS.unknown(name)
    defaults = optimizers.defaults(name)
    refuse_unknown("optimizer", values, ["name", "lr", "recurrent_lr", *defaults], f"optimizer {name}")
    lr = rate("lr", values.get("lr", 1e-3))
    slow = values.get("recurrent_lr")
    result: dict[str, Any] = {
        "name": name,
        "lr": lr,
        "recurrent_lr": lr / 10 if slow is None else rate("recurrent_lr", slow),
    }
    for key, default in defaults.items():
        result[key] = like(f"optimizer.{key}", values.get(key, default), default)
    if not result.get("weight_decay", 0) >= 0:
        raise ConfigError(f"optimizer.weight_decay={result['weight_decay']} is refused: it must not be negative")
    return result


def _check_together(config: Config) -> None:
    task, network, training = config.task, config.network, config.training
    if network.embedding_size is not None and not task.tokens:
        raise ConfigError(f"model.embedding_size is for tokens, and {task.name} has none: leave it out")
    if network.embedding_size is None and (network.tied or network.embedding_dropout):
        raise ConfigError("model.tied and model.embedding_dropout need an embedding: set model.embedding_size")
    if (training.steps is None) == (training.epochs is None):
        raise ConfigError("training.steps and training.epochs exclude each other: set one of them")
    if "valid" not in task.splits:
        used = {"training.until": training.until, "training.patience": training.patience}
        used["schedule.name=plateau"] = True if config.schedule.name == "plateau" else None
        for setting, value in used.items():
            if value is not None:
                raise ConfigError(
                    f"{setting} looks at the validation part, and {task.name} has none with these options"
                )
    counted = task.steps_per_epoch(training.batch_size) if not reads_files(task) else 1
    if counted is None:
        if training.epochs is not None:
            raise ConfigError(
                f"{task.name} draws fresh data for ever and has no epochs: give training.steps, or task.train_size for "
                "a set that is seen again"
            )
        if config.schedule.name == "factor" and config.schedule.unit == "epoch":
            raise ConfigError(f"{task.name} draws fresh data and has no epochs: set schedule.unit=step")


def with_data_dir(config: Config, data_dir: Path) -> Config:
    """Return the configuration with another folder of data."""
    if "data_dir" not in task_options(type(config.task)):
        raise ConfigError(f"{config.task.name} reads no files", "leave out data_dir", flags="leave out --data-dir")
    return dataclasses.replace(config, task=dataclasses.replace(config.task, data_dir=data_dir))  # type: ignore[type-var]


def with_data(config: Config, data: Path) -> Config:
    """Return the configuration with another place of the file of own sequences."""
    if "data" not in task_options(type(config.task)):
        raise ConfigError(f"{config.task.name} reads no file of sequences", "leave out data", flags="leave out --data")
    moved = data.expanduser().absolute()
    return dataclasses.replace(config, task=dataclasses.replace(config.task, data=moved))  # type: ignore[type-var]


def reads_files(task: Task) -> bool:
    """Whether a task has a folder or a file of data."""
    return bool({"data_dir", "data"} & set(task_options(type(task))))
