"""The runs of a comparison: models x bit widths x folds x seeds, all on the same splits of the same file."""

from __future__ import annotations

import copy
import dataclasses
import functools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from eigenloop.errors import ConfigError
from eigenloop.quantization import size_report
from eigenloop.recipes import RECIPES
from eigenloop.tasks import Sequences
from eigenloop.training.network import build_network
from eigenloop.training.settings.config import Config, make_config
from eigenloop.training.settings.kinds import layer_defaults
from eigenloop.training.sizing import hidden_size_of_parameters, largest_hidden_size
from eigenloop.training.summary import count_parameters

Settings = Mapping[str, Mapping[str, Any]]


@dataclass(frozen=True)
class Combination:
    """A model with a bit width.

    Attributes:
        bits: bits of the quantized weights; None for floating point.
        config: its settings; each run sets its own fold and seed.
        parameters: number of trained parameters.
        bytes: size on a device, see `size_report`.
    """

    model: str
    bits: int | None
    config: Config
    parameters: int
    bytes: int

    @property
    def name(self) -> str:
        """The name in folders, such as ``ncgru-4bit``; the name of the model for a floating-point network."""
        return self.model if self.bits is None else f"{self.model}-{self.bits}bit"

    @property
    def title(self) -> str:
        """The name shown to readers, such as ``ncgru, 4 bits``."""
        return f"{self.model}, {'float' if self.bits is None else f'{self.bits} bits'}"


@dataclass(frozen=True)
class Trial:
    """One run: a combination with a fold and a seed."""

    combination: Combination
    fold: int | None
    seed: int

    @property
    def name(self) -> str:
        """The name of the run's folder."""
        fold = "" if self.fold is None else f"-fold{self.fold}"
        return f"{self.combination.name}{fold}-seed{self.seed}"

    @property
    def data(self) -> Path:
        """The path of the data."""
        task = self.combination.config.task
        assert isinstance(task, Sequences)
        assert task.data is not None
        return task.data

    def config(self) -> Config:
        """Return the settings of the run."""
        config = self.combination.config
        training = config.training.model_copy(update={"seed": self.seed})
        if self.fold is None:
            return dataclasses.replace(config, training=training)
        assert isinstance(config.task, Sequences)
        return dataclasses.replace(config, training=training, task=dataclasses.replace(config.task, fold=self.fold))


@dataclass(frozen=True)
class Plan:
    """A planned comparison.

    Attributes:
        task: the data, read once for all runs.
        combinations: the models with their bit widths.
        folds: number of cross-validation folds; None for the train, validation and test splits of `fit`.
        seeds: seeds of the runs of each combination on each fold.
    """

    task: Sequences
    combinations: tuple[Combination, ...]
    folds: int | None
    seeds: tuple[int, ...]

    def trials(self) -> Iterator[Trial]:
        """Yield all runs, ordered by seed, so that an interrupted comparison covers all combinations."""
        for seed in self.seeds:
            for fold in range(self.folds) if self.folds is not None else (None,):
                for combination in self.combinations:
                    yield Trial(combination, fold, seed)


def planned(
    settings: Settings,
    models: Sequence[str],
    widths: Sequence[int | None],
    *,
    folds: int | None = None,
    seeds: int = 1,
    max_bytes: int | None = None,
    parameters: int | None = None,
    match_parameters: bool = False,
) -> Plan:
    """Plan a comparison of models on a data file.

    Args:
        settings: settings of a fit, by section: ``task.data``, and those that differ from what `fit` chooses.
        models: names of models.
        widths: bit widths of the weights; None for floating point.
        folds: number of cross-validation folds, which do not split groups; None for the splits of `fit`.
        seeds: number of runs per combination and fold, with the seeds ``training.seed``, ``training.seed + 1``, ...
        max_bytes: choose the largest hidden size with which each combination fits in this many bytes.
        parameters: choose the hidden size of each model by this number of trained parameters, for all bit widths alike.
        match_parameters: the same, with the number of parameters of the first model.

    Raises:
        ConfigError: a name is repeated, the hidden size is given in two ways, or nothing decides the comparison.
    """
    _check(models, widths, settings, sum((max_bytes is not None, parameters is not None, match_parameters)))
    first = _config(settings, models[0], None, None, folds)
    task = first.task.settled()
    assert isinstance(task, Sequences)
    if folds is None and "valid" not in task.splits:
        raise ConfigError(
            "without folds a comparison is decided by the validation split, and there is none", "set folds"
        )

    def config_of(model: str, bits: int | None, size: int | None) -> Config:
        """Return the settings with the task whose file has been read, so that it is read only once."""
        return dataclasses.replace(_config(settings, model, bits, size, folds), task=task)

    if match_parameters:
        parameters = count_parameters(build_network(config_of(models[0], None, None)))
    combinations = []
    for model in models:
        size = None
        if parameters is not None:
            size = hidden_size_of_parameters(functools.partial(config_of, model, None), parameters)
        for bits in widths:
            if max_bytes is not None:
                size = largest_hidden_size(functools.partial(config_of, model, bits), max_bytes)
            config = config_of(model, bits, size)
            net = build_network(config)
            combinations.append(Combination(model, bits, config, count_parameters(net), size_report(net).bytes))
    start = first.training.seed
    return Plan(task, tuple(combinations), folds, tuple(range(start, start + seeds)))


def _check(models: Sequence[str], widths: Sequence[int | None], settings: Settings, sizes: int) -> None:
    for what, given in (("model", models), ("width", widths)):
        if not given:
            raise ConfigError(f"a comparison needs at least one {what}")
        if len(set(given)) < len(given):
            raise ConfigError(f"a comparison has every {what} once, got {', '.join(map(str, given))}")
    if sizes + (settings.get("model", {}).get("hidden_size") is not None and sizes > 0) > 1:
        raise ConfigError(
            "the hidden size is given in more than one way: choose one of max_bytes, parameters, match_parameters and "
            "model.hidden_size",
            flags="choose one of --max-bytes, --parameters, --match-parameters and --hidden-size",
        )


def _config(settings: Settings, model: str, bits: int | None, size: int | None, folds: int | None) -> Config:
    chosen = copy.deepcopy({section: dict(values) for section, values in settings.items()})
    chosen.setdefault("task", {})["name"] = "sequences"
    if folds is not None:
        chosen["task"]["folds"] = folds
    network = chosen.setdefault("model", {})
    network["name"] = model
    own = layer_defaults(model).get("bits") if model in RECIPES else None  # make_config rejects unknown names
    if bits is not None or own is not None:  # qornn has 8 bits by default, so floating point must be set too
        network["bits"] = bits
    if size is not None:
        network["hidden_size"] = size
    return make_config(chosen)
