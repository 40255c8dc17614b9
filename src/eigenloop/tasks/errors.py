"""What can be wrong with a task's options and with data files."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path


class DataError(ValueError):
    """A data file is missing, damaged or not what it should be."""

    def __init__(self, path: Path | str, wrong: str) -> None:
        self.path, self.wrong = Path(path), wrong
        super().__init__(f"{path}: {wrong}")

    def __reduce__(self) -> tuple[type[DataError], tuple[Path, str]]:
        return type(self), (self.path, self.wrong)


def at_least(name: str, value: int, low: int) -> None:
    """Refuse an option below its smallest value."""
    if value < low:
        raise ValueError(f"{name} must be at least {low}, got {value}")


def one_of(name: str, value: object, known: Collection[object]) -> None:
    """Refuse an option that is none of those there are."""
    if value not in known:
        raise ValueError(f"{name} is one of {', '.join(map(str, known))}, got {value!r}")
