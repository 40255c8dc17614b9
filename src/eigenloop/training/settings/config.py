"""The configuration of a training: task, model, optimizer, schedule and training, complete and checked.

A setting is addressed as ``section.key``. A setting that is not given comes from the papers (`defaults`), then from the
defaults of the task, the model, the optimizer and the loop, so that a stored configuration is complete.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from eigenloop import registry
from eigenloop.errors import ConfigError
from eigenloop.runs import yaml_text
from eigenloop.runs.effects import Effect, settings_with
from eigenloop.tasks import TASKS, Task
from eigenloop.training import optimizers
from eigenloop.training.other_matrix import with_another_matrix
from eigenloop.training.settings.defaults import Defaults, defaults_for
from eigenloop.training.settings.keys import checked_sections, chosen_names, refuse_unknown
from eigenloop.training.settings.kinds import (
    Kinds,
    layer_defaults,
    layer_kinds,
    model_kinds,
    optimizer_kinds,
    section_kinds,
    task_kinds,
    task_options,
)
from eigenloop.training.settings.merging import LENGTHS, merged
from eigenloop.training.settings.sections import NetworkSection, ScheduleSection, TrainingSection
from eigenloop.training.settings.values import converted_to

#: Settings that every complete configuration has, whichever version wrote it.
_ALWAYS_THERE = {
    "model": ("hidden_size", "embedding_size", "tied"),
    "optimizer": ("name", "lr", "recurrent_lr"),
    "schedule": ("name", "factor", "every", "unit"),
    "training": ("batch_size", "seed", "dtype", "device"),
}
#: Effects of the settings whose differences from the published row are reported.
_COMPARED = (Effect.NUMBERS, Effect.SAMPLE, Effect.LENGTH)


@dataclass(frozen=True)
class Config:
    """A complete configuration.

    Attributes:
        task: the task with its options.
        network: the hidden size, the embedding, the read-out and dropout around the recurrent layer.
        options: options of the recurrent layer, for `eigenloop.build`.
        optimizer: ``name``, ``lr``, ``recurrent_lr`` and the optimizer's own options.
        schedule: the learning rate schedule.
        training: settings of the training loop.
        source: where the settings that were not given come from, in words; None if all were given.
    """

    task: Task
    network: NetworkSection
    options: Mapping[str, Any]
    optimizer: Mapping[str, Any]
    schedule: ScheduleSection
    training: TrainingSection
    source: str | None = field(default=None, compare=False)

    def as_dict(self) -> dict[str, dict[str, Any]]:
        """Return all settings by section, as in ``config.yaml``."""
        task = {field.name: getattr(self.task, field.name) for field in dataclasses.fields(self.task)}  # type: ignore[arg-type]
        return {
            "task": {"name": self.task.name} | {key: _plain_value(value) for key, value in task.items()},
            "model": self.network.model_dump(mode="json") | dict(self.options),
            "optimizer": dict(self.optimizer),
            "schedule": self.schedule.model_dump(mode="json"),
            "training": self.training.model_dump(mode="json"),
        }

    def as_yaml(self) -> str:
        """Return all settings as YAML."""
        return yaml_text.dump(self.as_dict())


def _plain_value(value: Any) -> Any:
    """Return an option of a task as a value that YAML can hold."""
    if isinstance(value, Path):
        return str(value)
    return list(value) if isinstance(value, tuple) else value


def make_config(settings: Mapping[str, Any], *, papers: bool = True) -> Config:
    """Complete and check settings, and return them as a configuration.

    Args:
        settings: the given settings, by section; ``task.name`` and ``model.name`` are required.
        papers: take settings that are not given from the papers, see `eigenloop.training.settings.defaults`. If false,
            or if the configuration is complete already, they are the defaults of the task, the model, the optimizer
            and the loop.

    Raises:
        ConfigError: a name or a setting is unknown, a value is not valid, or settings do not go together.

    >>> config = make_config({"task": {"name": "copying", "delay": 200}, "model": {"name": "scornn"}})
    >>> config.task.delay, config.network.hidden_size, config.optimizer["recurrent_lr"]
    (200, 190, 0.0001)
    """
    given = checked_sections(settings)
    task, model = chosen_names(given)
    if not papers or _says_all(given):
        return _checked(given, given)
    defaults = defaults_for(task, model, given)
    config = _checked(merged(defaults.settings, given), given)
    return dataclasses.replace(config, source=_told(defaults, config))


def _says_all(given: Mapping[str, Mapping[str, Any]]) -> bool:
    """Whether settings are a complete configuration, in which missing layer options are missing on purpose."""
    return all(key in given[section] for section, keys in _ALWAYS_THERE.items() for key in keys)


def _checked(settings: Mapping[str, Mapping[str, Any]], given: Mapping[str, Mapping[str, Any]]) -> Config:
    """Check settings with a known task and model, section by section and then together."""
    network, options = _model(with_another_matrix(settings["model"], given["model"]))
    schedule = _converted("schedule", section_kinds(ScheduleSection), settings["schedule"], "section schedule")
    training = _converted("training", section_kinds(TrainingSection), settings["training"], "section training")
    config = Config(
        task=_task(settings["task"]),
        network=network,
        options=options,
        optimizer=_optimizer(settings["optimizer"]),
        schedule=ScheduleSection(**schedule),
        training=TrainingSection(**training),
    )
    _check_together(config)
    return config


def _told(defaults: Defaults, config: Config) -> str | None:
    """Return in words where the defaults come from, and how this configuration differs from that row."""
    if defaults.source is None or defaults.row is None:
        return defaults.source
    row, ours = make_config(defaults.row, papers=False).as_dict(), config.as_dict()
    other = []
    for section, values in settings_with(_COMPARED, ours).items():
        for key, value in values.items():
            there = row[section].get(key, value)
            if value != there and not (key in LENGTHS and value is None):
                words = _length(row) if key in LENGTHS else _word(there)
                other.append(f"{section if key == 'name' else key} {_word(value)} (published: {words})")
    return defaults.source + (f"; different here: {', '.join(other)}" if other else "")


def _length(settings: Mapping[str, Mapping[str, Any]]) -> str:
    lengths = {length: settings["training"][length] for length in LENGTHS}
    return ", ".join(f"{value:g} {length}" for length, value in lengths.items() if value is not None)


def _word(value: object) -> str:
    return "none" if value is None else str(value)


def _converted(section: str, kinds: Kinds, values: Mapping[str, Any], of: str) -> dict[str, Any]:
    """Check the values of a section against the types of its settings, and convert them."""
    refuse_unknown(section, values, kinds, of)
    return {key: converted_to(f"{section}.{key}", value, kinds[key]) for key, value in values.items()}


def _task(values: Mapping[str, Any]) -> Task:
    name = values["name"]
    converted = _converted("task", task_kinds(name), values, f"task {name}")
    del converted["name"]
    try:
        return TASKS[name](**converted)
    except ValueError as error:
        raise ConfigError(f"task {name}: {error}") from error


def _model(values: Mapping[str, Any]) -> tuple[NetworkSection, dict[str, Any]]:
    """Return the settings around the recurrent layer, and the options for `build` that are set or have a default."""
    name = values["name"]
    converted = _converted("model", model_kinds(name), values, f"model {name}")
    chosen = layer_defaults(name) | converted
    network = NetworkSection(**{key: converted[key] for key in NetworkSection.model_fields if key in converted})
    return network, {key: chosen[key] for key in layer_kinds(name) if key in chosen}


def _optimizer(values: Mapping[str, Any]) -> dict[str, Any]:
    name = values.get("name", "adam")
    if not isinstance(name, str) or name not in optimizers.OPTIMIZERS:
        raise registry.OPTIMIZERS.unknown(name)
    given = {"name": name, "lr": 1e-3, "recurrent_lr": None} | optimizers.defaults(name) | dict(values)
    converted = _converted("optimizer", optimizer_kinds(name), given, f"optimizer {name}")
    if converted["recurrent_lr"] is None:
        converted["recurrent_lr"] = converted["lr"] / 10
    return converted


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
                    f"{setting} looks at the validation split, and {task.name} has none with these options"
                )
    counted = task.steps_per_epoch(training.batch_size) if not reads_files(task) else 1
    if counted is None:
        if training.epochs is not None:
            raise ConfigError(
                f"{task.name} generates its data as it trains and has no epochs: set training.steps, or "
                "task.train_size for a fixed training set"
            )
        if config.schedule.name == "factor" and config.schedule.unit == "epoch":
            raise ConfigError(f"{task.name} generates its data as it trains and has no epochs: set schedule.unit=step")


def with_data_dir(config: Config, data_dir: Path) -> Config:
    """Return the configuration with another data folder; raises ConfigError if its task reads no files."""
    if "data_dir" not in task_options(type(config.task)):
        raise ConfigError(f"{config.task.name} reads no files", "leave out data_dir", flags="leave out --data-dir")
    return dataclasses.replace(config, task=dataclasses.replace(config.task, data_dir=data_dir))  # type: ignore[type-var]


def with_data(config: Config, data: Path) -> Config:
    """Return the configuration with another path of your own sequences; raises ConfigError if its task has none."""
    if "data" not in task_options(type(config.task)):
        raise ConfigError(f"{config.task.name} reads no file of sequences", "leave out data", flags="leave out --data")
    moved = data.expanduser().absolute()
    return dataclasses.replace(config, task=dataclasses.replace(config.task, data=moved))  # type: ignore[type-var]


def reads_files(task: Task) -> bool:
    """Whether a task reads its data from a folder or a file."""
    return bool({"data_dir", "data"} & set(task_options(type(task))))
