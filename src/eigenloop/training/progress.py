"""The progress of a training, apart from weights, optimizer and schedule."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from typing import Any

from eigenloop.tasks.tally import Tally


@dataclass
class Progress:
    """The state of the training loop between steps, which a checkpoint stores.

    Attributes:
        step: number of completed updates.
        seconds: training time, evaluations included, over all sessions.
        started: when the first session began.
        best: the best evaluation on the validation split, with its step.
        misses: number of evaluations without improvement since then.
        window: loss and metrics of this process since the last line of metrics.
        norm: norm of the last gradient.
        latest: the latest evaluation of each split.
        evaluated: the step of the latest evaluation.
        numerics: versions of the arithmetic in the first session, see `eigenloop.numerics`; empty for a run that
            predates them.
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
        """Return the state for a checkpoint, without `window`, which is stored for each process."""
        return {f.name: getattr(self, f.name) for f in dataclasses.fields(self) if f.name != "window"}
