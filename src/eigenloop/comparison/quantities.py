"""The quantities by which rows are compared: their numbers, or the steps needed to reach a level."""

from __future__ import annotations

import itertools
import statistics
from dataclasses import dataclass

from eigenloop.comparison.outcomes import Outcome
from eigenloop.comparison.table import Line


@dataclass(frozen=True)
class Quantity:
    """A mean over seeds.

    Attributes:
        spread: standard deviation over seeds; 0 if it is not known.
        count: how many seeds there are.
        missed: for steps until a level, how many seeds never reached it; each counts with its full length.
    """

    mean: float
    spread: float = 0.0
    count: int = 1
    missed: int = 0


def numbers_of(outcome: Outcome) -> Quantity | None:
    """Return mean and spread of a row in the unit that is shown; None if nothing was measured."""
    return None if outcome.mean is None else Quantity(outcome.mean, outcome.spread or 0.0, len(outcome.runs))


def steps_until(line: Line, outcome: Outcome, level: float) -> Quantity | None:
    """Return after how many steps the curves of a row first reach a level; None if a run has no curve.

    The spread is at least the largest distance between two points of a curve, which limits the resolution.
    """
    higher = line.experiment.higher_is_better
    steps, missed, distance = [], 0, 0
    for run in outcome.runs:
        curve = [(step, value * line.scale) for step, value in line.curve_of(run) if value is not None]
        if not curve:
            return None
        reached = [step for step, value in curve if (value >= level if higher else value <= level)]
        steps.append(float(reached[0] if reached else curve[-1][0]))
        missed += not reached
        distance = max([distance, *(after - before for (before, _), (after, _) in itertools.pairwise(curve))])
    spread = statistics.stdev(steps) if len(steps) > 1 else 0.0
    return Quantity(statistics.fmean(steps), max(spread, float(distance)), len(steps), missed)
