"""The schema of an experiment file: a published table or figure, row by row, and how to run it."""

from __future__ import annotations

import math
import re
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, field_validator, model_validator

from eigenloop.training.settings.sections import SECTIONS

BudgetName = Literal["smoke", "hour", "full"]
BUDGETS: tuple[BudgetName, ...] = ("smoke", "hour", "full")


def known_sections(settings: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Validate the names of sections: raise a ValueError for one that no configuration has."""
    for section in settings:
        if section not in SECTIONS:
            raise ValueError(f"there is no section {section!r}: the sections are {', '.join(SECTIONS)}")
    return settings


Settings = Annotated[dict[str, dict[str, Any]], AfterValidator(known_sections)]

#: Which value of a run is compared: on the test split with the network that was best on the validation split; on the
#: validation split, the best or the last; or the smoothed loss on training batches, the lowest or the last.
Measure = Literal["test", "best", "final", "lowest-train", "final-train"]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False, use_attribute_docstrings=True)


def _listed(given: object) -> object:
    """Wrap a single name or a single claim in a tuple."""
    return (given,) if isinstance(given, (str, dict)) else given


_Rows = Annotated[tuple[str, ...], BeforeValidator(_listed)]


class Claim(_Strict):
    """A statement of a paper about a row, in a form that measured numbers can confirm or refute."""

    below: float | None = None
    """Our number is below this."""
    above: float | None = None
    """Our number is above this."""
    below_row: _Rows = ()
    """Our number is below that of another row of the experiment, or of each of several."""
    above_row: _Rows = ()
    """Our number is above that of each of these rows."""
    matches: _Rows = ()
    """Our number is no worse than that of each of these rows."""
    said: str | None = None
    """The paper's statement, if the row has several claims with different statements; default: that of the row."""
    significant: bool = False
    """With below_row or above_row: the paper calls the difference significant, so a difference within the spread over
    three seeds or more refutes the claim."""
    reaches: float | None = None
    """With below_row or matches: compare the number of steps until the curve first reaches this value instead."""

    @property
    def rows(self) -> tuple[str, ...]:
        """The rows with which the claim compares; empty for a bound."""
        return self.below_row or self.above_row or self.matches

    @model_validator(mode="after")
    def _says_one_thing(self) -> Claim:
        said = (self.below is not None, self.above is not None, self.below_row, self.above_row, self.matches)
        if sum(map(bool, said)) != 1:
            raise ValueError("a claim says one thing: below, above, below_row, above_row or matches")
        if self.reaches is not None and not (self.below_row or self.matches):
            raise ValueError("reaches goes with below_row or matches: it says which row gets there first")
        if self.significant and not (self.below_row or self.above_row):
            raise ValueError("significant goes with below_row or above_row: it is about the difference of two rows")
        return self


class Budget(_Strict):
    """How much of an experiment is run: settings that override those of the row, and the seeds."""

    settings: Settings = Field(default_factory=dict)
    """Settings, by section, that override those of the row."""
    seeds: tuple[int, ...] | None = None
    """Seeds, one run for each. The default of a row is that of the experiment, the default of an experiment is 0."""

    @field_validator("seeds")
    @classmethod
    def _seeds_differ(cls, seeds: tuple[int, ...] | None) -> tuple[int, ...] | None:
        if seeds is not None and len(set(seeds)) < len(seeds):
            raise ValueError(f"each seed may appear only once, got {', '.join(map(str, seeds))}")
        return seeds


class Tuned(_Strict):
    """What makes a row one of ours: settings that were chosen on validation data instead of the paper's."""

    row: str
    """The row with the paper's settings."""
    changes: str
    """How the settings differ from the paper's, in words."""


class Row(_Strict):
    """A row of a table, or a curve of a figure."""

    label: str
    """The paper's name for it."""
    published: float | None = None
    """The published number; left out if the paper has only a figure."""
    digits: Annotated[int, Field(ge=1, le=8)] | None = None
    """Number of significant digits of the published number, if it ends in zeros."""
    said: str | None = None
    """The paper's statement about the row, in words."""
    claim: Annotated[tuple[Claim, ...], BeforeValidator(_listed)] = ()
    """The statement as one or several claims that can be checked."""
    parameters: int | None = None
    """Number of parameters of the network, if the paper gives or implies it."""
    settings: Settings = Field(default_factory=dict)
    """Settings, by section. Those left out come from the experiment, then from the defaults of the task, the model, the
    optimizer and the loop."""
    default: Literal[True] | Settings | None = None
    """This row has the default settings of ``eigenloop train`` for its model on its task: those of budget full (true),
    or those with the changes given here. Options of the task are not taken: they are the same for every model."""
    budgets: dict[BudgetName, Budget] = Field(default_factory=dict)
    """Budgets of this row, which override those of the experiment."""
    trained_as: str | None = None
    """The row whose trained network this row uses: it is built with this row's settings and measured again, on the task
    or by its matrix."""
    measure: Measure | None = None
    """Which value is compared; default: that of the experiment."""
    metric: str | None = None
    """The compared metric of the task; default: that of the experiment."""
    value: tuple[str | int, ...] | None = None
    """For an analysis: the path of keys and indices to the row's number in its results."""
    note: str | None = None
    """A caveat for the comparison, such as another variant of the task or a number quoted from elsewhere."""
    cause: str | None = None
    """For a row that was not reproduced: the cause as far as it is known, in a sentence or two."""
    evidence: str | None = None
    """What the cause is known from, and what else was tried: for the page of the paper, not for the summary."""
    tuned: Tuned | None = None
    """For a row that is not in the paper: the model of another row with settings of ours. It counts for no claim."""
    departs: str | None = None
    """Which settings differ from the paper's, or had to be chosen because the paper does not give them."""


class Analysis(_Strict):
    """The analysis that computes the numbers of an experiment without training runs."""

    name: str
    """Name of the analysis, as in ``eigenloop analyse``."""
    options: dict[str, Any] = Field(default_factory=dict)
    """Arguments of the function of that name in `eigenloop.analysis`."""
    smoke: dict[str, Any] = Field(default_factory=dict)
    """Arguments that are different at budget smoke, for an analysis that takes minutes."""
    trains: tuple[str, ...] = ()
    """For an analysis that trains networks: the parts on whose version (`eigenloop.numerics`) its numbers depend."""
    steps: int | None = None
    """For an analysis that trains networks: the paper's number of training steps; ours is one of the options."""


class Experiment(_Strict):
    """A table or figure of a paper."""

    name: str
    """Name on the command line, and of the file."""
    paper: str
    """The paper; for built-in experiments one of `eigenloop.comparison.papers`."""
    item: str
    """The table or figure, such as "Table 3"."""
    title: str
    """Its subject in a few words."""
    metric: str = "loss"
    """The compared metric of the task."""
    measure: Measure = "test"
    """Which value of that metric is compared, see `Measure`."""
    higher_is_better: bool = False
    """Whether higher values of the metric are better."""
    settings: Settings = Field(default_factory=dict)
    """Settings, by section, that all rows share."""
    analysis: Analysis | None = None
    """The analysis that computes the numbers, if they do not come from training."""
    budgets: dict[BudgetName, Budget] = Field(default_factory=dict)
    """Settings and seeds of each budget; "full" is the paper's."""
    rows: dict[str, Row]
    """The rows, by the name that ``--only`` takes."""
    differences: tuple[str, ...] = ()
    """Where the paper and its code disagree, or the paper gives no detail, and what was done here."""

    @field_validator("name")
    @classmethod
    def _name_is_plain(cls, name: str) -> str:
        return _plain(name)

    @field_validator("rows")
    @classmethod
    def _rows_are_named(cls, rows: dict[str, Row]) -> dict[str, Row]:
        if not rows:
            raise ValueError("an experiment has rows")
        return {_plain(name): row for name, row in rows.items()}

    @model_validator(mode="after")
    def _is_complete(self) -> Experiment:
        for name, row in self.rows.items():
            if self.analysis is not None and row.value is None:
                raise ValueError(f"row {name} does not say where its number stands: give value")
            if self.analysis is None and row.value is not None:
                raise ValueError(f"row {name} has a value, which is for an analysis")
            for other in (other for claim in row.claim for other in claim.rows):
                if other not in self.rows or other == name:
                    raise ValueError(f"row {name} is compared with {other!r}, which is not another row")
            if row.trained_as is not None:
                self._can_be_measured_again(name, row, row.trained_as)
            if row.evidence is not None and row.cause is None:
                raise ValueError(f"row {name} has evidence for a cause, and no cause")
            if row.tuned is not None:
                self._is_ours(name, row, row.tuned)
            elif row.published is None and row.said is None and self.analysis is None:
                raise ValueError(f"row {name} has neither a published number nor a published statement")
        if self.analysis is None and (missing := [b for b in BUDGETS if b not in self.budgets]):
            raise ValueError(f"budgets {', '.join(missing)} are missing")
        return self

    def _is_ours(self, name: str, row: Row, tuned: Tuned) -> None:
        if self.analysis is not None or tuned.row not in self.rows or self.rows[tuned.row].tuned is not None:
            raise ValueError(f"row {name} has settings instead of those of {tuned.row!r}, which is not a trained row")
        if row.published is not None or row.said is not None or row.claim:
            raise ValueError(f"row {name} has settings of ours: the paper has no number or statement for it")
        for other, compared in self.rows.items():
            if any(name in claim.rows for claim in compared.claim):
                raise ValueError(f"row {other} is compared with {name}, which has settings of ours")

    def _can_be_measured_again(self, name: str, row: Row, trained: str) -> None:
        if self.analysis is not None or trained not in self.rows or self.rows[trained].trained_as is not None:
            raise ValueError(f"row {name} is trained as {trained!r}, which is not a row with its own training")
        if (row.measure or self.measure) != "test":
            raise ValueError(f"row {name} is trained as {trained} and measured again: its measure can only be test")


def _plain(name: str) -> str:
    """Return a name; raise a ValueError unless it consists of lower-case letters, digits and single dashes."""
    if not re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", name):
        raise ValueError(f"a name may contain only lower-case letters, digits and single dashes, got {name!r}")
    return name


def is_number(value: object) -> bool:
    """Whether a value is a finite number, so that it can be compared with a published one."""
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
