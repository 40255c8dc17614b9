"""Running an experiment: several trainings at once, each resumable, skipping what is done."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from eigenloop.experiments import jobs as processes
from eigenloop.experiments import records
from eigenloop.experiments.plan import Planned, config_hash
from eigenloop.experiments.records import Record
from eigenloop.numerics import revised_since
from eigenloop.runs import MetricLine, RunFolder, read_metrics
from eigenloop.tasks import DataError
from eigenloop.training import ConfigError, DivergedError, RunError, resume, train
from eigenloop.training.runs import can_go_on, numerics_of_run, stored_config
from eigenloop.training.settings.config import reads_files, with_data_dir
from eigenloop.training.signals import Interruption


class Watcher(Protocol):
    """Something that shows how an experiment goes."""

    def skipped(self, run: Planned, record: Record) -> None:
        """A run is done already."""

    def stale(self, run: Planned, record: Record, revisions: Sequence[str], again: bool) -> None:
        """A run is done, but with an older version of the arithmetic; running it again if that was asked for."""

    def set_aside(self, run: Planned, folder: Path) -> None:
        """What stood in a run's folder was made with other settings or older arithmetic, and is now in `folder`."""

    def started(self, run: Planned, resumed: bool) -> None:
        """A training started or resumed."""

    def waiting(self, running: Mapping[str, Path]) -> None:
        """Some time has passed; the folders of what runs now, by label."""

    def finished(self, run: Planned, record: Record | None, problem: str | None) -> None:
        """A training ended, with what came of it, or with what was wrong."""


@dataclass
class _Running:
    run: Planned
    job: processes.Job


def reproduce(
    runs: Sequence[Planned],
    results: Path,
    work: Path,
    watcher: Watcher,
    *,
    jobs: int,
    data_dir: Path | None = None,
    rerun_stale: bool = False,
) -> bool:
    """Train what is not done yet; return whether everything is done now.

    `jobs` trainings run at a time, each in a process of its own with one thread. With 0 they run in this process, one
    after another, which spares tiny ones the seconds that starting Python and torch takes.

    A run's folder is ``WORK/EXPERIMENT/ROW-BUDGET-SEED``; if it is there with the same settings and arithmetic,
    training resumes in it, and if with others, it is renamed. A result of an older arithmetic (`eigenloop.numerics`)
    counts as done unless `rerun_stale`. Rows that share a training share its folder, one after another: the first
    trains, the others find it done. When a run ends its record goes to `results`. An interruption, be it Ctrl-C or
    SIGTERM, lets every training save itself first. Tasks that make their own data do not look at `data_dir`.
    """
    waiting = [run for run in runs if not _done(run, results, watcher, rerun_stale)]
    try:
        results.mkdir(parents=True, exist_ok=True)  # rather refused now than after hours of training
    except OSError as error:
        raise records.unwritable(results, error) from error
    if jobs == 0:
        done = [_here(run, results, work, watcher, _for_task(run, data_dir)) for run in waiting]
        return all(done)
    running: list[_Running] = []
    good = True
    try:
        with Interruption() as interruption:
            while waiting or running:
                if interruption.asked:
                    raise KeyboardInterrupt
                while len(running) < jobs and (run := _ready(waiting, running)) is not None:
                    waiting.remove(run)
                    try:
                        running.append(_start(run, work, watcher, _for_task(run, data_dir)))
                    except RunError as error:
                        watcher.finished(run, None, str(error))
                        good = False
                ended = [each for each in running if each.job.ended]
                for each in ended:
                    running.remove(each)
                    good = _end(each, results, watcher) and good
                if not ended:
                    watcher.waiting({each.run.label: each.job.folder for each in running})
                    time.sleep(0.2)
    finally:
        processes.stop(each.job for each in running)
    return good


def _ready(waiting: Sequence[Planned], running: Sequence[_Running]) -> Planned | None:
    """Return the first run whose folder nobody is training in."""
    taken = {each.run.training.label for each in running}
    return next((run for run in waiting if run.training.label not in taken), None)


