"""A whole run folder, read."""

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
    """What a run folder holds; a run that is not finished has no summary.

    Attributes:
        lines: those of each of KINDS, in the order of their steps.
    """

    folder: Path
    config: Sections
    lines: Mapping[str, tuple[MetricLine, ...]]
    summary: Summary | None
    spectra: tuple[Spectrum, ...]

    @property
    def status(self) -> str:
        """How the run ended, or that it has not."""
        return self.summary.status if self.summary else "unfinished"

    @property
    def steps(self) -> int | None:
        """How many steps it has made, as far as its files tell."""
        if self.summary:
            return self.summary.steps
        return max((lines[-1].step for lines in self.lines.values() if lines), default=None)

    @property
    def seconds(self) -> float | None:
        """How long it has trained, as far as its files tell."""
        if self.summary:
            return self.summary.seconds
        times = [line.seconds for lines in self.lines.values() for line in lines[-1:] if line.seconds is not None]
        return max(times, default=None)

    def section(self, name: str) -> Mapping[str, Any]:
        """Return a section of the config; empty where there is none."""
        return self.config.get(name, {})

    def missing(self) -> list[str]:
        """Say in sentences what the folder does not hold yet."""
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
    """Read a run folder."""
    return Run(
        folder=folder,
        config=read_config(folder),
        lines=_by_kind(read_metrics(folder)),
        summary=read_summary(folder),
        spectra=(read_spectra(folder) or Spectra()).by_matrix(),
    )


def read_all(folders: Sequence[Path]) -> list[Run]:
    """Read run folders; one that is given twice is read once."""
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
        # Steps that a run repeats after it was set back by hand: what it measured last is what counts.
        while same and same[-1].step >= line.step:
            same.pop()
        same.append(line)
    return {kind: tuple(same) for kind, same in by_kind.items()}
