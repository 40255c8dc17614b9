"""The schema of the files of a run folder.

Note [The version of a run folder]
    One number, `VERSION`, covers all files of a folder. It is the entry ``version`` of ``config.yaml``, the first
    file that a run writes; a folder without it has version 0, whose files are otherwise the same. A folder of a newer
    version is an error. A change of the schema increments the number and keeps older versions readable.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, StrictBool, StrictFloat, StrictInt

#: The version of the folders that are written; older versions can be read.
VERSION = 1


def _without_null(value: object) -> object:
    """Leave out the null entries of a mapping, which were NaN or inf when they were written."""
    if isinstance(value, Mapping):
        return {name: number for name, number in value.items() if number is not None}
    return value


def _null_is_nan(value: object) -> object:
    return float("nan") if value is None else value


def _printable(value: object) -> object:
    """Replace lone surrogates, which a folder name that is not valid UTF-8 contains, by question marks."""
    return value.encode("utf-8", "replace").decode() if isinstance(value, str) else value


#: The settings of ``config.yaml``, by section.
Sections = dict[str, dict[str, Any]]
Number = StrictInt | StrictFloat
#: Measured values, by name.
Numbers = Annotated[dict[str, Number], BeforeValidator(_without_null)]
_Part = Annotated[StrictFloat, BeforeValidator(_null_is_nan)]
#: Eigenvalues as (real, imaginary) pairs, by the name of the matrix.
Eigenvalues = dict[str, list[tuple[_Part, _Part]]]


class Content(BaseModel):
    """Base class for the content of a file; unknown entries are ignored."""

    model_config = ConfigDict(frozen=True, extra="ignore")


class MetricLine(Content):
    """A line of ``metrics.jsonl``: the values measured at a step, after `seconds` of training.

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
        """Validate a line in the flat form of the file, in which measured values are on a level with kind and step.

        Raises:
            ValueError: it does not fit the schema.
        """
        if not isinstance(record, Mapping):
            raise ValueError(f"a {type(record).__name__} is not an object with kind and step")
        places = {name: record[name] for name in ("kind", "step", "epoch", "seconds") if name in record}
        return cls(**places, values={name: value for name, value in record.items() if name not in places})


class Summary(Content):
    """``summary.json``, which a run writes when it ends.

    Attributes:
        status: finished, solved, stopped or diverged.
        metric: the name of the metric by which the run is judged.
        baseline: the score of the best constant prediction, for each metric that has one.
        best: the best validation result, with its step; None if there was no validation.
        final: the last evaluation of each split that was evaluated during training.
        test: the test result, measured once, at the end.
        numerics: versions of the arithmetic, see `eigenloop.numerics`; empty in runs that predate them.
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
    """The eigenvalues of one matrix before and after training; they may be NaN, and are empty if not recorded."""

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
    """``state.json`` of a checkpoint: the state without tensors, and checksums of the other files.

    The file is written with a checksum of its own content.
    """

    state: Any
    sha256: dict[str, str]
