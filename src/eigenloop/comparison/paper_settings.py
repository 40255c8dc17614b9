"""The paper's settings for a row, and where the settings of a run differ from them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from eigenloop.experiments import Experiment, Record, runs_of_row
from eigenloop.experiments.plan import config_hash, short_hash
from eigenloop.experiments.schema import BudgetName
from eigenloop.numerics import revised_since, versions
from eigenloop.report import names
from eigenloop.runs.effects import Effect, effect

#: Settings with these effects make it a different experiment; the training length is shown separately.
_COMPARED = (Effect.NUMBERS, Effect.SAMPLE)
_BUDGETS: tuple[BudgetName, ...] = ("full", "hour")


@dataclass(frozen=True)
class Change:
    """A setting of a run that differs from the paper's."""

    key: str
    ours: Any
    paper: Any

    def __str__(self) -> str:
        return f"{self.key} {names.setting(self.ours)}, in the paper {names.setting(self.paper)}"


@dataclass(frozen=True)
class Plan:
    """How a row is run with the paper's settings.

    Attributes:
        budgets: those at which it is run; empty for an analysis, and for a number that a paper only quotes.
        settings: the settings at budget full, the paper's size, by section; empty if the row is never run.
        splits: the splits of the task that are measured.
    """

    experiment: Experiment
    row: str
    budgets: tuple[BudgetName, ...]
    settings: Mapping[str, Mapping[str, Any]]
    splits: tuple[str, ...] = ()

    @property
    def steps(self) -> int | None:
        """Training steps in the paper."""
        return self.settings.get("training", {}).get("steps")

    @property
    def epochs(self) -> float | None:
        """Epochs in the paper."""
        return self.settings.get("training", {}).get("epochs")

    def changes(self, run: Record) -> list[Change]:
        """List the settings of a run, other than its length, that differ from the paper's."""
        ours, paper = _flat(run.config), _flat(self.settings)
        return [
            Change(key, ours[key], paper[key])
            for key in ours
            if key in paper and effect(key) in _COMPARED and ours[key] != paper[key]
        ]

    def revisions(self, run: Record) -> list[str]:
        """List what has changed in the arithmetic since a run was made; the run is stale if anything has."""
        analysis = self.experiment.analysis
        if analysis is not None:
            return revised_since(run.numerics, versions(analysis.trains))
        plans = runs_of_row(self.experiment, self.row, run.budget)
        return revised_since(run.numerics, plans[0].numerics()) if plans else []

    def outdated(self, run: Record) -> bool:
        """Whether the settings of the row have changed since a run was made."""
        analysis = self.experiment.analysis
        if analysis is not None:
            return run.config_hash != short_hash({"analysis": {"name": analysis.name, **analysis.options}})
        return any(
            config_hash(plan.config()) != run.config_hash
            for plan in runs_of_row(self.experiment, self.row, run.budget)
            if plan.seed == run.seed
        )


def plan_of(experiment: Experiment, row: str) -> Plan:
    """Return the plan of a row, with its settings at the largest budget that runs it."""
    if experiment.analysis is not None:
        return Plan(experiment, row, (), {})
    runs = {budget: row_runs for budget in _BUDGETS if (row_runs := runs_of_row(experiment, row, budget))}
    largest = next((runs[budget][0] for budget in _BUDGETS if budget in runs), None)
    if largest is None:
        return Plan(experiment, row, tuple(runs), {})
    config = largest.config()
    return Plan(experiment, row, tuple(runs), json.loads(json.dumps(config.as_dict())), tuple(config.task.splits))


def _flat(settings: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    return {f"{section}.{key}": value for section, values in settings.items() for key, value in values.items()}
