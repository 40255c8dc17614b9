"""Display a training: a progress bar on a terminal, plain lines in a pipe, or JSON."""

from __future__ import annotations

import shlex
import time
from collections.abc import Mapping
from typing import Any, Protocol

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn

from eigenloop.text.durations import clock
from eigenloop.text.json_text import json_line
from eigenloop.text.numbers import brief
from eigenloop.training.reporter import Beginning, Reporter


class Display(Reporter, Protocol):
    """A reporter that restores the terminal, however the training ends."""

    def close(self) -> None:
        """Stop drawing."""


def display_for(as_json: bool) -> Display:
    """Return the display for JSON, for a terminal or for a pipe."""
    if as_json:
        return JSONLines()
    console = Console(highlight=False)
    return Bar(console) if console.is_terminal else Lines()


class JSONLines:
    """Prints every record of metrics, and the summary, as JSON."""

    def begin(self, beginning: Beginning) -> None:
        """Print title, size and baseline of the training."""
        self._print({"kind": "begin", **beginning.__dict__})

    def step(self, step: int, loss: float) -> None:
        """Print nothing; `metrics` prints records at intervals."""

    def metrics(self, record: Mapping[str, Any]) -> None:
        """Print the record."""
        self._print(record)

    def notice(self, text: str) -> None:
        """Print the text."""
        self._print({"kind": "notice", "text": text})

    def end(self, summary: Mapping[str, Any]) -> None:
        """Print the summary."""
        self._print({"kind": "summary", **summary})

    def close(self) -> None:
        """Do nothing."""

    @staticmethod
    def _print(record: Mapping[str, Any]) -> None:
        print(json_line(record), flush=True)


class Lines:
    """Prints a plain line for records of metrics, at most one per second for training."""

    def __init__(self) -> None:
        self._state = _Seen()
        self._printed = -1.0

    def begin(self, beginning: Beginning) -> None:
        """Print title, size and baseline of the training."""
        self._state.begin(beginning)
        for line in _opening(beginning):
            print(line, flush=True)

    def step(self, step: int, loss: float) -> None:
        """Record step and loss for the next line."""
        self._state.step(step, loss)

    def metrics(self, record: Mapping[str, Any]) -> None:
        """Print the progress of the training."""
        self._state.metrics(record)
        now = time.monotonic()
        if record["kind"] != "train" or now - self._printed >= 1:
            self._printed = now
            print(f"step {record['step']}/{self._state.steps}  {self._state.text()}", flush=True)

    def notice(self, text: str) -> None:
        """Print the text."""
        print(text, flush=True)

    def end(self, summary: Mapping[str, Any]) -> None:
        """Print the result."""
        for line in _closing(summary, self._state):
            print(line, flush=True)

    def close(self) -> None:
        """Do nothing."""


