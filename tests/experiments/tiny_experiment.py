"""An experiment that takes a second, and a watcher that remembers."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from eigenloop.experiments import Experiment, Planned, Record

TINY = {
    "task": {"name": "copying", "delay": 3, "valid_size": 8, "test_size": 8},
    "training": {"batch_size": 4, "eval_every": 2, "log_every": 1},
}


def experiment(**changes: object) -> Experiment:
    """Two rows, two seeds at hour, and a row of its own length at full."""
    content = {
        "name": "made-up",
        "paper": "nnRNN",
        "item": "Table 0",
        "title": "made up",
        "settings": TINY,
        "budgets": {
            "smoke": {"settings": {"training": {"steps": 2}}},
            "hour": {"settings": {"training": {"steps": 6}}, "seeds": [0, 1]},
            "full": {"settings": {"training": {"steps": 8}}},
        },
        "rows": {
            "scornn": {
                "label": "scoRNN",
                "published": 0.1,
                "settings": {"model": {"name": "scornn", "hidden_size": 6}},
            },
            "lstm": {
                "label": "LSTM",
                "said": "fails",
                "settings": {"model": {"name": "lstm", "hidden_size": 5}, "optimizer": {"lr": 0.01}},
                "budgets": {"full": {"settings": {"training": {"steps": 4}}, "seeds": [7]}},
            },
        },
    }
    return Experiment(**{**content, **changes})


class Watcher:
    """Remembers what it was told."""

    def __init__(self) -> None:
        self.events: list[tuple[str, str]] = []
        self.problems: list[str] = []

    def skipped(self, run: Planned, record: Record) -> None:
        self.events.append(("skipped", run.label))

    def stale(self, run: Planned, record: Record, revisions: Sequence[str], again: bool) -> None:
        self.events.append(("stale, again" if again else "stale", run.label))
        self.problems += revisions

    def set_aside(self, run: Planned, folder: Path) -> None:
        self.events.append(("set aside", folder.name))

    def started(self, run: Planned, resumed: bool) -> None:
        self.events.append(("resumed" if resumed else "started", run.label))

    def waiting(self, running: Mapping[str, Path]) -> None:
        assert len(running) <= 2

    def finished(self, run: Planned, record: Record | None, problem: str | None) -> None:
        self.events.append(("finished" if record else "failed", run.label))
        self.problems += [problem] if problem else []
