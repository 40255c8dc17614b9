"""Writing a run folder: config.yaml, metrics.jsonl, checkpoints/, summary.json, spectra.json."""

from __future__ import annotations

import errno
import itertools
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TextIO

from eigenloop.errors import RunError
from eigenloop.runs import atomic
from eigenloop.runs.reading import CONFIG, METRICS, SPECTRA, SUMMARY, read_spectra
from eigenloop.runs.schema import MetricLine, Spectra, Summary
from eigenloop.runs.settings_file import text_of
from eigenloop.text.json_text import finite, json_line

try:
    import fcntl
except ImportError:  # not a Unix
    fcntl = None  # type: ignore[assignment]


class RunFolder:
    """The files of one run, locked by one process at a time.

    Note [What survives a kill]
        config.yaml, summary.json, spectra.json and every checkpoint are written atomically. metrics.jsonl grows line
        by line; a checkpoint records its size, and resuming truncates it to that size, which also removes a partly
        written line.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock: TextIO | None = None
        self._metrics: Any = None

    @property
    def checkpoints(self) -> Path:
        """The path of the folder that holds the checkpoints."""
        return self.path / "checkpoints"

    def create(self, settings: Mapping[str, Mapping[str, Any]]) -> None:
        """Create the folder, lock it and write its configuration.

        A folder that is empty, or holds only what a run killed at its start left behind, is reused.

        Raises:
            RunError: the path is in use, or cannot be written.
        """
        try:
            if self.path.exists() and not self.path.is_dir():
                raise RunError(
                    f"{self.path} is a file, and a run is a folder", "name another one", flags="choose another --out"
                )
            if self.path.exists() and not self._barely_begun():
                begun = self.has_config()
                raise RunError(
                    f"{self.path} is there already",
                    "resume that run, or name another folder" if begun else "name another folder",
                    flags=("continue that run with --resume, or " if begun else "") + "choose another --out",
                )
            self.checkpoints.mkdir(parents=True, exist_ok=True)
            self._hold()
            self.write_config(settings)
        except OSError as error:
            raise RunError(f"the run folder {self.path} cannot be made: {error.strerror or error}") from error

    def _barely_begun(self) -> bool:
        """Whether the folder is empty, or holds a run that was killed before it wrote its configuration."""
        names = [entry.name for entry in self.path.iterdir() if not entry.name.endswith(".tmp")]
        return set(names) <= {".lock", "checkpoints"} and not any(self.checkpoints.glob("*"))

    def open(self) -> None:
        """Open an existing folder for writing: lock it and remove temporary files of a killed process.

        Raises:
            RunError: another process is training in it, or it cannot be written.
        """
        try:
            self.checkpoints.mkdir(exist_ok=True)
            self._hold()
            atomic.remove_leftovers(self.path)
            atomic.remove_leftovers(self.checkpoints)
        except OSError as error:
            raise RunError(f"the run folder {self.path} cannot be written: {error.strerror or error}") from error

    def _hold(self) -> None:
        """Lock the folder; the lock is released when this process ends, however it ends."""
        if fcntl is None:
            return
        self._lock = (self.path / ".lock").open("w")
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise RunError(
                f"another process is training in {self.path}",
                "wait for it, or name another folder",
                flags="wait for it, or choose another --out",
            ) from error

    def is_held(self) -> bool:
        """Whether another process is training in the folder."""
        if fcntl is None or not (self.path / ".lock").is_file():
            return False
        with (self.path / ".lock").open("r+") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return True
        return False

    def set_aside(self) -> Path:
        """Rename the folder to NAME-old, NAME-old-2, ..., so that another run can take its place; return the new path.

        Raises:
            RunError: another process is training in the folder, or it cannot be renamed.
        """
        try:
            self._hold()
            numbered = itertools.chain(["-old"], (f"-old-{number}" for number in itertools.count(2)))
            names = (self.path.with_name(self.path.name + ending) for ending in numbered)
            target = next(name for name in names if not name.exists())
            self.path.rename(target)
        except OSError as error:
            raise RunError(f"{self.path} cannot be moved aside: {error.strerror or error}") from error
        finally:
            self.close()
        return target

    # ---------------------------------------------------------------- metrics

    def log(self, record: Mapping[str, Any]) -> None:
        """Append a line of metrics.

        Raises:
            FileNotFoundError: the file was deleted or replaced since it was opened.
        """
        MetricLine.of(record)
        path = self.path / METRICS
        if self._metrics is None:
            self._metrics = path.open("ab", buffering=0)
        elif not path.exists() or not os.path.samestat(path.stat(), os.fstat(self._metrics.fileno())):
            raise FileNotFoundError(errno.ENOENT, "it was deleted or replaced during the training", str(path))
        self._metrics.write(json_line(record).encode() + b"\n")

    def metrics_size(self) -> int:
        """Flush the metrics to the disk and return the size of their file in bytes."""
        if self._metrics is None:
            path = self.path / METRICS
            return path.stat().st_size if path.exists() else 0
        os.fsync(self._metrics.fileno())
        return int(os.fstat(self._metrics.fileno()).st_size)

    def set_back(self, metrics_size: int) -> None:
        """Go back to a checkpoint: delete the summary and truncate the metrics to the size that they had then.

        Raises:
            RunError: the metrics are shorter than that.
        """
        path = self.path / METRICS
        path.touch()
        if path.stat().st_size < metrics_size:
            raise RunError(
                f"{path} is shorter than it was at the checkpoint ({metrics_size} bytes)",
                "restore it, or start a new run",
            )
        os.truncate(path, metrics_size)
        (self.path / SUMMARY).unlink(missing_ok=True)

    # ---------------------------------------------------------------- whole files

    def has_config(self) -> bool:
        """Whether config.yaml exists."""
        return (self.path / CONFIG).is_file()

    def write_config(self, settings: Mapping[str, Mapping[str, Any]]) -> None:
        """Replace config.yaml."""
        atomic.write_text(self.path / CONFIG, text_of(settings))

    def write_summary(self, summary: Summary) -> None:
        """Write summary.json, the result of the run."""
        self._write_json(SUMMARY, summary.model_dump())

    def write_spectra(self, spectra: Spectra) -> None:
        """Write spectra.json; if `spectra.before` is None, the recorded eigenvalues before training are kept."""
        before = read_spectra(self.path) if spectra.before is None else None
        kept = spectra if before is None else spectra.model_copy(update={"before": before.before})
        self._write_json(SPECTRA, kept.model_dump(exclude_none=True))

    def _write_json(self, name: str, value: Any) -> None:
        atomic.write_text(self.path / name, json.dumps(finite(value), indent=2) + "\n")

    def close(self) -> None:
        """Close the metrics file and release the lock."""
        for file in (self._metrics, self._lock):
            if file is not None:
                file.close()
        self._metrics = self._lock = None
