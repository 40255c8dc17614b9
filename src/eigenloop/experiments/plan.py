"""From an experiment to the runs that it takes."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection
from dataclasses import dataclass

from eigenloop.errors import unknown_name
from eigenloop.experiments.schema import BUDGETS, Budget, BudgetName, Experiment, Measure, Row, Settings
from eigenloop.runs.effects import Effect, settings_without
from eigenloop.training import Config, ConfigError, make_config
from eigenloop.training.numerics import numerics_of
from eigenloop.training.settings.merging import merged

#: Settings that came after results had been kept: section, key, and the value that every run before had without saying
#: so. With that value they are left out, so that a new setting does not make all results those of other settings; with
#: any other value they count. The value stays as it is here even if the default changes. An example would be
#: ``("training", "label_smoothing", 0.0)``.
_ADDED_LATER: tuple[tuple[str, str, object], ...] = ()


#: Metrics of the trained recurrent matrix, not of the task: the mean gamma of nnRNN's Schur form, Henrici's departure
#: from normality over the size of W, and sigma_min / sigma_max of q(W).
LEARNED = ("mean_gamma", "non_normality", "singular_ratio")


@dataclass(frozen=True)
class RowOf:
    """A row of an experiment, and what of its runs is compared."""

    experiment: Experiment
    row_name: str

    @property
    def row(self) -> Row:
        """The row as the experiment has it."""
        return self.experiment.rows[self.row_name]

    @property
    def metric(self) -> str:
        """Which of the task's metrics is compared."""
        return self.row.metric or self.experiment.metric

    @property
    def measure(self) -> Measure:
        """What of a run is compared."""
        return self.row.measure or self.experiment.measure

    @property
    def on_training_batches(self) -> bool:
        """Whether that is a loss on training batches, not a metric on a part held out."""
        return self.measure in ("lowest-train", "final-train")


@dataclass(frozen=True)
class Planned(RowOf):
    """One run: a row, a budget and a seed, and the settings that they make.

    Attributes:
        shared: the run of another row, whose network is measured again with these settings; None where this run has a
            training of its own.
    """

    budget: BudgetName
    seed: int
    settings: Settings
    shared: Planned | None = None

    @property
    def label(self) -> str:
        """Experiment, row, budget and seed as one name."""
        return f"{self.experiment.name}/{self.row_name}-{self.budget}-{self.seed}"

    @property
    def training(self) -> Planned:
        """The run that is trained for this one: another row's, or this one."""
        return self.shared or self

    def config(self) -> Config:
        """Complete the settings; an error names the row."""
        try:
            return make_config(self.settings, papers=False)
        except ConfigError as error:
            raise ConfigError(f"{self.experiment.name}, row {self.row_name}, budget {self.budget}: {error}") from error

    def numerics(self) -> dict[str, int]:
        """Return the versions of the arithmetic with which this run would be trained now."""
        return numerics_of(self.training.config())


def planned(experiment: Experiment, budget: BudgetName, only: Collection[str] = ()) -> list[Planned]:
    """List the runs of an experiment, seed by seed, so that every row has one before any has two."""
    rows = chosen(experiment, only)
    runs = [run for name in rows for run in runs_of_row(experiment, name, budget)]
    rank = {name: i for i, name in enumerate(experiment.rows)}
    return sorted(runs, key=lambda run: (run.seed, rank[run.row_name]))


def runs_of_row(experiment: Experiment, name: str, budget: BudgetName) -> list[Planned]:
    """List the runs of a row, one a seed; none where the row is not run at this budget."""
    return [_planned(experiment, name, budget, seed) for seed in _seeds(experiment, experiment.rows[name], budget)]


def _planned(experiment: Experiment, name: str, budget: BudgetName, seed: int) -> Planned:
    row = experiment.rows[name]
    shared = None if row.trained_as is None else _planned(experiment, row.trained_as, budget, seed)
    return Planned(experiment, name, budget, seed, _settings(experiment, row, budget, seed), shared)


def chosen(experiment: Experiment, only: Collection[str]) -> dict[str, Row]:
    """Return the rows that are named, all if none is; refuse a name that is none."""
    for name in only:
        if name not in experiment.rows:
            rows = ", ".join(experiment.rows)
            raise unknown_name("row", name, experiment.rows, f"The rows of {experiment.name} are {rows}")
    return {name: row for name, row in experiment.rows.items() if not only or name in only}


def not_run(experiment: Experiment, budget: BudgetName) -> list[str]:
    """Return the rows of which nothing is run at a budget."""
    return [name for name, row in experiment.rows.items() if not _seeds(experiment, row, budget)]


def refuse_not_run(experiment: Experiment, budget: BudgetName, only: Collection[str]) -> None:
    """Refuse rows that are named but not run at a budget."""
    if missing := [name for name in not_run(experiment, budget) if name in only]:
        others = [other for other in BUDGETS if not set(missing) & set(not_run(experiment, other))]
        are = "is" if len(missing) == 1 else "are"
        raise ConfigError(
            f"{', '.join(missing)} of {experiment.name} {are} not run at budget {budget}",
            f"choose budget {' or '.join(others)}" if others else "choose other rows",
        )


def _seeds(experiment: Experiment, row: Row, budget: BudgetName) -> tuple[int, ...]:
    given = (budgets.get(budget, Budget()).seeds for budgets in (row.budgets, experiment.budgets))
    return next((seeds for seeds in given if seeds is not None), (0,))


def _settings(experiment: Experiment, row: Row, budget: BudgetName, seed: int) -> Settings:
    """Put settings together: the experiment's, the row's, the budget's, the row's for this budget; then the seed."""
    own = row.budgets.get(budget, Budget()).settings
    shared = experiment.budgets.get(budget, Budget()).settings
    return merged(experiment.settings, row.settings, shared, own, {"training": {"seed": seed}})


def config_hash(config: Config) -> str:
    """Return a short hash of all settings that can change the numbers.

    `log_every` does: the lowest training loss is that of a line of metrics, a mean over this many steps.
    """
    content = settings_without({Effect.PLACE}, config.as_dict())
    for section, key, before in _ADDED_LATER:
        if content[section].get(key, before) == before:
            content[section].pop(key, None)
    return short_hash(content)


def short_hash(content: object) -> str:
    """Return twelve digits that stand for settings."""
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:12]
