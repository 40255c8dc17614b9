"""Running a comparison: several trainings in parallel, each resumable; finished runs are skipped."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol

from eigenloop.errors import DivergedError, EigenloopError, RunError
from eigenloop.experiments import jobs as processes
from eigenloop.experiments.plan import config_hash
from eigenloop.runs import RunFolder, read_summary
from eigenloop.tasks import Sequences
from eigenloop.training import Config, resume, train
from eigenloop.training.runs import stored_config
from eigenloop.trials.plan import Trial


class Watcher(Protocol):
    """The interface through which a comparison reports its progress."""

    def skipped(self, trial: Trial) -> None:
        """A run was done already."""

    def set_aside(self, trial: Trial, folder: Path) -> None:
        """The run's folder held a run with other settings or data, which was renamed to `folder`."""

    def held(self, trial: Trial) -> None:
        """Another process is training this run; the comparison waits for it."""

    def started(self, trial: Trial, resumed: bool) -> None:
        """A training started or resumed."""

    def waiting(self, running: Mapping[str, Path]) -> None:
        """Called regularly while trainings run, with the folders of the running ones by name."""

    def finished(self, trial: Trial, folder: Path, problem: str | None) -> None:
        """A training ended; `problem` is its error message, or None."""


def folder_of(trial: Trial, out: Path) -> Path:
    """Return the folder of a run of the comparison in `out`."""
    return out / "runs" / trial.name


def run(trials: Sequence[Trial], out: Path, watcher: Watcher, *, jobs: int) -> bool:
    """Train the runs that are not done yet; return whether all are done now.

    `jobs` trainings run in parallel, each in its own process with one thread; with 0 they run in this process, one
    after another. A run whose folder has the same settings and data resumes from its last checkpoint; a folder with
    other settings or data is renamed. If a training of a killed comparison is still running, it is waited for. On an
    interrupt every training saves a checkpoint first.
    """
    waiting = []
    for trial in trials:
        if _is_done(trial, out):
            watcher.skipped(trial)
        else:
            waiting.append(trial)
    if jobs == 0:
        done = [_here(trial, out, watcher) for trial in waiting]
        return all(done)
    return _beside(waiting, out, watcher, jobs)


def is_done(folder: Path) -> bool:
    """Whether a run has ended by itself, which includes runs that diverged."""
    summary = read_summary(folder)
    return summary is not None and summary.status != "stopped"


def _beside(waiting: Sequence[Trial], out: Path, watcher: Watcher, jobs: int) -> bool:
    """Train in processes of their own."""
    held: set[str] = set()

    def may_start(trial: Trial, _: Sequence[Trial]) -> bool:
        if not RunFolder(folder_of(trial, out)).is_held():
            return True
        if trial.name not in held:
            held.add(trial.name)
            watcher.held(trial)
        return False

    def start(trial: Trial) -> processes.Job | None:
        if trial.name in held and _is_done(trial, out):  # by the process that held it
            watcher.skipped(trial)
            return None
        return _start(trial, out, watcher)

    def ended(trial: Trial, job: processes.Job) -> bool:
        # A diverged training exits with status 1, as errors do, but it is a result.
        done = is_done(job.folder)
        watcher.finished(trial, job.folder, None if done else job.last_words())
        return done

    return processes.run_all(
        waiting,
        jobs,
        may_start=may_start,
        start=start,
        refused=lambda trial, problem: watcher.finished(trial, folder_of(trial, out), problem),
        ended=ended,
        watch=lambda running: watcher.waiting({trial.name: job.folder for trial, job in running}),
    )


def _start(trial: Trial, out: Path, watcher: Watcher) -> processes.Job:
    folder, resumed = _place(trial, out, watcher)
    try:
        data = ["--data", str(trial.data)] if resumed else []  # the file may have moved
        job = processes.start(folder, trial.config().as_yaml(), resumed=resumed, arguments=data)
    except OSError as error:
        raise RunError(f"{folder.parent} cannot be written: {error.strerror or error}") from error
    watcher.started(trial, resumed)
    return job


def _here(trial: Trial, out: Path, watcher: Watcher) -> bool:
    """Train in this process."""
    folder, problem = folder_of(trial, out), None
    try:
        _, resumed = _place(trial, out, watcher)
        watcher.started(trial, resumed)
        summary = resume(folder, {"task": {"data": str(trial.data)}}) if resumed else train(trial.config(), folder)
        if summary["status"] == "stopped":
            raise KeyboardInterrupt  # it has saved a checkpoint; the remaining runs are not started
    except DivergedError:
        pass  # a result too
    except EigenloopError as error:
        problem = str(error)
    watcher.finished(trial, folder, problem)
    return problem is None


def _place(trial: Trial, out: Path, watcher: Watcher) -> tuple[Path, bool]:
    """Return a run's folder, and whether it holds a run to resume; one with other settings or data is renamed."""
    folder = folder_of(trial, out)
    begun = RunFolder(folder).has_config()
    if begun and not _same_settings(trial, folder):
        watcher.set_aside(trial, RunFolder(folder).set_aside())
        begun = False
    return folder, begun


def _is_done(trial: Trial, out: Path) -> bool:
    folder = folder_of(trial, out)
    return _same_settings(trial, folder) and is_done(folder)


def _same_settings(trial: Trial, folder: Path) -> bool:
    try:
        return config_hash(_without_paths(stored_config(folder))) == config_hash(_without_paths(trial.config()))
    except EigenloopError:  # there is no folder, or it cannot be read
        return False


def _without_paths(config: Config) -> Config:
    """Return settings without the paths of the data, which are identified by their hashes."""
    assert isinstance(config.task, Sequences)
    return dataclasses.replace(config, task=dataclasses.replace(config.task, data=None, test_data=None))
