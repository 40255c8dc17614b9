"""The settings of every section by name, each with its type as an annotation.

The loop, the schedule and the read-out have the fields of `sections`; a task has those of its dataclass, a model the
arguments of its recipe and layer, an optimizer the options that its registry entry lists. All come from the registries,
so that settings of other packages are checked like built-in ones.
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
import operator
import typing
from collections.abc import Callable
from typing import Annotated, Any

import torch
from pydantic import AfterValidator

from eigenloop import models
from eigenloop.quantization import Quantizer, StateQuantizer
from eigenloop.recipes import RECIPES
from eigenloop.tasks import TASKS, Task
from eigenloop.training import optimizers
from eigenloop.training.settings.sections import NetworkSection, Section

Kinds = dict[str, Any]

#: Arguments that are not settings: the task, the trainer or the seed determines them, or they are not plain values.
NOT_SETTABLE = ("generator", "batch_first", "dtype", "device", "bidirectional", "orthogonal")
#: Types that a file cannot hold; in a file an initialiser and a matrix are names, and bits are a number.
_OBJECTS = (torch.Tensor, Quantizer, StateQuantizer)
#: Larger learning rates overflow float32 before they are used.
_LARGEST_RATE = 1e30


def _is_rate(value: float) -> float:
    if not 0 <= value <= _LARGEST_RATE:
        raise ValueError(f"it is a number from 0 to {_LARGEST_RATE:g}")
    return value


def _not_negative(value: float) -> float:
    if not value >= 0:
        raise ValueError("it must not be negative")
    return value


Rate = Annotated[float, AfterValidator(_is_rate)]


def section_kinds(section: type[Section]) -> Kinds:
    """Return the settings, with their types, of a section that is the same for every task and model."""
    return {
        name: Annotated[(field.annotation, *field.metadata)] if field.metadata else field.annotation
        for name, field in section.model_fields.items()
    }


def task_kinds(task: str) -> Kinds:
    """Return the settings of a task, with their types.

    >>> task_kinds("adding")["length"]
    <class 'int'>
    """
    hints = typing.get_type_hints(TASKS[task])
    return {"name": str} | {option: hints[option] for option in task_options(TASKS[task])}


def task_options(task: type[Task]) -> list[str]:
    """Return the names of the options of a task."""
    return [field.name for field in dataclasses.fields(task)]  # type: ignore[arg-type]


def model_kinds(model: str) -> Kinds:
    """Return the settings of a model, with their types: those of `NetworkSection`, and the options of its layer."""
    return section_kinds(NetworkSection) | layer_kinds(model)


def layer_kinds(model: str) -> Kinds:
    """Return the options of a recipe and of the layer that it builds, with their types."""
    recipe, layer = RECIPES[model]
    return dict(_arguments(recipe, layer.__init__))


@functools.cache
def _arguments(recipe: Callable[..., Any], layer: Callable[..., Any]) -> Kinds:
    hints = typing.get_type_hints(layer) | typing.get_type_hints(recipe)
    options = dict.fromkeys([*models._options_of(recipe), *models._options_of(layer)])
    return {option: _plain(hints.get(option, Any)) for option in options if option not in NOT_SETTABLE}


def layer_defaults(model: str) -> dict[str, Any]:
    """Return the default values of a recipe's options; those without a default are left out."""
    parameters = inspect.signature(RECIPES[model][0]).parameters
    defaults = {name: parameters[name].default for name in layer_kinds(model) if name in parameters}
    return {name: _listed(default) for name, default in defaults.items() if default is not inspect.Parameter.empty}


def optimizer_kinds(optimizer: str) -> Kinds:
    """Return the settings of an optimizer, including the two learning rates, with their types."""
    options = {name: _option_kind(name, default) for name, default in optimizers.defaults(optimizer).items()}
    return {"name": str, "lr": Rate, "recurrent_lr": Rate | None} | options


def _option_kind(name: str, default: Any) -> Any:
    """Return the type of an optimizer's option, from its default; torch writes some float defaults (momentum) as 0."""
    if isinstance(default, list):
        return _entries(len(default))
    if name == "weight_decay":
        return Annotated[float, AfterValidator(_not_negative)]
    return float if type(default) is int and name != "rank" else type(default)


@functools.cache
def _entries(count: int) -> Any:
    """Return the type of a list with this many numbers."""

    def as_many(value: list[float]) -> list[float]:
        if len(value) != count:
            raise ValueError(f"it has {count} entries")
        return value

    return Annotated[list[float], AfterValidator(as_many)]


def _plain(hint: Any) -> Any:
    """Return an annotation without the types that a file cannot hold."""
    given = typing.get_args(hint)
    parts = [part for part in given if part not in _OBJECTS and typing.get_origin(part) is not Callable]
    return functools.reduce(operator.or_, parts) if len(parts) < len(given) else hint


def _listed(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value
