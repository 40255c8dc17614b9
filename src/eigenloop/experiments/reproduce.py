"""Running an experiment: several trainings in parallel, each resumable; finished runs are skipped."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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


class Watcher(Protocol):
    """The interface through which an experiment reports its progress."""

    def skipped(self, run: Planned, record: Record) -> None:
        """A run was done already."""

    def stale(self, run: Planned, record: Record, revisions: Sequence[str], again: bool) -> None:
        """A run was done with an older version of the arithmetic; `again` says whether it is run again."""

    def set_aside(self, run: Planned, folder: Path) -> None:
        """The run's folder held a run with other settings or older arithmetic, which was renamed to `folder`."""

    def started(self, run: Planned, resumed: bool) -> None:
        """A training started or resumed."""

    def waiting(self, running: Mapping[str, Path]) -> None:
        """Called regularly while trainings run, with the folders of the running ones by label."""

    def finished(self, run: Planned, record: Record | None, problem: str | None) -> None:
        """A training ended, with its record, or with its error message in `problem`."""


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
    """Train the runs that are not done yet; return whether all are done now.

    A run's folder is ``WORK/EXPERIMENT/ROW-BUDGET-SEED``. If it exists with the same settings and arithmetic, training
    resumes in it; with others, it is renamed. Rows that share a training share its folder: the first one trains, the
    others reuse its result. When a run ends, its record is written to `results`. On Ctrl-C or SIGTERM every training
    saves a checkpoint first.

    Args:
        runs: the planned runs.
        results: the folder of the records.
        work: the folder of the run folders.
        watcher: receives the progress.
        jobs: number of trainings that run in parallel, each in its own process with one thread. With 0 they run in
            this process, one after another, which saves short trainings the time to start Python and torch.
        data_dir: the folder of the data; ignored by tasks that generate their data.
        rerun_stale: run again what was trained with an older version of the arithmetic (`eigenloop.numerics`);
            otherwise it counts as done.
    """
    waiting = [run for run in runs if not _done(run, results, watcher, rerun_stale)]
    try:
        results.mkdir(parents=True, exist_ok=True)  # an error now, not after hours of training
    except OSError as error:
        raise records.unwritable(results, error) from error
    if jobs == 0:
        done = [_here(run, results, work, watcher, _for_task(run, data_dir)) for run in waiting]
        return all(done)
    return processes.run_all(
        waiting,
        jobs,
        # Rows that share a training wait for it, and then reuse its result.
        may_start=lambda run, running: run.training.label not in {each.training.label for each in running},
        start=lambda run: _start(run, work, watcher, _for_task(run, data_dir)),
        refused=lambda run, problem: watcher.finished(run, None, problem),
        ended=lambda run, job: _end(run, job, results, watcher),
        watch=lambda running: watcher.waiting({run.label: job.folder for run, job in running}),
    )


def collect(runs: Sequence[Planned], results: Path, work: Path) -> list[tuple[Planned, Record]]:
    """Record the current results of the runs in `work` without training; return the recorded runs."""
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
    """Return the folder of a run's training."""
    return work / run.training.label


def _done(run: Planned, results: Path, watcher: Watcher, rerun_stale: bool) -> bool:
    """Whether `results` holds a complete record of this run with its current settings."""
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
            raise KeyboardInterrupt  # it has saved a checkpoint; the remaining runs are not started
    except (ConfigError, DataError, RunError) as error:
        watcher.finished(run, None, str(error))
        return False
    except DivergedError:
        pass  # a result too
    return _written(run, folder, results, watcher)


def _for_task(run: Planned, data_dir: Path | None) -> Path | None:
    """Return `data_dir` if the run's task reads files, otherwise None."""
    return data_dir if reads_files(run.config().task) else None


def _place(run: Planned, work: Path, watcher: Watcher) -> tuple[Path, bool]:
    """Return a run's folder, and whether it holds a run to resume; one that cannot be resumed is renamed."""
    folder = folder_of(run, work)
    begun = RunFolder(folder).has_config()
    if begun and not _usable(run, folder):
        watcher.set_aside(run, RunFolder(folder).set_aside())
        begun = False
    return folder, begun


def _usable(run: Planned, folder: Path) -> bool:
    """Whether the run in a folder has these settings and this arithmetic, and can be resumed."""
    return (
        _same_settings(run, folder) and not revised_since(numerics_of_run(folder), run.numerics()) and can_go_on(folder)
    )


def _start(run: Planned, work: Path, watcher: Watcher, data_dir: Path | None) -> processes.Job:
    """Start or resume a training in its own process."""
    folder, resumed = _place(run, work, watcher)
    arguments = [] if data_dir is None else ["--data-dir", str(data_dir)]
    try:
        job = processes.start(folder, run.training.config().as_yaml(), resumed=resumed, arguments=arguments)
    except OSError as error:
        raise records.unwritable(folder.parent, error) from error
    watcher.started(run, resumed)
    return job


def _same_settings(run: Planned, folder: Path) -> bool:
    try:
        return config_hash(stored_config(folder)) == config_hash(run.training.config())
    except (ConfigError, RunError):  # there is no folder, or it cannot be read
        return False


def _end(run: Planned, job: processes.Job, results: Path, watcher: Watcher) -> bool:
    """Record the result of a training in another process; return whether it was complete."""
    if job.process.returncode in (0, 1) and _written(run, job.folder, results, watcher):
        return True
    watcher.finished(run, None, job.last_words())
    return False


def _written(run: Planned, folder: Path, results: Path, watcher: Watcher) -> bool:
    """Record the result of a training that is complete, which includes one that diverged; return whether it is."""
    record = records.collected(run, folder)
    if record is None or not record.complete:
        return False
    records.keep(results, run.experiment, run.row_name, record)
    watcher.finished(run, record, None)
    return True


def progress_of(folder: Path) -> MetricLine | None:
    """Return the newest line of metrics of a run, or None if there is none yet."""
    lines = read_metrics(folder)
    return lines[-1] if lines else None
