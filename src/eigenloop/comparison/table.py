"""Rows of the papers with the results of our runs, as numbers; `wording` turns them into text."""

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
    """A row of an experiment with the published number and ours.

    Attributes:
        hours: the time of one seed at the paper's length; None if that was not measured, or nothing is trained.
    """

    plan: Plan
    outcomes: Mapping[BudgetName, Outcome]
    hours: float | None = None

    @property
    def outcome(self) -> Outcome | None:
        """The outcome that is shown: of the largest budget with a number or a divergence, else of the largest."""
        candidates = [self.outcomes[budget] for budget in COUNTING if budget in self.outcomes]
        told = [outcome for outcome in candidates if outcome.mean is not None or outcome.status == "diverged"]
        return next(iter(told or candidates), None)

    @property
    def filled(self) -> bool:
        """Whether there is a result to show."""
        return self.outcome is not None

    def curve_of(self, run: Record) -> list[tuple[int, float | None]]:
        """Return the curve of a run by which rows are compared: on training batches, or on the validation split."""
        return run.train_curve if self.on_training_batches else run.curve

    @property
    def percent(self) -> bool:
        """Whether numbers are shown as percentages: accuracies, unless the paper prints fractions."""
        return self.metric == "accuracy" and (self.row.published is None or self.row.published > 1)

    @property
    def scale(self) -> float:
        """The factor by which our numbers are multiplied before they are shown."""
        return 100.0 if self.percent else 1.0

    @property
    def published(self) -> float | None:
        """The paper's number."""
        return self.row.published

    def bound(self, value: float) -> float:
        """Return the bound of a claim in the unit that is shown; a bound on accuracy may be given as a fraction."""
        return value * 100 if self.percent and value <= 1 else value

    @property
    def ratio(self) -> float | None:
        """Our number divided by the published one; None if they are not comparable or a sign makes it meaningless."""
        if not self.comparable or self.outcome is None or self.outcome.mean is None or self.published is None:
            return None
        return self.outcome.mean / self.published if self.published > 0 and self.outcome.mean >= 0 else None

    @property
    def comparable(self) -> bool:
        """Whether our number is for the paper's task at the paper's length."""
        return self.outcome is not None and self.outcome.comparable

    @property
    def standing(self) -> Standing | None:
        """How our number, rounded as in the paper, compares; a computed number is "same" or "differs"."""
        if not self.comparable or self.outcome is None or self.outcome.mean is None or self.published is None:
            return None
        if rounds_to(self.outcome.mean, self.published):
            return "same"
        if self.outcome.status == "computed" or self.metric in LEARNED:
            return "differs"
        return "better" if (self.outcome.mean > self.published) == self.experiment.higher_is_better else "worse"


@dataclass(frozen=True)
class Sheet:
    """All rows of an experiment.

    Attributes:
        lines: the rows of the paper, which are counted and judged.
        tuned: rows with settings of ours, which stand beside them.
    """

    experiment: Experiment
    lines: tuple[Line, ...]
    tuned: tuple[Line, ...] = ()

    @property
    def filled(self) -> int:
        """How many rows have a result."""
        return sum(line.filled for line in self.lines)

    @property
    def run(self) -> tuple[Line, ...]:
        """The rows with a result."""
        return tuple(line for line in self.lines if line.filled)

    @property
    def shown(self) -> tuple[Line, ...]:
        """The rows with a result, those with settings of ours last."""
        return (*self.run, *(line for line in self.tuned if line.filled))

    @property
    def numbers(self) -> bool:
        """Whether the paper prints a number for any row with a result."""
        return any(line.published is not None for line in self.run)

    @property
    def command(self) -> str:
        """The command that computes the complete table at the paper's length."""
        budget = "" if self.experiment.analysis is not None else " --budget full"
        return f"eigenloop reproduce {self.experiment.name}{budget}"

    def line(self, name: str) -> Line:
        """Return a row by its name."""
        return next(line for line in self.lines if line.row_name == name)


def compare(experiments: Iterable[Experiment], results: Path) -> tuple[Sheet, ...]:
    """Return a sheet for each experiment with published and our results, in the order of the papers and tables.

    Raises:
        RunError: the folder does not exist, or a file in it is damaged.
    """
    if not results.is_dir():
        raise RunError(f"there is no folder {results}: name the one that eigenloop reproduce wrote with --results")
    hours = costs.read(results)
    return tuple(_sheet(experiment, results, hours) for experiment in sorted(experiments, key=_place))


def rounds_to(ours: float, published: float) -> bool:
    """Whether a number rounds to the published one at its printed digits.

    At least three significant digits are compared, since a float does not keep the trailing zeros of the print.

    >>> rounds_to(5.1873, 5.19), rounds_to(5.18, 5.19), rounds_to(1.0224e-5, 1.022e-5), rounds_to(12.2, 12.0)
    (True, False, True, False)
    """
    digits, _, exponent = repr(published).partition("e")
    decimals = len(digits.partition(".")[2].rstrip("0")) - int(exponent or 0)
    if published:
        decimals = max(decimals, 2 - math.floor(math.log10(abs(published))))
    return round(ours, decimals) == round(published, decimals)


def _place(experiment: Experiment) -> tuple[Any, ...]:
    """Return the sort key: the paper, then the name in natural order (figure 2 before figure 10)."""
    ours = [paper.name for paper in PAPERS]
    paper = ours.index(experiment.paper) if experiment.paper in ours else len(ours)
    return (
        paper,
        experiment.paper,
        tuple(int(part) if part.isdigit() else part for part in re.split(r"(\d+)", experiment.name)),
    )


def _sheet(experiment: Experiment, results: Path, hours: Mapping[str, float]) -> Sheet:
    lines = [_line(experiment, name, results, hours) for name in experiment.rows]
    return Sheet(
        experiment,
        tuple(line for line in lines if line.row.tuned is None),
        tuple(line for line in lines if line.row.tuned is not None),
    )


def _line(experiment: Experiment, name: str, results: Path, hours: Mapping[str, float]) -> Line:
    line = Line(experiment, name, plan_of(experiment, name), {}, hours.get(f"{experiment.name}/{name}"))
    runs = records.read(results, experiment.name, name)
    return replace(line, outcomes=outcomes_of(runs, line.plan, line.scale))
