"""What a training tells whoever watches it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol


@dataclass(frozen=True)
class Beginning:
    """What is known before the first step."""

    title: str
    folder: str
    parameters: int
    steps: int
    done: int
    baseline: Mapping[str, float]
    metric: str
    max_seconds: float | None = None
    lr: float | None = None
    recurrent_lr: float | None = None
    """Of the parameters that have a rate of their own; None where there are none."""
    counted: str | None = None
    """What measures are over, where that is less than a whole sequence: windows."""


class Reporter(Protocol):
    """Something that shows a training: a progress bar, plain lines, JSON, or nothing."""

    def begin(self, beginning: Beginning) -> None:
        """The training starts or resumes."""

    def step(self, step: int, loss: float) -> None:
        """A step is done."""

    def metrics(self, record: Mapping[str, Any]) -> None:
        """A line of metrics was written."""

    def notice(self, text: str) -> None:
        """Something worth a sentence happened."""

    def end(self, summary: Mapping[str, Any]) -> None:
        """The training is over."""


class Silent:
    """Shows nothing."""

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
