"""Checking the values of settings and converting them to their types."""

from __future__ import annotations

import functools
import typing
from typing import Any

from pydantic import ConfigDict, TypeAdapter, ValidationError

from eigenloop.errors import ConfigError

_CHECKS = ConfigDict(allow_inf_nan=False)


def converted_to(place: str, value: Any, kind: Any) -> Any:
    """Return a value converted to the type of its setting, `kind`; raises ConfigError if it is not valid."""
    _refuse_truth(place, value, kind)
    try:
        return _adapter(kind).validate_python(value)
    except ValidationError as error:
        problem = error.errors()[0]["msg"].removeprefix("Value error, ")
        raise ConfigError(f"{place}={value!r} is refused: {problem[0].lower()}{problem[1:]}") from error


@functools.lru_cache(1000)
def _adapter(kind: Any) -> TypeAdapter[Any]:
    """Return the validator of a type, cached because building one takes longer than using it."""
    return TypeAdapter(kind, config=_CHECKS)


def _refuse_truth(place: str, value: Any, kind: Any) -> None:
    """Raise a ConfigError for true and false (also yes, no, on, off in YAML), which Python would accept as 1 and 0."""
    values = value if isinstance(value, (list, tuple)) else (value,)
    if any(isinstance(each, bool) for each in values) and not _allows_truth(kind):
        raise ConfigError(
            f"{place}={value!r} is refused: true and false, which YAML also reads from yes, no, on and off, are not "
            "values of this setting"
        )


def _allows_truth(kind: Any) -> bool:
    return kind in (bool, Any) or any(_allows_truth(part) for part in typing.get_args(kind))
