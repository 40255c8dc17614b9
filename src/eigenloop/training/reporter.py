"""The interface through which a training reports its progress."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol


@dataclass(frozen=True)
class Beginning:
    """The facts about a training that are known before its first step."""

    title: str
    folder: str
    parameters: int
    steps: int
    done: int
    baseline: Mapping[str, float]
    metric: str
    max_seconds: float | None = None
    seconds: float = 0.0
    """Training time of earlier sessions, which counts towards `max_seconds`."""
    lr: float | None = None
    recurrent_lr: float | None = None
    """Learning rate of the recurrent parameters; None if they have no separate rate."""
    counted: str | None = None
    """What metrics are averaged over, in words, if not over whole sequences; otherwise None."""


class Reporter(Protocol):
    """Something that shows a training: a progress bar, plain lines, JSON, or nothing."""

    def begin(self, beginning: Beginning) -> None:
        """The training starts or resumes."""

    def step(self, step: int, loss: float) -> None:
        """A step is done."""

    def metrics(self, record: Mapping[str, Any]) -> None:
        """A line of metrics was written."""

    def notice(self, text: str) -> None:
        """The training has a message for the user."""

    def end(self, summary: Mapping[str, Any]) -> None:
        """The training is over."""


class Silent:
    """A reporter that shows nothing."""

    def begin(self, beginning: Beginning) -> None:
        """Ignore it."""

    def step(self, step: int, loss: float) -> None:
        """Ignore it."""

    def metrics(self, record: Mapping[str, Any]) -> None:
        """Ignore it."""

    def notice(self, text: str) -> None:
        """Ignore it."""

    def end(self, summary: Mapping[str, Any]) -> None:
        """Ignore it."""
