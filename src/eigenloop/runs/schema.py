"""What the files of a run folder hold.

Note [The version of a run folder]
    One number, `VERSION`, stands for all files of a folder. It is the entry ``version`` of ``config.yaml``, the first
    file that a run writes; a folder without it is of version 0, whose files are otherwise the same. A folder of a newer
    version is refused with a sentence. Whoever changes a file raises the number and keeps reading the version before.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, StrictBool, StrictFloat, StrictInt

#: Of the folders that are written; those with smaller numbers are read.
VERSION = 1


def _without_null(value: object) -> object:
    """Leave out what was NaN or inf when it was written."""
    if isinstance(value, Mapping):
        return {name: number for name, number in value.items() if number is not None}
    return value


def _null_is_nan(value: object) -> object:
    return float("nan") if value is None else value


def _printable(value: object) -> object:
    """Replace halves of letters, which the name of a folder may bring along."""
    return value.encode("utf-8", "replace").decode() if isinstance(value, str) else value


#: The settings of ``config.yaml``, by section.
Sections = dict[str, dict[str, Any]]
Number = StrictInt | StrictFloat
#: What was measured, by name.
Numbers = Annotated[dict[str, Number], BeforeValidator(_without_null)]
_Part = Annotated[StrictFloat, BeforeValidator(_null_is_nan)]
#: Eigenvalues as (real, imaginary), by the name of the matrix.
Eigenvalues = dict[str, list[tuple[_Part, _Part]]]


class Content(BaseModel):
    """What a file holds; entries of later versions are passed over."""

    model_config = ConfigDict(frozen=True, extra="ignore")


class MetricLine(Content):
    """A line of ``metrics.jsonl``: what was measured at a step, `seconds` of training after the start.

    >>> line = MetricLine.of({"kind": "valid", "step": 100, "epoch": None, "loss": 0.5, "seconds": 1.5})
    >>> line.step, line.values
    (100, {'loss': 0.5})
    """

    kind: str
    step: StrictInt
    epoch: StrictFloat | None = None
    seconds: StrictFloat | None = None
    values: Numbers

    @classmethod
    def of(cls, record: object) -> MetricLine:
        """Check a line as it is written: flat, with what was measured beside where."""
        if not isinstance(record, Mapping):
            raise ValueError(f"a {type(record).__name__} is not an object with kind and step")
        places = {name: record[name] for name in ("kind", "step", "epoch", "seconds") if name in record}
        return cls(**places, values={name: value for name, value in record.items() if name not in places})


class Summary(Content):
    """``summary.json``, which a run writes when it ends.

    Attributes:
        status: finished, solved, stopped or diverged.
        metric: the name of what the run is judged by.
        baseline: the score of the best constant prediction, for each metric that has such a number.
        best: the best validation, with its step; None where there was none.
        final: the last evaluation of every part.
        test: measured once, at the end.
        numerics: versions of the arithmetic, see `eigenloop.numerics`; empty in runs from before there were any.
    """

    status: str
    reason: Annotated[str, BeforeValidator(_printable)]
    task: str
    model: str
    steps: StrictInt
    epochs: StrictFloat | None
    parameters: StrictInt
    metric: str
    higher_is_better: StrictBool
    baseline: Numbers
    best: Numbers | None
    final: dict[str, Numbers]
    test: Numbers | None
    seconds: StrictFloat
    started: str
    processes: StrictInt
    commit: str | None
    numerics: dict[str, StrictInt] = {}
    versions: dict[str, str]
    machine: dict[str, Any]


@dataclass(frozen=True)
class Spectrum:
    """The eigenvalues of one matrix; they may be NaN, and a moment that was not kept is empty."""

    name: str
    before: tuple[complex, ...]
    after: tuple[complex, ...]


class Spectra(Content):
    """``spectra.json``: the eigenvalues of every recurrent matrix, before and after training."""

    before: Eigenvalues | None = None
    after: Eigenvalues | None = None

    def by_matrix(self) -> tuple[Spectrum, ...]:
        """Return the spectrum of each matrix, in the order of the file."""
        before, after = self.before or {}, self.after or {}
        return tuple(
            Spectrum(name, *(tuple(complex(*pair) for pair in moment.get(name, ())) for moment in (before, after)))
            for name in dict.fromkeys([*before, *after])
        )


class CheckpointIndex(Content):
    """``state.json`` of a checkpoint, itself sealed: the state without tensors, and checksums of the other files."""

    state: Any
    sha256: dict[str, str]
