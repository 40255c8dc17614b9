"""Learning rate schedules."""

from __future__ import annotations

from typing import Any

from torch.optim import Optimizer

from eigenloop.training.settings.sections import ScheduleSection


class Schedule:
    """A factor for all learning rates: a function of the step, or lowered when evaluations stop improving."""

    def __init__(self, section: ScheduleSection) -> None:
        self.section = section
        self._scale, self._misses = 1.0, 0

    def factor(self, step: int, steps_per_epoch: int | None) -> float:
        """Return the factor for a training step, counted from 0."""
        if self.section.name != "factor":
            return self._scale
        unit = 1 if self.section.unit == "step" or steps_per_epoch is None else steps_per_epoch
        return self.section.factor ** (step // (unit * self.section.every))

    def observe(self, improved: bool) -> None:
        """Record whether an evaluation improved on the best one; lower the factor if the patience is exhausted."""
        self._misses = 0 if improved else self._misses + 1
        if self.section.name == "plateau" and self._misses > self.section.patience:
            self._scale, self._misses = self._scale * self.section.factor, 0

    def state(self) -> dict[str, Any]:
        """Return the state for a checkpoint."""
        return {"scale": self._scale, "misses": self._misses}

    def restore(self, state: dict[str, Any]) -> None:
        """Restore the state from a checkpoint."""
        self._scale, self._misses = state["scale"], state["misses"]


def scale_rates(optimizer: Optimizer, factor: float) -> None:
    """Set the learning rate of every parameter group to its initial rate times a factor."""
    for group in optimizer.param_groups:
        group["lr"] = group["initial_lr"] * factor
