"""Where a training stands, apart from weights, optimizer and schedule."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from typing import Any

from eigenloop.tasks.tally import Tally


@dataclass
class Progress:
    """What the loop remembers from step to step, and a checkpoint keeps.

    Attributes:
        step: updates that are done.
        seconds: time they took, evaluations included, over all sessions.
        started: when the first session began.
        best: the best evaluation on the validation split, with its step.
        misses: evaluations since then.
        window: loss and measures of this process since the last line of metrics.
        norm: of the last gradient.
        latest: the latest evaluation of every part.
        evaluated: the step of that evaluation.
        numerics: versions of the arithmetic that the first session had, see `eigenloop.numerics`; empty for a run that
            began before there were versions.
    """

    step: int = 0
    seconds: float = 0.0
    started: str = ""
    best: dict[str, float] | None = None
    misses: int = 0
    window: Tally = field(default_factory=Tally)
    norm: float = 0.0
    latest: dict[str, dict[str, float]] = field(default_factory=dict)
    evaluated: int = 0
    numerics: dict[str, int] = field(default_factory=dict)

    def state(self) -> dict[str, Any]:
        """Return what a checkpoint keeps; windows are kept apart, because each process has its own."""
        return {f.name: getattr(self, f.name) for f in dataclasses.fields(self) if f.name != "window"}
