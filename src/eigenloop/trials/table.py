"""The results of a comparison: mean and standard deviation of the scores, size and time of every combination."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from eigenloop.runs import read_summary
from eigenloop.tasks import Sequences
from eigenloop.trials.plan import Combination, Plan, Trial
from eigenloop.trials.running import folder_of, is_done

#: The metrics by which combinations are compared, and whether higher is better.
MEASURES = {"accuracy": True, "rmse": False}


@dataclass(frozen=True)
class Spread:
    """Values of several runs, with their mean and sample standard deviation."""

    values: tuple[float, ...]

    @property
    def mean(self) -> float:
        """The mean; NaN if there are no values."""
        return statistics.fmean(self.values) if self.values else math.nan

    @property
    def deviation(self) -> float | None:
        """The sample standard deviation, sqrt(sum (x - mean)^2 / (N - 1)); None for fewer than two values."""
        return statistics.stdev(self.values) if len(self.values) > 1 else None


@dataclass(frozen=True)
class Row:
    """The results of one combination.

    Attributes:
        combination: the model and its bit width.
        score: the scores that decide: on the held-out folds, or on the validation split if there are no folds.
        test: the scores on the test split if there are no folds; they are shown but choose nothing.
        seconds: the training times.
        runs: the entry of every run in ``compare.json``.
    """

    combination: Combination
    score: Spread
    test: Spread
    seconds: Spread
    runs: tuple[dict[str, Any], ...]

    @property
    def missing(self) -> int:
        """Number of runs without a score: not done yet, failed or diverged."""
        return len(self.runs) - len(self.score.values)

    @property
    def units(self) -> int | tuple[int, ...]:
        """The hidden size."""
        return self.combination.config.network.hidden_size

    def as_dict(self) -> dict[str, Any]:
        """Return the row's entry in ``compare.json``."""
        row: dict[str, Any] = {
            "model": self.combination.model,
            "bits": self.combination.bits,
            "hidden_size": self.units,
            "parameters": self.combination.parameters,
            "bytes": self.combination.bytes,
        }
        for name, spread in (("score", self.score), ("test", self.test), ("seconds", self.seconds)):
            if spread.values:
                row[name] = {"mean": spread.mean, "deviation": spread.deviation, "count": len(spread.values)}
        return {**row, "runs": list(self.runs)}


@dataclass(frozen=True)
class Table:
    """The results of a comparison.

    Attributes:
        plan: the comparison.
        measure: ``accuracy`` or ``rmse``.
        rows: one row for each combination, best first.
    """

    plan: Plan
    measure: str
    rows: tuple[Row, ...]

    @property
    def higher_is_better(self) -> bool:
        """Whether higher values of the measure are better."""
        return MEASURES[self.measure]

    @property
    def decided_by(self) -> str:
        """On which data the score was measured, in words."""
        return "validation" if self.plan.folds is None else "held-out fold"

    def as_dict(self) -> dict[str, Any]:
        """Return the content of ``compare.json``."""
        task, plan = self.plan.task, self.plan
        assert task.data is not None
        return {
            "data": task.data.name,
            "sha256": task.sha256,
            "kind": task.known_kind,
            "read": task.introduction() if plan.folds is None else task.introduction()[:-1],
            "folds": plan.folds,
            "seeds": list(plan.seeds),
            "measure": self.measure,
            "decided_by": self.decided_by,
            "rows": [row.as_dict() for row in self.rows],
        }


def tabulated(plan: Plan, out: Path) -> Table:
    """Read the results of the runs of a plan so far and return them as a table."""
    trials = list(plan.trials())
    measure = _measure(plan.task)
    rows = [
        _row(combination, [trial for trial in trials if trial.combination is combination], out, measure)
        for combination in plan.combinations
    ]
    sign = -1 if MEASURES[measure] else 1
    order = sorted(rows, key=lambda row: (not row.score.values, sign * row.score.mean if row.score.values else 0))
    return Table(plan, measure, tuple(order))


def _measure(task: Sequences) -> str:
    return "accuracy" if task.known_kind.endswith("class") else "rmse"


def _row(combination: Combination, trials: Sequence[Trial], out: Path, measure: str) -> Row:
    runs, scores, tests, seconds = [], [], [], []
    for trial in trials:
        folder = folder_of(trial, out)
        summary = read_summary(folder) if is_done(folder) else None
        run: dict[str, Any] = {"fold": trial.fold, "seed": trial.seed, "folder": f"runs/{trial.name}"}
        run |= {"status": "not done" if summary is None else summary.status}
        if summary is not None:
            valid, test = _value(summary.best, measure), _value(summary.test, measure)
            run |= {"valid": valid, "test": test, "steps": summary.steps, "seconds": summary.seconds}
            score = valid if trial.fold is None else test
            # A run that diverged has no score, whatever it had reached before.
            if score is not None and summary.status != "diverged":
                scores.append(score)
                seconds.append(summary.seconds)
                if trial.fold is None and test is not None:
                    tests.append(test)
        runs.append(run)
    return Row(combination, Spread(tuple(scores)), Spread(tuple(tests)), Spread(tuple(seconds)), tuple(runs))


def _value(numbers: dict[str, Any] | None, measure: str) -> float | None:
    value = (numbers or {}).get(measure)
    return None if value is None else float(value)
