"""A run folder that cannot be shown, and what to do about it."""

from __future__ import annotations

from pathlib import Path

from eigenloop.errors import RunError

__all__ = ["RunError", "damaged"]


def damaged(path: Path, trouble: object, fix: str) -> RunError:
    """Make the error of a file that is there but cannot be understood."""
    return RunError(f"{path} is damaged ({trouble}): {fix}")
