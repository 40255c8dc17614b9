"""Checks of a task's options."""

from __future__ import annotations

from collections.abc import Collection


def at_least(name: str, value: int, low: int) -> None:
    """Raise a ValueError if an option is below its smallest value."""
    if value < low:
        raise ValueError(f"{name} must be at least {low}, got {value}")


def one_of(name: str, value: object, known: Collection[object]) -> None:
    """Raise a ValueError if an option is not one of the known values."""
    if value not in known:
        raise ValueError(f"{name} is one of {', '.join(map(str, known))}, got {value!r}")
