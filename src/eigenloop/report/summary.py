"""summary.json, which a run writes when it ends."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from eigenloop.report.values import finite, json_object, numbers, text, texts


@dataclass(frozen=True)
class Summary:
    """How a run ended; what is missing in the file is None or empty.

    Attributes:
        metric: the name of what the run is judged by.
        baseline: what guessing reaches, for each metric that has such a number.
        best: the best validation, with its step.
        final: the last validation and the like, by kind.
    """

    status: str
    reason: str | None
    steps: float | None
    parameters: float | None
    metric: str | None
    higher_is_better: bool
    baseline: Mapping[str, float]
    best: Mapping[str, float]
    final: Mapping[str, Mapping[str, float]]
    test: Mapping[str, float]
    seconds: float | None
    started: str | None
    commit: str | None
    versions: Mapping[str, str]
    machine: Mapping[str, str]


def read(path: Path) -> Summary | None:
    """Read a summary; None where the run has not written one yet."""
    found = json_object(path, "delete it, and the run is shown as unfinished")
    if found is None:
        return None
    final = found.get("final")
    return Summary(
        status=text(found.get("status")) or "finished",
        reason=text(found.get("reason")),
        steps=finite(found.get("steps")),
        parameters=finite(found.get("parameters")),
        metric=text(found.get("metric")),
        higher_is_better=found.get("higher_is_better") is True,
        baseline=numbers(found.get("baseline")),
        best=numbers(found.get("best")),
        final={str(kind): numbers(entry) for kind, entry in final.items()} if isinstance(final, dict) else {},
        test=numbers(found.get("test")),
        seconds=finite(found.get("seconds")),
        started=text(found.get("started")),
        commit=text(found.get("commit")),
        versions=texts(found.get("versions")),
        machine=texts(found.get("machine")),
    )
