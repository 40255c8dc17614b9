"""What is compared of the runs of a row: their numbers, or how many steps they needed."""

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
        spread: standard deviation over seeds; 0 where it is not known.
        count: how many seeds there are.
        missed: of steps, how many seeds never got there; their whole length is counted in their place.
    """

    mean: float
    spread: float = 0.0
    count: int = 1
    missed: int = 0


def numbers_of(outcome: Outcome) -> Quantity | None:
    """Return the numbers of a row in the unit that is shown; None where nothing was measured."""
    return None if outcome.mean is None else Quantity(outcome.mean, outcome.spread or 0.0, len(outcome.runs))


def steps_until(line: Line, outcome: Outcome, level: float) -> Quantity | None:
    """Return after how many steps the curves of a row first get to a level; None where there are no curves.

    The spread is at least the distance of two points of a curve: between them it cannot be told when.
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
