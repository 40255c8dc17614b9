"""The runs of an experiment: rows x seeds at a budget, each with its complete settings."""

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

#: Settings that were added after results had been recorded: section, key, and the value that all earlier runs had
#: implicitly. A setting with that value is left out of the hash, so that earlier results keep their hashes; any other
#: value counts. The value here must not change even if the default does. Example:
#: ``("training", "label_smoothing", 0.0)``.
_ADDED_LATER: tuple[tuple[str, str, object], ...] = (("model", "slow_eigenvalues", False),)


#: Metrics of the trained recurrent matrix, not of the task: the mean gamma of nnRNN's Schur form, Henrici's departure
#: from normality divided by ||W||_F, and sigma_min / sigma_max of q(W).
LEARNED = ("mean_gamma", "non_normality", "singular_ratio")


@dataclass(frozen=True)
class RowOf:
    """A row of an experiment, with the metric and the measure by which its runs are compared."""

    experiment: Experiment
    row_name: str

    @property
    def row(self) -> Row:
        """The row itself."""
        return self.experiment.rows[self.row_name]

    @property
    def metric(self) -> str:
        """The name of the compared metric of the task."""
        return self.row.metric or self.experiment.metric

    @property
    def measure(self) -> Measure:
        """Which value of that metric is compared: see `Measure`."""
        return self.row.measure or self.experiment.measure

    @property
    def on_training_batches(self) -> bool:
        """Whether the measure is a loss on training batches, not a metric on the validation or test split."""
        return self.measure in ("lowest-train", "final-train")


@dataclass(frozen=True)
class Planned(RowOf):
    """One run: a row, a budget, a seed, and the settings that follow from them.

    Attributes:
        budget: smoke, hour or full.
        seed: the random seed.
        settings: by section; `config` completes them.
        shared: the run of another row, whose network is measured again with these settings; None if this run is
            trained itself.
    """

    budget: BudgetName
    seed: int
    settings: Settings
    shared: Planned | None = None

    @property
    def label(self) -> str:
        """A name made of experiment, row, budget and seed."""
        return f"{self.experiment.name}/{self.row_name}-{self.budget}-{self.seed}"

    @property
    def training(self) -> Planned:
        """The run whose training this one uses: another row's (`shared`), or this one."""
        return self.shared or self

    def config(self) -> Config:
        """Return the complete configuration.

        Raises:
            ConfigError: the settings are not valid; the message names the row.
        """
        try:
            return make_config(self.settings, papers=False)
        except ConfigError as error:
            raise ConfigError(f"{self.experiment.name}, row {self.row_name}, budget {self.budget}: {error}") from error

    def numerics(self) -> dict[str, int]:
        """Return the current versions of the arithmetic that this run's training uses."""
        return numerics_of(self.training.config())


def planned(experiment: Experiment, budget: BudgetName, only: Collection[str] = ()) -> list[Planned]:
    """List the runs of an experiment, of all rows or `only` some, ordered by seed and then by row."""
    rows = chosen(experiment, only)
    runs = [run for name in rows for run in runs_of_row(experiment, name, budget)]
    rank = {name: i for i, name in enumerate(experiment.rows)}
    return sorted(runs, key=lambda run: (run.seed, rank[run.row_name]))


def runs_of_row(experiment: Experiment, name: str, budget: BudgetName) -> list[Planned]:
    """List the runs of a row, one per seed; empty if the row is not run at this budget."""
    return [_planned(experiment, name, budget, seed) for seed in _seeds(experiment, experiment.rows[name], budget)]


def _planned(experiment: Experiment, name: str, budget: BudgetName, seed: int) -> Planned:
    row = experiment.rows[name]
    shared = None if row.trained_as is None else _planned(experiment, row.trained_as, budget, seed)
    return Planned(experiment, name, budget, seed, _settings(experiment, row, budget, seed), shared)


def chosen(experiment: Experiment, only: Collection[str]) -> dict[str, Row]:
    """Return the rows named in `only`, or all rows if it is empty; raises ConfigError for an unknown name."""
    for name in only:
        if name not in experiment.rows:
            rows = ", ".join(experiment.rows)
            raise unknown_name("row", name, experiment.rows, f"The rows of {experiment.name} are {rows}")
    return {name: row for name, row in experiment.rows.items() if not only or name in only}


def not_run(experiment: Experiment, budget: BudgetName) -> list[str]:
    """Return the names of the rows that are not run at a budget."""
    return [name for name, row in experiment.rows.items() if not _seeds(experiment, row, budget)]


def refuse_not_run(experiment: Experiment, budget: BudgetName, only: Collection[str]) -> None:
    """Raise a ConfigError if a row in `only` is not run at a budget."""
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
    """Merge the settings of the experiment, the row, the budget, the row's budget and the seed; later ones override."""
    own = row.budgets.get(budget, Budget()).settings
    shared = experiment.budgets.get(budget, Budget()).settings
    return merged(experiment.settings, row.settings, shared, own, {"training": {"seed": seed}})


def config_hash(config: Config) -> str:
    """Return a short hash of all settings that can change the results.

    `log_every` is one of them: the lowest training loss is taken over lines of metrics, each a mean over that many
    steps.
    """
    content = settings_without({Effect.PLACE}, config.as_dict())
    for section, key, before in _ADDED_LATER:
        if content[section].get(key, before) == before:
            content[section].pop(key, None)
    return short_hash(content)


def short_hash(content: object) -> str:
    """Return the first twelve hexadecimal digits of the SHA-256 of settings."""
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:12]
