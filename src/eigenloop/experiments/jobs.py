"""Trainings in processes of their own: each with one thread, a log beside its folder, and a way to stop that saves."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from eigenloop.runs import atomic

#: How long a training that is asked to stop may take to save itself.
_PATIENCE = 60.0


@dataclass(frozen=True)
class Job:
    """A training that runs now."""

    folder: Path
    process: subprocess.Popen[bytes]

    @property
    def ended(self) -> bool:
        """Whether it is over."""
        return self.process.poll() is not None

    @property
    def log(self) -> Path:
        """What it prints."""
        return self.folder.parent / f"{self.folder.name}.log"

    def last_words(self) -> str:
        """Return the last line that it printed: its error."""
        with contextlib.suppress(OSError):
            lines = self.log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
            if lines:
                return lines[-1].removeprefix("eigenloop: ")
        return "it ended without a message"


def start(folder: Path, settings: str, *, resumed: bool, arguments: Sequence[str] = ()) -> Job:
    """Begin the training of some settings (the content of ``config.yaml``) in a folder, or resume the one there."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    file = folder.parent / f"{folder.name}.yaml"
    atomic.write_text(file, settings)
    chosen = ["--resume"] if resumed else ["--config", str(file)]
    with (folder.parent / f"{folder.name}.log").open("ab") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "eigenloop", "train", "--out", str(folder), *chosen, *arguments],
            stdout=log,
            stderr=log,
            stdin=subprocess.DEVNULL,
            env=_one_thread(os.environ),
            start_new_session=True,  # an interruption reaches the trainings through us, once
        )
    return Job(folder, process)


def stop(jobs: Iterable[Job]) -> None:
    """Ask every training to save itself and end, and wait for it."""
    running = list(jobs)
    for job in running:
        with contextlib.suppress(ProcessLookupError):
            job.process.send_signal(signal.SIGTERM)  # what runs in the background may have to ignore SIGINT
    deadline = time.monotonic() + _PATIENCE
    for job in running:
        try:
            job.process.wait(max(deadline - time.monotonic(), 0.1))
        except subprocess.TimeoutExpired:
            job.process.kill()
            job.process.wait()


def _one_thread(environment: Mapping[str, str]) -> dict[str, str]:
    """Two trainings with many threads on two cores slow each other down a hundredfold."""
    return {**environment, "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
