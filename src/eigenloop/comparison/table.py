"""Rows of the papers with what our runs found: numbers only, how they are written is elsewhere."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from eigenloop.comparison import costs
from eigenloop.comparison.outcomes import COUNTING, Outcome, outcomes_of
from eigenloop.comparison.paper_settings import Plan, plan_of
from eigenloop.comparison.papers import PAPERS
from eigenloop.experiments import Experiment, Record, records
from eigenloop.experiments.plan import LEARNED, RowOf
from eigenloop.experiments.schema import BudgetName
from eigenloop.training import RunError

Standing = Literal["same", "better", "worse", "differs"]


@dataclass(frozen=True)
class Line(RowOf):
    """A row of an experiment, published beside ours.

    Attributes:
        hours: what one seed takes at the paper's length; None where that was not measured, or nothing is trained.
    """

    plan: Plan
    outcomes: Mapping[BudgetName, Outcome]
    hours: float | None = None

    @property
    def outcome(self) -> Outcome | None:
        """What is shown: that of the largest budget with a number, or that diverged."""
        candidates = [self.outcomes[budget] for budget in COUNTING if budget in self.outcomes]
        told = [outcome for outcome in candidates if outcome.mean is not None or outcome.status == "diverged"]
        return next(iter(told or candidates), None)

    @property
    def filled(self) -> bool:
        """Whether there is something to show."""
        return self.outcome is not None

    def curve_of(self, run: Record) -> list[tuple[int, float | None]]:
        """Return the curve of a run along which the row is compared."""
        return run.train_curve if self.on_training_batches else run.curve

    @property
    def percent(self) -> bool:
        """Whether numbers are shown in percent: accuracies, unless the paper prints fractions."""
        return self.metric == "accuracy" and (self.row.published is None or self.row.published > 1)

    @property
    def scale(self) -> float:
        """What our numbers are multiplied with before they are shown."""
        return 100.0 if self.percent else 1.0

    @property
    def published(self) -> float | None:
        """The paper's number."""
        return self.row.published

    def bound(self, value: float) -> float:
        """Return the bound of a claim in the unit that is shown; of accuracies it may be given as a fraction."""
        return value * 100 if self.percent and value <= 1 else value

    @property
    def ratio(self) -> float | None:
        """Ours over the published number; None where they cannot be compared or the sign makes it meaningless."""
        if not self.comparable or self.outcome is None or self.outcome.mean is None or self.published is None:
            return None
        return self.outcome.mean / self.published if self.published > 0 and self.outcome.mean >= 0 else None

    @property
    def comparable(self) -> bool:
        """Whether ours is a number of the paper's task at the paper's length."""
        outcome = self.outcome
        return (
            outcome is not None
            and outcome.status in ("computed", "complete")
            and not (outcome.shorter or outcome.other_task)
        )

    @property
    def standing(self) -> Standing | None:
        """Whether ours, rounded as the paper rounds, is the same, better or worse; what is computed differs or not."""
        if not self.comparable or self.outcome is None or self.outcome.mean is None or self.published is None:
            return None
        if rounds_to(self.outcome.mean, self.published):
            return "same"
        if self.outcome.status == "computed" or self.metric in LEARNED:
            return "differs"
        return "better" if (self.outcome.mean > self.published) == self.experiment.higher_is_better else "worse"


@dataclass(frozen=True)
class Sheet:
    """All rows of an experiment."""

    experiment: Experiment
    lines: tuple[Line, ...]

    @property
    def filled(self) -> int:
        """How many rows have a result."""
        return sum(line.filled for line in self.lines)

    @property
    def run(self) -> tuple[Line, ...]:
        """The rows with a result."""
        return tuple(line for line in self.lines if line.filled)

    @property
    def numbers(self) -> bool:
        """Whether the paper prints a number for any row with a result."""
        return any(line.published is not None for line in self.run)

    @property
    def command(self) -> str:
        """What makes the whole table, at the paper's length."""
        budget = "" if self.experiment.analysis is not None else " --budget full"
        return f"eigenloop reproduce {self.experiment.name}{budget}"

    def line(self, name: str) -> Line:
        """Return a row by its name."""
        return next(line for line in self.lines if line.row_name == name)


def compare(experiments: Iterable[Experiment], results: Path) -> tuple[Sheet, ...]:
    """Put the results beside what was published, in the order of the papers and of their tables.

    Raises:
        RunError: there is no such folder, or a file in it is damaged.
    """
    if not results.is_dir():
        raise RunError(f"there is no folder {results}: name the one that eigenloop reproduce wrote with --results")
    hours = costs.read(results)
    return tuple(_sheet(experiment, results, hours) for experiment in sorted(experiments, key=_place))


def rounds_to(ours: float, published: float) -> bool:
    """Whether a number is the published one to its printed digits, at least three: a zero at the end is not kept.

    >>> rounds_to(5.1873, 5.19), rounds_to(5.18, 5.19), rounds_to(1.0224e-5, 1.022e-5), rounds_to(12.2, 12.0)
    (True, False, True, False)
    """
    digits, _, exponent = repr(published).partition("e")
    decimals = len(digits.partition(".")[2].rstrip("0")) - int(exponent or 0)
    if published:
        decimals = max(decimals, 2 - math.floor(math.log10(abs(published))))
    return round(ours, decimals) == round(published, decimals)


def _place(experiment: Experiment) -> tuple[Any, ...]:
    """Sort by paper, then by name as people do: figure 2 before figure 10."""
    ours = [paper.name for paper in PAPERS]
    paper = ours.index(experiment.paper) if experiment.paper in ours else len(ours)
    return (
        paper,
        experiment.paper,
        tuple(int(part) if part.isdigit() else part for part in re.split(r"(\d+)", experiment.name)),
    )


def _sheet(experiment: Experiment, results: Path, hours: Mapping[str, float]) -> Sheet:
    return Sheet(experiment, tuple(_line(experiment, name, results, hours) for name in experiment.rows))


def _line(experiment: Experiment, name: str, results: Path, hours: Mapping[str, float]) -> Line:
    line = Line(experiment, name, plan_of(experiment, name), {}, hours.get(f"{experiment.name}/{name}"))
    runs = records.read(results, experiment.name, name)
    return replace(line, outcomes=outcomes_of(runs, line.plan, line.scale))
