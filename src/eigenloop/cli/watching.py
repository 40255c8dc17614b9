"""Display an experiment: which runs start and end, and which are running."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.live import Live
from rich.text import Text

from eigenloop.experiments import Experiment, Planned, Record
from eigenloop.experiments.reproduce import progress_of
from eigenloop.text.durations import clock
from eigenloop.text.json_text import json_line
from eigenloop.text.numbers import brief

#: Seconds between progress lines in a pipe.
_EVERY = 60.0


def watcher_for(as_json: bool) -> Watcher:
    """Return the display of an experiment: JSON, or lines of text."""
    return _JSONWatcher() if as_json else Watcher()


class Watcher:
    """Prints a line when a run starts or ends; on a terminal the running ones are shown below."""

    def __init__(self) -> None:
        self._console = Console(highlight=False)
        self._live = Live(console=self._console, refresh_per_second=2, transient=True)
        self._told = time.monotonic()
        self._known, self._new, self._stale = 0, 0, 0

    def __enter__(self) -> Watcher:
        if self._console.is_terminal:
            self._live.start()
        return self

    def __exit__(self, *error: object) -> None:
        if self._console.is_terminal:
            self._live.stop()

    def computed(self, experiment: Experiment, name: str, record: Record, known: bool) -> None:
        """Report the result of an analysis, computed now or before."""
        self._count(known)
        before = "done before, " if known else ""
        self._say(f"{experiment.name}/{name}: {before}{_compared(experiment, name, record)}")

    def left_out(self, experiment: Experiment, budget: str, rows: Sequence[str]) -> None:
        """Report the rows that are not run at a budget."""
        self._say(f"{experiment.name}: not run at budget {budget}: {', '.join(rows)}")

    def ended(self, results: Path) -> None:
        """Report how to run again if all results were already there."""
        if self._known and not self._new and not self._stale:
            self._say(f"All of it is in {results} already. To run it again give other folders: --results and --work.")

    def _count(self, known: bool) -> None:
        self._known += known
        self._new += not known

    def skipped(self, run: Planned, record: Record) -> None:
        """Report a run that was finished before."""
        self._count(known=True)
        self._say(f"{run.label}: done before, {_compared(run.experiment, run.row_name, record)}")

    def stale(self, run: Planned, record: Record, revisions: Sequence[str], again: bool) -> None:
        """Report a finished run, and why its result is stale."""
        if not again:
            self.skipped(run, record)
        self.outdated(run.label, revisions, again)

    def outdated(self, label: str, revisions: Sequence[str], again: bool) -> None:
        """Report that a result is stale."""
        self._stale += 1
        what = "running it again" if again else "run it again with --rerun-stale"
        self._say(f"{label}: stale, made with an older version of the arithmetic ({'; '.join(revisions)}): {what}")

    def set_aside(self, run: Planned, folder: Path) -> None:
        """Report where a different run from the same folder was moved."""
        self._say(f"{run.label}: its folder held a run of other settings or older arithmetic, now in {folder}")

    def started(self, run: Planned, resumed: bool) -> None:
        """Report that a run starts or resumes."""
        self._count(known=False)
        self._say(f"{run.label}: {'resumes' if resumed else 'starts'}")

    def waiting(self, running: Mapping[str, Path]) -> None:
        """Show the running trainings: continuously on a terminal, once a minute elsewhere."""
        now = time.monotonic()
        if self._console.is_terminal:
            if now - self._told >= 1:
                self._told = now
                self._live.update(Text("\n".join(_state(label, folder) for label, folder in running.items())))
        elif now - self._told >= _EVERY:
            self._told = now
            for label, folder in running.items():
                self._say(_state(label, folder))

    def finished(self, run: Planned, record: Record | None, problem: str | None) -> None:
        """Report the result of a run, or why it failed."""
        if record is None:
            self._say(f"{run.label}: failed: {problem}")
        else:
            compared = _compared(run.experiment, run.row_name, record)
            self._say(f"{run.label}: {record.status}, {compared}, {clock(record.seconds)}")

    def _say(self, text: str) -> None:
        self._console.print(text, markup=False, soft_wrap=True)


class _JSONWatcher(Watcher):
    """Prints every event as JSON."""

    def __enter__(self) -> _JSONWatcher:
        return self

    def __exit__(self, *error: object) -> None:
        pass

    def computed(self, experiment: Experiment, name: str, record: Record, known: bool) -> None:
        self._event("skipped" if known else "computed", f"{experiment.name}/{name}", record)

    def left_out(self, experiment: Experiment, budget: str, rows: Sequence[str]) -> None:
        print(json_line({"kind": "left out", "experiment": experiment.name, "budget": budget, "rows": rows}))

    def ended(self, results: Path) -> None:
        pass

    def skipped(self, run: Planned, record: Record) -> None:
        self._event("skipped", run.label, record)

    def outdated(self, label: str, revisions: Sequence[str], again: bool) -> None:
        print(json_line({"kind": "stale", "run": label, "revisions": revisions, "again": again}), flush=True)

    def set_aside(self, run: Planned, folder: Path) -> None:
        print(json_line({"kind": "set aside", "run": run.label, "folder": str(folder)}), flush=True)

    def started(self, run: Planned, resumed: bool) -> None:
        print(json_line({"kind": "started", "run": run.label, "resumed": resumed}), flush=True)

    def waiting(self, running: Mapping[str, Path]) -> None:
        pass

    def finished(self, run: Planned, record: Record | None, problem: str | None) -> None:
        if record is None:
            print(json_line({"kind": "failed", "run": run.label, "problem": problem}), flush=True)
        else:
            self._event("finished", run.label, record)

    @staticmethod
    def _event(kind: str, label: str, record: Record) -> None:
        content: dict[str, Any] = record.model_dump(mode="json", exclude={"curve", "train_curve", "config"})
        print(json_line({"kind": kind, "run": label, **content}), flush=True)


def _state(label: str, folder: Path) -> str:
    line = progress_of(folder)
    if line is None:
        return f"{label}: starting"
    loss = line.values.get("loss")
    loss_text = "" if loss is None else f"{line.kind} loss {brief(loss)}, "
    return f"{label}: step {line.step}, {loss_text}{clock(line.seconds or 0.0)}"


def _compared(experiment: Experiment, name: str, record: Record) -> str:
    row = experiment.rows[name]
    ours = "nothing measured" if record.value is None else f"{record.metric} {brief(record.value, 5)}"
    if record.budget == "smoke":
        return f"{ours} (a smoke run, too short to be compared with the paper)"
    if row.tuned is not None:
        return f"{ours} (settings of ours; the paper's: row {row.tuned.row})"
    theirs = f"published {brief(row.published, 5)}" if row.published is not None else f"published: {row.said}"
    return f"{ours} ({theirs})"
