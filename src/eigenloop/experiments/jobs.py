"""Trainings in separate processes: each has one thread and a log beside its folder, and saves before it is stopped."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from eigenloop.errors import RunError
from eigenloop.runs import atomic
from eigenloop.training.signals import Interruption

Item = TypeVar("Item")

#: Seconds that a training may take to save a checkpoint after it is asked to stop; then it is killed.
_PATIENCE = 60.0


@dataclass(frozen=True)
class Job:
    """A training in its own process."""

    folder: Path
    process: subprocess.Popen[bytes]

    @property
    def ended(self) -> bool:
        """Whether the process has ended."""
        return self.process.poll() is not None

    @property
    def log(self) -> Path:
        """The path of its log, which holds everything that it prints."""
        return self.folder.parent / f"{self.folder.name}.log"

    def last_words(self) -> str:
        """Return the last line of the log, which is the error message of a failed training."""
        with contextlib.suppress(OSError):
            lines = self.log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
            if lines:
                return lines[-1].removeprefix("eigenloop: ")
        return "it ended without a message"


def start(folder: Path, settings: str, *, resumed: bool, arguments: Sequence[str] = ()) -> Job:
    """Start a training in its own process, or resume the one in `folder`.

    Args:
        folder: the run folder.
        settings: the content of ``config.yaml``, for a new training.
        resumed: resume the run in `folder`.
        arguments: further arguments of ``eigenloop train``.
    """
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
            start_new_session=True,  # so that Ctrl-C reaches only this process, which passes it on once
        )
    return Job(folder, process)


def run_all(
    items: Iterable[Item],
    at_once: int,
    *,
    may_start: Callable[[Item, Sequence[Item]], bool],
    start: Callable[[Item], Job | None],
    refused: Callable[[Item, str], None],
    ended: Callable[[Item, Job], bool],
    watch: Callable[[Sequence[tuple[Item, Job]]], None],
) -> bool:
    """Run a training for each item, several in parallel; return whether all ended well.

    On Ctrl-C or SIGTERM every training saves a checkpoint before KeyboardInterrupt is raised.

    Args:
        items: started in this order.
        at_once: number of trainings that run in parallel.
        may_start: whether an item may start beside those that are running; otherwise it is asked again later.
        start: starts the training of an item; returns None if there is nothing left to train.
        refused: called with an item and the message of the RunError that `start` raised.
        ended: called when a training has ended; returns whether it ended well.
        watch: called regularly with those that are running.
    """
    waiting, running, well = list(items), list[tuple[Item, Job]](), True
    try:
        with Interruption() as interruption:
            while waiting or running:
                if interruption.asked:
                    raise KeyboardInterrupt
                for item in list(waiting):
                    if len(running) >= at_once:
                        break
                    if not may_start(item, [each for each, _ in running]):
                        continue
                    waiting.remove(item)
                    try:
                        job = start(item)
                    except RunError as error:
                        refused(item, str(error))
                        well = False
                    else:
                        running += [(item, job)] if job is not None else []
                done = [(item, job) for item, job in running if job.ended]
                for item, job in done:
                    running.remove((item, job))
                    well = ended(item, job) and well
                if not done:
                    watch(running)
                    time.sleep(0.2)
    finally:
        stop(job for _, job in running)
    return well


def stop(jobs: Iterable[Job]) -> None:
    """Ask every training to save a checkpoint and end, and wait until all have ended."""
    running = list(jobs)
    for job in running:
        with contextlib.suppress(ProcessLookupError):
            job.process.send_signal(signal.SIGTERM)  # background jobs may ignore SIGINT
    deadline = time.monotonic() + _PATIENCE
    for job in running:
        try:
            job.process.wait(max(deadline - time.monotonic(), 0.1))
        except subprocess.TimeoutExpired:
            job.process.kill()
            job.process.wait()


def _one_thread(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the environment with one thread per process: two multithreaded trainings on two cores are 100x slower."""
    return {**environment, "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
