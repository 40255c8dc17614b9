"""The content of a run folder as one object."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from eigenloop.errors import RunError
from eigenloop.runs.reading import METRICS, SPECTRA, SUMMARY, read_config, read_metrics, read_spectra, read_summary
from eigenloop.runs.schema import MetricLine, Sections, Spectra, Spectrum, Summary

KINDS = ("train", "valid", "test")


@dataclass(frozen=True)
class Run:
    """The content of a run folder.

    Attributes:
        folder: its path.
        config: the settings, by section.
        lines: the metrics of each kind (`KINDS`), ordered by step.
        summary: the result; None if the run has not ended.
        spectra: the eigenvalues of each recurrent matrix; empty if they were not recorded.
    """

    folder: Path
    config: Sections
    lines: Mapping[str, tuple[MetricLine, ...]]
    summary: Summary | None
    spectra: tuple[Spectrum, ...]

    @property
    def status(self) -> str:
        """The status of the summary, or ``unfinished``."""
        return self.summary.status if self.summary else "unfinished"

    @property
    def steps(self) -> int | None:
        """Number of training steps so far, according to the summary or the last metrics; None if unknown."""
        if self.summary:
            return self.summary.steps
        return max((lines[-1].step for lines in self.lines.values() if lines), default=None)

    @property
    def seconds(self) -> float | None:
        """Training time so far in seconds, according to the summary or the last metrics; None if unknown."""
        if self.summary:
            return self.summary.seconds
        times = [line.seconds for lines in self.lines.values() for line in lines[-1:] if line.seconds is not None]
        return max(times, default=None)

    def section(self, name: str) -> Mapping[str, Any]:
        """Return a section of the config; an empty mapping if there is none."""
        return self.config.get(name, {})

    def missing(self) -> list[str]:
        """Return sentences that say what is not in the folder yet."""
        sentences = []
        if self.summary is None:
            sentences.append(f"No {SUMMARY}: the run has not finished, or it was killed.")
        if not any(self.lines.values()):
            sentences.append(f"No lines in {METRICS}: nothing has been measured yet.")
        elif not (self.lines["valid"] or self.lines["test"]):
            sentences.append("No evaluation yet: only training values are known.")
        if not self.spectra:
            sentences.append(f"No {SPECTRA}: its eigenvalues were not recorded.")
        elif not any(spectrum.after for spectrum in self.spectra):
            sentences.append("No eigenvalues after training: only those of the start are known.")
        return sentences


def read(folder: Path) -> Run:
    """Read a run folder.

    Raises:
        RunError: there is no such run folder, or one of its files is damaged.
    """
    return Run(
        folder=folder,
        config=read_config(folder),
        lines=_by_kind(read_metrics(folder)),
        summary=read_summary(folder),
        spectra=(read_spectra(folder) or Spectra()).by_matrix(),
    )


def read_all(folders: Sequence[Path]) -> list[Run]:
    """Read run folders; a folder that is given twice is read once.

    Raises:
        RunError: no folder is given, or one cannot be read.
    """
    if not folders:
        raise RunError("a report needs at least one run", "give the folder that `eigenloop train --out` wrote")
    distinct: dict[Path, Path] = {}
    for folder in folders:
        distinct.setdefault(folder.resolve(), folder)
    return [read(folder) for folder in distinct.values()]


def _by_kind(lines: Sequence[MetricLine]) -> dict[str, tuple[MetricLine, ...]]:
    by_kind: dict[str, list[MetricLine]] = {kind: [] for kind in KINDS}
    for line in lines:
        same = by_kind.setdefault(line.kind, [])
        # A run that was manually set back to an earlier checkpoint repeats steps: its latest measurements count.
        while same and same[-1].step >= line.step:
            same.pop()
        same.append(line)
    return {kind: tuple(same) for kind, same in by_kind.items()}