def collect(runs: Sequence[Planned], results: Path, work: Path) -> list[tuple[Planned, Record]]:
    """Write down how far the runs in `work` have come, without training; return what was found."""
    collected = []
    for run in runs:
        folder = folder_of(run, work)
        if not _same_settings(run, folder):
            continue
        record = records.collected(run, folder)
        if record is not None:
            records.keep(results, run.experiment, run.row_name, record)
            collected.append((run, record))
    return collected


def folder_of(run: Planned, work: Path) -> Path:
    """Return the folder of a run: that of its training."""
    return work / run.training.label


def _done(run: Planned, results: Path, watcher: Watcher, rerun_stale: bool) -> bool:
    """Whether the results hold this run already, made with the settings that it has now."""
    wanted = (run.budget, run.seed, config_hash(run.config()), run.metric, run.measure)
    for record in records.read(results, run.experiment.name, run.row_name):
        recorded = (record.budget, record.seed, record.config_hash, record.metric, record.measure)
        if recorded == wanted and record.complete:
            revisions = revised_since(record.numerics, run.numerics())
            if revisions:
                watcher.stale(run, record, revisions, rerun_stale)
                return not rerun_stale
            watcher.skipped(run, record)
            return True
    return False


def _here(run: Planned, results: Path, work: Path, watcher: Watcher, data_dir: Path | None) -> bool:
    """Train in this process."""
    try:
        folder, resumed = _place(run, work, watcher)
        watcher.started(run, resumed)
        if resumed:
            summary = resume(folder, {} if data_dir is None else {"task": {"data_dir": str(data_dir)}})
        else:
            config = run.training.config()
            summary = train(config if data_dir is None else with_data_dir(config, data_dir), folder)
        if summary["status"] == "stopped":
            raise KeyboardInterrupt  # it saved itself; those after it are not begun
    except (ConfigError, DataError, RunError) as error:
        watcher.finished(run, None, str(error))
        return False
    except DivergedError:
        pass  # a result too
    return _written(run, folder, results, watcher)


def _for_task(run: Planned, data_dir: Path | None) -> Path | None:
    """Return the folder of data if the run's task reads any."""
    return data_dir if reads_files(run.config().task) else None


def _place(run: Planned, work: Path, watcher: Watcher) -> tuple[Path, bool]:
    """Return a run's folder, and whether it was begun; one that cannot become this run's result is renamed."""
    folder = folder_of(run, work)
    begun = RunFolder(folder).has_config()
    if begun and not _usable(run, folder):
        watcher.set_aside(run, RunFolder(folder).set_aside())
        begun = False
    return folder, begun


def _usable(run: Planned, folder: Path) -> bool:
    """Whether a folder's run has these settings and this arithmetic, and can resume."""
    return (
        _same_settings(run, folder) and not revised_since(numerics_of_run(folder), run.numerics()) and can_go_on(folder)
    )


def _start(run: Planned, work: Path, watcher: Watcher, data_dir: Path | None) -> _Running:
    """Start or resume a training in its own process."""
    folder, resumed = _place(run, work, watcher)
    arguments = [] if data_dir is None else ["--data-dir", str(data_dir)]
    try:
        job = processes.start(folder, run.training.config().as_yaml(), resumed=resumed, arguments=arguments)
    except OSError as error:
        raise records.unwritable(folder.parent, error) from error
    watcher.started(run, resumed)
    return _Running(run, job)


def _same_settings(run: Planned, folder: Path) -> bool:
    try:
        return config_hash(stored_config(folder)) == config_hash(run.training.config())
    except (ConfigError, RunError):  # nothing there, or nothing that can be read
        return False


def _end(running: _Running, results: Path, watcher: Watcher) -> bool:
    """Write down what came of a training in another process."""
    job = running.job
    if job.process.returncode in (0, 1) and _written(running.run, job.folder, results, watcher):
        return True
    watcher.finished(running.run, None, job.last_words())
    return False


def _written(run: Planned, folder: Path, results: Path, watcher: Watcher) -> bool:
    """Write down what came of a training that went to its end; one that reached NaN is a result too."""
    record = records.collected(run, folder)
    if record is None or not record.complete:
        return False
    records.keep(results, run.experiment, run.row_name, record)
    watcher.finished(run, record, None)
    return True


def progress_of(folder: Path) -> MetricLine | None:
    """Return the newest line of metrics of a run; None before there is one."""
    lines = read_metrics(folder)
    return lines[-1] if lines else None
