"""The error of the report: a run folder that cannot be shown, and what to do about it."""

from __future__ import annotations

from pathlib import Path


class RunError(ValueError):
    """A run folder cannot be read, or the page cannot be made from what was given."""

    def __init__(self, sentence: str) -> None:
        super().__init__(sentence)


def damaged(path: Path, trouble: object, fix: str) -> RunError:
    """Make the error of a file that is there but cannot be understood."""
    return RunError(f"{path} is damaged ({trouble}): {fix}")