class Bar:
    """A progress bar with loss, baseline, defect, conditioning, speed and time left."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._state = _Seen()
        self._progress: Progress | None = None
        self._task = TaskID(0)

    def begin(self, beginning: Beginning) -> None:
        """Print title, size and baseline of the training, and start the bar."""
        self._state.begin(beginning)
        for line in _opening(beginning):
            self._console.print(line, markup=False)
        columns = (BarColumn(bar_width=24), MofNCompleteColumn(), TextColumn("{task.description}"))
        self._progress = Progress(*columns, console=self._console)
        self._task = self._progress.add_task("", total=beginning.steps, completed=beginning.done)
        self._progress.start()

    def step(self, step: int, loss: float) -> None:
        """Move the bar."""
        self._state.step(step, loss)
        if self._progress is not None:
            self._progress.update(self._task, completed=step, description=self._state.text())

    def metrics(self, record: Mapping[str, Any]) -> None:
        """Record the metrics for the text beside the bar."""
        self._state.metrics(record)

    def notice(self, text: str) -> None:
        """Print the text above the bar."""
        self._console.print(text, markup=False)

    def end(self, summary: Mapping[str, Any]) -> None:
        """Close the bar and print the result."""
        self.close()
        for line in _closing(summary, self._state):
            self._console.print(line, markup=False)

    def close(self) -> None:
        """Close the bar, whatever happened."""
        if self._progress is not None:
            self._progress.stop()
            self._progress = None


class _Seen:
    """The state of a training as reported up to now, and its line of text."""

    def __init__(self) -> None:
        self.folder, self.steps, self.baseline, self.metric = "", 0, {"loss": float("nan")}, "loss"
        self.counted: str | None = None
        self.loss: float | None = None
        self.evaluated = ""
        self.defect: float | None = None
        self.ratio: float | None = None
        self._deadline: float | None = None
        self._marks: list[tuple[float, int]] = []
        self._step = 0

    def begin(self, beginning: Beginning) -> None:
        self.folder, self.steps, self.metric = beginning.folder, beginning.steps, beginning.metric
        self.baseline, self.counted = dict(beginning.baseline), beginning.counted
        began = time.monotonic()
        if beginning.max_seconds is not None:
            self._deadline = began + beginning.max_seconds - beginning.seconds
        self._marks, self._step = [(began, beginning.done)], beginning.done

    def step(self, step: int, loss: float) -> None:
        self._step = step
        # A moving average, as the loss of single batches is noisy.
        self.loss = loss if self.loss is None else 0.9 * self.loss + 0.1 * loss
        now = time.monotonic()
        if now - self._marks[-1][0] >= 1:
            self._marks = [*self._marks[-30:], (now, step)]

    def metrics(self, record: Mapping[str, Any]) -> None:
        if record["kind"] == "train":
            self.loss, self.defect, self.ratio = record["loss"], record["defect"], record.get("singular_ratio")
        else:
            self.evaluated = f"{record['kind']} {self.metric} {brief(record[self.metric])}"

    def rate(self) -> float:
        """Return the recent steps per second."""
        (then, before), now = self._marks[0], time.monotonic()
        return (self._step - before) / max(now - then, 1e-9)

    def left(self) -> float | None:
        """Return the seconds until the last step or until the time limit, whichever is less; None if unknown."""
        rate = self.rate()
        remaining = [(self.steps - self._step) / rate] if rate > 0 else []
        if self._deadline is not None:
            remaining.append(max(self._deadline - time.monotonic(), 0.0))
        return min(remaining) if remaining else None

    def text(self) -> str:
        loss = "" if self.loss is None else f"loss {brief(self.loss)} (baseline {brief(self.baseline['loss'])})"
        parts = [loss, self.evaluated]
        if self.defect is not None:
            parts.append(f"defect {self.defect:.0e}")
        if self.ratio is not None:
            parts.append(f"smin/smax {self.ratio:.3f}")
        parts.append(f"{brief(self.rate(), 3)} steps/s")
        left = self.left()
        if left is not None:
            parts.append(f"{clock(left)} left")
        return "  ".join(part for part in parts if part)


def _opening(beginning: Beginning) -> list[str]:
    baseline = ", ".join(f"{name} {brief(value)}" for name, value in beginning.baseline.items())
    lines = [
        f"{beginning.title}: {beginning.parameters:,} parameters, {beginning.steps:,} steps, in {beginning.folder}",
        f"baseline (best constant prediction): {baseline}",
    ]
    if beginning.recurrent_lr is not None:
        rates = f"--lr {beginning.lr:g}, and for the recurrent matrix --recurrent-lr {beginning.recurrent_lr:g}"
        lines.append(f"learning rates: {rates} (set separately)")
    if beginning.done:
        lines.append(f"resuming from step {beginning.done:,}")
    return lines


def _closing(summary: Mapping[str, Any], seen: _Seen) -> list[str]:
    folder, over, votes = seen.folder, "", ""
    if seen.counted is not None:
        over = f", every one of the {seen.counted} by itself"
        votes = f"   (there the {seen.counted} of a recording vote)"
    lines = [f"{summary['status']} after {summary['steps']:,} steps, {clock(summary['seconds'])}: {summary['reason']}"]
    for name in ("best", "test"):
        if summary.get(name):
            values = "  ".join(f"{key} {brief(value)}" for key, value in summary[name].items() if key != "step")
            at = f" (step {summary[name]['step']})" if name == "best" else ""
            lines.append(f"{'best on valid' if name == 'best' else name}{at}{over}: {values}")
    if summary["status"] == "stopped":
        lines.append(f"continue with: eigenloop train --out {shlex.quote(folder)} --resume")
    elif summary["task"] == "sequences":
        lines.append(f"evaluate it with: eigenloop eval {shlex.quote(folder)} --split test{votes}")
        lines.append(f"predict with: eigenloop predict {shlex.quote(folder)} FILE --out predictions.csv")
    lines.append(f"see it with: eigenloop report {shlex.quote(folder)}")
    return lines
