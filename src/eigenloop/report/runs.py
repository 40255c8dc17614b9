"""A training-run folder, read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from eigenloop.report import metrics, spectra, summary
from eigenloop.report.errors import RunError, damaged
from eigenloop.report.metrics import Line
from eigenloop.report.spectra import Spectrum
from eigenloop.report.summary import Summary


@dataclass(frozen=True)
class Run:
    """What a run folder holds; a run that is not finished has no summary."""

    folder: Path
    config: Mapping[str, Any]
    lines: Mapping[str, tuple[Line, ...]]
    summary: Summary | None
    spectra: tuple[Spectrum, ...]

    @property
    def status(self) -> str:
        """How the run ended, or that it has not."""
        return self.summary.status if self.summary else "unfinished"

    @property
    def steps(self) -> float | None:
        """How many steps it has made, as far as its files tell."""
        if self.summary and self.summary.steps is not None:
            return self.summary.steps
        return max((lines[-1].step for lines in self.lines.values() if lines), default=None)

    @property
    def seconds(self) -> float | None:
        """How long it has trained, as far as its files tell."""
        if self.summary and self.summary.seconds is not None:
            return self.summary.seconds
        times = [line.seconds for lines in self.lines.values() for line in lines[-1:] if line.seconds is not None]
        return max(times, default=None)

    def section(self, name: str) -> Mapping[str, Any]:
        """Return a section of the config; one that is a bare word is its name."""
        found = self.config.get(name)
        if isinstance(found, Mapping):
            return found
        return {} if found is None else {"name": found}

    def missing(self) -> list[str]:
        """Say in sentences what the folder does not hold yet."""
        found = []
        if self.summary is None:
            found.append("No summary.json: the run has not finished, or it was killed.")
        if not any(self.lines.values()):
            found.append("No lines in metrics.jsonl: nothing has been measured yet.")
        elif not (self.lines["valid"] or self.lines["test"]):
            found.append("No evaluation yet: only training values are known.")
        if not self.spectra:
            found.append("No spectra.json: its eigenvalues were not recorded.")
        elif not any(spectrum.after for spectrum in self.spectra):
            found.append("No eigenvalues after training: only those of the start are known.")
        return found


def read(folder: Path) -> Run:
    """Read a run folder."""
    if not folder.is_dir():
        raise RunError(f"there is no folder {folder}: give the folder that `eigenloop train --out` wrote")
    if not (folder / "config.yaml").is_file():
        raise RunError(f"{folder} is not a run folder, it holds no config.yaml: {_instead(folder)}")
    return Run(
        folder=folder,
        config=_config(folder / "config.yaml"),
        lines=metrics.read(folder / "metrics.jsonl"),
        summary=summary.read(folder / "summary.json"),
        spectra=spectra.read(folder / "spectra.json"),
    )


def read_all(folders: Sequence[Path]) -> list[Run]:
    """Read run folders; one that is given twice is read once."""
    if not folders:
        raise RunError("a report needs at least one run: give the folder that `eigenloop train --out` wrote")
    distinct: dict[Path, Path] = {}
    for folder in folders:
        distinct.setdefault(folder.resolve(), folder)
    return [read(folder) for folder in distinct.values()]


def _instead(folder: Path) -> str:
    inside = sorted(path.parent.name for path in folder.glob("*/config.yaml"))
    if not inside:
        return "give the folder that `eigenloop train --out` wrote"
    more = ", ..." if len(inside) > 3 else ""
    return f"give the run folders inside it ({', '.join(inside[:3])}{more})"


def _config(path: Path) -> dict[str, Any]:
    fix = "restore it, or run the training again"
    try:
        found = yaml.safe_load(path.read_bytes())
        yaml.safe_dump(found)  # what is nested too deeply to be written cannot be shown either
    # ValueError and RecursionError: impossible dates, endless integers and brackets nested thousands deep.
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise damaged(path, " ".join(str(error).split()), fix) from error
    if not isinstance(found, dict):
        raise damaged(path, "it holds no sections", fix)
    return {str(name): section for name, section in found.items()}
