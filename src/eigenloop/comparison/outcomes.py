"""Summarise the runs of a row at one budget.

Note [Which runs count]
    A row gets its number from an analysis, or from runs at budget hour or full; smoke runs only show that a command
    works. The largest budget with a number is shown. Only the seeds that finished count; if none did, the unfinished
    ones; if training diverged with all of them, the row has diverged. A run that was stopped before its test has no
    test result: its best value on the curve is shown instead, and marked as such.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from eigenloop.comparison.paper_settings import Change, Plan
from eigenloop.experiments import Record
from eigenloop.experiments.schema import BudgetName

#: Budgets that give a row its number, the preferred one first.
COUNTING: tuple[BudgetName, ...] = ("full", "hour")

_SIZES = ("model.hidden_size", "model.num_layers", "model.short")

Status = Literal["computed", "complete", "unfinished", "diverged"]


@dataclass(frozen=True)
class Progress:
    """How far runs have been trained.

    Attributes:
        unit: the unit of the counts below.
        done: the minimum and the maximum over the runs.
        planned: the length that the budget plans; None if that is not known.
        paper: the paper's length, which is that of budget full.
    """

    unit: Literal["steps", "epochs"]
    done: tuple[float, float]
    planned: float | None
    paper: float | None


@dataclass(frozen=True)
class Outcome:
    """The result of a row at one budget, in the unit that is shown.

    Attributes:
        runs: those that count, see Note [Which runs count], ordered by seed.
        mean: the mean of their numbers; None if there are none.
        along_the_way: if there are none, the mean of the best values on the curves.
        spread: standard deviation over seeds; None for one seed.
        diverged: how many of all runs reached NaN.
        unfinished: how many of all runs did not finish.
        total: how many runs there are.
        changed: settings, other than the length, that differ from the paper's.
        outdated: whether the settings of the experiment have changed since some run was made.
        revisions: what has changed in the arithmetic since some run was made; if not empty, the outcome is stale.
    """

    budget: BudgetName
    status: Status
    runs: tuple[Record, ...]
    mean: float | None
    spread: float | None
    along_the_way: float | None
    diverged: int
    unfinished: int
    total: int
    progress: Progress | None
    changed: tuple[Change, ...] = ()
    outdated: bool = False
    revisions: tuple[str, ...] = ()

    @property
    def shorter(self) -> bool:
        """Whether training was planned to be shorter than the paper's, or its planned length is unknown."""
        if self.progress is None:
            return False
        planned, paper = self.progress.planned, self.progress.paper
        return planned is None or paper is None or planned < paper

    @property
    def comparable(self) -> bool:
        """Whether the number is for the paper's task at the paper's length."""
        return self.status in ("computed", "complete") and not (self.shorter or self.other_task)

    @property
    def other_task(self) -> tuple[Change, ...]:
        """The changed settings that make the task differ from the paper's."""
        return tuple(change for change in self.changed if change.key.startswith("task."))

    @property
    def other_size(self) -> tuple[Change, ...]:
        """The changed settings that make the network larger or smaller than the paper's."""
        return tuple(change for change in self.changed if change.key in _SIZES)

    @property
    def baseline(self) -> float | None:
        """The baseline of the task (the result of guessing) as the runs recorded it, not scaled."""
        return next((run.baseline for run in self.runs if run.baseline is not None), None)

    @property
    def parameters(self) -> int | None:
        """The number of parameters of our network."""
        return next((run.parameters for run in self.runs if run.parameters is not None), None)


def outcomes_of(runs: Sequence[Record], plan: Plan, scale: float) -> dict[BudgetName, Outcome]:
    """Return the outcome of a row for each budget with runs; numbers are multiplied by `scale` for display."""
    by_budget: dict[BudgetName, Outcome] = {}
    for budget in COUNTING:
        own = [run for run in runs if run.budget == budget]
        measured = [run for run in own if run.value is not None or run.status == "diverged" or run.curve]
        if measured:
            by_budget[budget] = _outcome(budget, measured, plan, scale)
    return by_budget


def _outcome(budget: BudgetName, runs: Sequence[Record], plan: Plan, scale: float) -> Outcome:
    status, counting = _counting(runs)
    values = [run.value * scale for run in counting if run.value is not None]
    reached = [] if values else _reached(counting, plan.experiment.higher_is_better)
    changes = {change.key: change for run in counting for change in plan.changes(run)}
    return Outcome(
        budget=budget,
        status=status,
        runs=tuple(sorted(counting, key=lambda run: run.seed)),
        mean=statistics.fmean(values) if values else None,
        spread=statistics.stdev(values) if len(values) > 1 else None,
        along_the_way=statistics.fmean(reached) * scale if reached else None,
        diverged=sum(run.status == "diverged" for run in runs),
        unfinished=sum(not run.complete for run in runs),
        total=len(runs),
        progress=_progress(counting, plan),
        changed=tuple(changes.values()),
        outdated=any(plan.outdated(run) for run in counting),
        revisions=tuple(dict.fromkeys(revision for run in counting for revision in plan.revisions(run))),
    )


def _reached(runs: Sequence[Record], higher_is_better: bool) -> list[float]:
    """Return the best value on the curve of each run that has one."""
    best = max if higher_is_better else min
    curves = [[value for _, value in run.curve if value is not None] for run in runs]
    return [best(values) for values in curves if values]


def _counting(runs: Sequence[Record]) -> tuple[Status, list[Record]]:
    """Choose the runs whose numbers are shown, see Note [Which runs count]."""
    computed = [run for run in runs if run.status == "computed"]
    if computed:
        return "computed", computed
    healthy = [run for run in runs if run.status != "diverged"]
    complete = [run for run in healthy if run.complete]
    if complete:
        return "complete", complete
    return ("unfinished", healthy) if healthy else ("diverged", list(runs))


def _progress(runs: Sequence[Record], plan: Plan) -> Progress | None:
    analysis = plan.experiment.analysis
    if analysis is not None:
        if analysis.steps is None:
            return None
        own = float(analysis.options["steps"])
        return Progress("steps", (own, own), own, analysis.steps)
    epochs = [run.epochs for run in runs if run.epochs is not None]
    if plan.steps is None and plan.epochs is not None and len(epochs) == len(runs):
        return Progress("epochs", (min(epochs), max(epochs)), _planned_epochs(runs), plan.epochs)
    steps = [run.steps for run in runs]
    planned = [run.planned_steps for run in runs if run.planned_steps is not None]
    return Progress("steps", (min(steps), max(steps)), min(planned, default=None), plan.steps)


def _planned_epochs(runs: Sequence[Record]) -> float | None:
    """Return the fewest epochs that the runs planned; planned steps are converted with each run's steps per epoch."""
    planned_epochs = []
    for run in runs:
        epochs = run.config.get("training", {}).get("epochs")
        if epochs is not None:
            planned_epochs.append(float(epochs))
        elif run.planned_steps is not None and run.steps and run.epochs:
            planned_epochs.append(run.planned_steps * run.epochs / run.steps)
    return min(planned_epochs, default=None)
