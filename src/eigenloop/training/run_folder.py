"""A run as a folder: config.yaml, metrics.jsonl, checkpoints/, summary.json, spectra.json."""

from __future__ import annotations

import errno
import itertools
import json
import math
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TextIO

from eigenloop.errors import RunError
from eigenloop.training import atomic
from eigenloop.training.config import Config, make_config, read_settings

try:
    import fcntl
except ImportError:  # not a Unix
    fcntl = None  # type: ignore[assignment]


class RunFolder:
    """The files of one run, held by one process at a time.

    Note [What survives a kill]
        config.yaml, summary.json, spectra.json and every checkpoint are replaced as a whole. metrics.jsonl grows line
        by line; a checkpoint remembers its size, and resuming cuts off what was written after it, a torn line included.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock: TextIO | None = None
        self._metrics: Any = None

    @property
    def checkpoints(self) -> Path:
        """The folder of the checkpoints."""
        return self.path / "checkpoints"

    def create(self, config: Config) -> None:
        """Make the folder with its configuration; refuse one that holds anything but what a killed start left."""
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
            self.write_config(config)
        except OSError as error:
            raise RunError(f"the run folder {self.path} cannot be made: {error.strerror or error}") from error

    def _barely_begun(self) -> bool:
        """Whether the folder is empty, or a run was killed in it before it had written its configuration."""
        names = [entry.name for entry in self.path.iterdir() if not entry.name.endswith(".tmp")]
        return set(names) <= {".lock", "checkpoints"} and not any(self.checkpoints.glob("*"))

    def stored(self) -> Config:
        """Return the configuration of a folder that is there."""
        if not self.has_config():
            raise RunError(
                f"{self.path} holds no run to continue (no config.yaml)",
                "start one with train",
                flags="leave out --resume to start one",
            )
        return make_config(read_settings(self.path / "config.yaml"))

    def open(self) -> None:
        """Take up a folder that is there."""
        try:
            self.checkpoints.mkdir(exist_ok=True)
            self._hold()
            atomic.remove_leftovers(self.path)
            atomic.remove_leftovers(self.checkpoints)
        except OSError as error:
            raise RunError(f"the run folder {self.path} cannot be written: {error.strerror or error}") from error

    def _hold(self) -> None:
        """Keep other processes out until this one ends, however it ends."""
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

    def set_aside(self) -> Path:
        """Rename the folder to NAME-old, NAME-old-2, ..., so that another run can take its place; return the new name.

        Nothing is lost, and a folder in which another process trains is refused.
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

    def cut_metrics(self, size: int) -> None:
        """Forget the lines after the first `size` bytes, and go on writing there."""
        path = self.path / "metrics.jsonl"
        path.touch()
        if path.stat().st_size < size:
            raise RunError(f"{path} is shorter than it was at the checkpoint ({size} bytes): restore it, or start anew")
        os.truncate(path, size)

    def log(self, record: Mapping[str, Any]) -> None:
        """Add a line of metrics; refuse where the file that is written to is no longer the one in the folder."""
        path = self.path / "metrics.jsonl"
        if self._metrics is None:
            self._metrics = path.open("ab", buffering=0)
        elif not path.exists() or not os.path.samestat(path.stat(), os.fstat(self._metrics.fileno())):
            raise FileNotFoundError(errno.ENOENT, "it was deleted or replaced during the training", str(path))
        self._metrics.write(json_line(record).encode() + b"\n")

    def metrics_size(self) -> int:
        """Return the size of metrics.jsonl, once all of it is on the disk."""
        if self._metrics is None:
            path = self.path / "metrics.jsonl"
            return path.stat().st_size if path.exists() else 0
        os.fsync(self._metrics.fileno())
        return int(os.fstat(self._metrics.fileno()).st_size)

    # ---------------------------------------------------------------- whole files

    def has_config(self) -> bool:
        """Whether config.yaml is there."""
        return (self.path / "config.yaml").is_file()

    def write_config(self, config: Config) -> None:
        """Replace config.yaml."""
        atomic.write_text(self.path / "config.yaml", config.as_yaml())

    def write_json(self, name: str, value: Any) -> None:
        """Replace a JSON file."""
        atomic.write_text(self.path / name, json.dumps(finite(value), indent=2) + "\n")

    def read_json(self, name: str) -> Any:
        """Read a JSON file; None if there is none or it is damaged."""
        try:
            return json.loads((self.path / name).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None

    def close(self) -> None:
        """Let go of the folder."""
        for file in (self._metrics, self._lock):
            if file is not None:
                file.close()
        self._metrics = self._lock = None


def finite(value: Any) -> Any:
    """Return nested values with null for NaN and inf, which JSON does not have."""
    if isinstance(value, Mapping):
        return {key: finite(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def json_line(value: Any) -> str:
    """Return a value as one line of JSON.

    >>> json_line({"loss": float("inf")})
    '{"loss": null}'
    """
    return json.dumps(finite(value))
