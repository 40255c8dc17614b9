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
    """What the paper says, where a row has several claims in words of their own; the row's words if left out."""
    reaches: float | None = None
    """With below_row or matches: not the numbers are compared but the steps until the curve first gets to this."""

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
        return self


class Budget(_Strict):
    """How much of an experiment is run: settings that override those of the row, and the seeds."""

    settings: Settings = Field(default_factory=dict)
    """Sections of settings that win over the row's."""
    seeds: tuple[int, ...] | None = None
    """One run for each; default: of a row the experiment's, and there seed 0."""

    @field_validator("seeds")
    @classmethod
    def _seeds_differ(cls, seeds: tuple[int, ...] | None) -> tuple[int, ...] | None:
        if seeds is not None and len(set(seeds)) < len(seeds):
            raise ValueError(f"seeds {', '.join(map(str, seeds))} are not different ones")
        return seeds


class Row(_Strict):
    """A row of a table, or a curve of a figure."""

    label: str
    """The paper's name for it."""
    published: float | None = None
    """Its number, in the unit of `measure`; left out where the paper has a picture only."""
    digits: Annotated[int, Field(ge=1, le=8)] | None = None
    """How many of the number's digits count, where it ends in zeros."""
    said: str | None = None
    """What the paper says of it in words."""
    claim: Annotated[tuple[Claim, ...], BeforeValidator(_listed)] = ()
    """The same for a machine: one claim or several."""
    parameters: int | None = None
    """How many the network has, where the paper says so or its text implies it."""
    settings: Settings = Field(default_factory=dict)
    """Sections of settings; what is left out is the experiment's, then the default of the task, the model, the
    optimizer or the loop."""
    default: Literal[True] | Settings | None = None
    """This row has the settings that ``eigenloop train`` takes for its model on its task: as they are at budget full
    (true), or with these others. The task's own options stay what they are for every model."""
    budgets: dict[BudgetName, Budget] = Field(default_factory=dict)
    """Of this row, over those of the experiment."""
    trained_as: str | None = None
    """The row whose training is this one's too: its network is measured again, built with this row's settings, in the
    task or in its matrix."""
    measure: Measure | None = None
    """What is compared, if not what the experiment says."""
    metric: str | None = None
    """Which of the task's metrics, if not what the experiment says."""
    value: tuple[str | int, ...] | None = None
    """Of an analysis: where its number stands among the computed ones."""
    note: str | None = None
    """What to know when comparing: another task variant, a quoted number."""
    cause: str | None = None
    """Of a row that did not come out as published: what was tried, and what it is due to as far as that is known."""
    departs: str | None = None
    """Which settings are not the paper's, or had to be chosen since the paper does not give them."""


class Analysis(_Strict):
    """The analysis that computes the numbers of an experiment without training runs."""

    name: str
    """Of ``eigenloop analyse``."""
    options: dict[str, Any] = Field(default_factory=dict)
    """Arguments of the function of that name in `eigenloop.analysis`."""
    trains: tuple[str, ...] = ()
    """Of an analysis that trains networks: the parts whose version (`eigenloop.numerics`) its numbers depend on."""
    steps: int | None = None
    """Of an analysis that trains networks: for how many steps the paper does; ours are among the options."""


class Experiment(_Strict):
    """A table or figure of a paper."""

    name: str
    """As the command line has it, and as the file is named."""
    paper: str
    """Whose; of ours one of `eigenloop.comparison.papers`."""
    item: str
    """Which table or figure."""
    title: str
    """What it is about, in a few words."""
    metric: str = "loss"
    """Which of the task's metrics is compared."""
    measure: Measure = "test"
    """What of a run is compared."""
    higher_is_better: bool = False
    """Of the metric."""
    settings: Settings = Field(default_factory=dict)
    """Sections of settings that all rows share."""
    analysis: Analysis | None = None
    """Where the numbers come from if not from training."""
    budgets: dict[BudgetName, Budget] = Field(default_factory=dict)
    """What is run at which size; "full" is the paper's."""
    rows: dict[str, Row]
    """By the name that ``--only`` takes."""
    differences: tuple[str, ...] = ()
    """Where paper and code disagree, or the paper is silent, and what was done here."""

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
            if row.published is None and row.said is None:
                raise ValueError(f"row {name} has neither a published number nor a published statement")
        if self.analysis is None and (missing := [b for b in BUDGETS if b not in self.budgets]):
            raise ValueError(f"budgets {', '.join(missing)} are missing")
        return self

    def _can_be_measured_again(self, name: str, row: Row, trained: str) -> None:
        if self.analysis is not None or trained not in self.rows or self.rows[trained].trained_as is not None:
            raise ValueError(f"row {name} is trained as {trained!r}, which is not a row with its own training")
        if (row.measure or self.measure) != "test":
            raise ValueError(f"row {name} is trained as {trained} and measured again: its measure can only be test")


def _plain(name: str) -> str:
    """Return a name; raise a ValueError unless it consists of lower-case letters, digits and single dashes."""
    if not re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", name):
        raise ValueError(f"the name {name!r} is made of small letters, digits and single dashes")
    return name


def is_number(value: object) -> bool:
    """Whether a value is a finite number, so that it can be compared with a published one."""
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
