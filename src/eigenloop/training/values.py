"""The values of settings: checked, and converted to the type that a setting has."""

from __future__ import annotations

import functools
import operator
import types
import typing
from collections.abc import Callable
from typing import Any

import torch
from pydantic import TypeAdapter, ValidationError

from eigenloop.errors import ConfigError
from eigenloop.quantization import Quantizer, StateQuantizer

#: Larger rates overflow float32 before they are used.
_LARGEST_RATE = 1e30


def converted_to(place: str, value: Any, kind: Any) -> Any:
    """Check and convert a value by a type annotation."""
    refuse_truth(place, value, kind)
    try:
        return TypeAdapter(kind).validate_python(value)
    except ValidationError as error:
        problem = error.errors()[0]["msg"]
        raise ConfigError(f"{place}={value!r} is refused: {problem[0].lower()}{problem[1:]}") from error


def refuse_truth(place: str, value: Any, kind: Any) -> None:
    """Refuse true and false, and what YAML takes for them, where a number is wanted: Python takes them for 1 and 0."""
    values = value if isinstance(value, (list, tuple)) else (value,)
    if any(isinstance(each, bool) for each in values) and not _allows_truth(kind):
        raise ConfigError(
            f"{place}={value!r} is refused: true and false, which YAML also reads from yes, no, on and off, are no "
            "values of this setting"
        )


def _allows_truth(kind: Any) -> bool:
    return kind in (bool, Any) or any(_allows_truth(part) for part in typing.get_args(kind))


def plain(hint: Any) -> Any:
    """Return an annotation without what a file cannot hold: a start and a matrix are names there, bits are a number."""
    objects = (torch.Tensor, Quantizer, StateQuantizer)
    given = typing.get_args(hint)
    parts = [part for part in given if part not in objects and typing.get_origin(part) is not Callable]
    return functools.reduce(operator.or_, parts) if len(parts) < len(given) else hint


def rate(name: str, value: Any) -> float:
    """Check a learning rate."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value <= _LARGEST_RATE:
        raise ConfigError(f"optimizer.{name}={value!r} is refused: it is a number from 0 to {_LARGEST_RATE:g}")
    return float(value)


def like(name: str, value: Any, default: Any) -> Any:
    """Check a value against the type of the default."""
    wanted: Any = type(default)
    if isinstance(default, list):
        wanted = types.GenericAlias(list, (float,))
    elif wanted is int and name != "optimizer.rank":
        wanted = float  # torch writes some defaults, momentum's for one, as 0
    converted = converted_to(name, value, wanted)
    if isinstance(default, list) and len(converted) != len(default):
        raise ConfigError(f"{name}={value!r} is refused: it has {len(default)} entries")
    return converted
