"""Experiments that no paper has, and results of runs that never ran."""

from pathlib import Path
from typing import Any

from eigenloop import numerics
from eigenloop.comparison import Line, Sheet, compare
from eigenloop.experiments import Experiment, Record, records
from eigenloop.experiments.library import parsed

EVIL = "a|b <script>alert(1)</script> & `c` \"q\" 'r' *s* {{ 7 * 7 }}"
ROWS: dict[str, dict[str, Any]] = {
    "gru": {"label": "GRU", "published": 2e-5, "settings": {"model": {"name": "gru", "hidden_size": 4}}},
    "ours": {"label": "NC-GRU", "published": 1e-5, "settings": {"model": {"name": "ncgru", "hidden_size": 4}}},
}
BUDGETS = {
    "smoke": {"settings": {"training": {"steps": 3}}},
    "hour": {"seeds": [0, 1, 2], "settings": {"training": {"steps": 4000}}},
    "full": {"settings": {"training": {"steps": 20000}}},
}


def experiment(name: str = "made-up", rows: dict[str, dict[str, Any]] | None = None, **changes: Any) -> Experiment:
    """A table on the adding task, with two rows unless others are given."""
    content: dict[str, Any] = {
        "paper": "NC-GRU",
        "item": "Table 3",
        "title": "adding",
        "measure": "lowest-train",
        "settings": {"task": {"name": "adding", "length": 20}},
        "budgets": BUDGETS,
        "rows": rows or ROWS,
    }
    return parsed(content | changes, name)


def analysis(name: str = "made-up-analysis") -> Experiment:
    """A table whose numbers are computed."""
    rows = {
        "first": {"label": "first", "published": 5.19, "value": ["rows", 0]},
        "second": {"label": "second", "published": 3.0, "value": ["rows", 1], "claim": {"below_row": "first"}},
    }
    return parsed(
        {"paper": "nnRNN", "item": "Table 6", "title": "memory", "analysis": {"name": "fisher"}, "rows": rows}, name
    )


def record(value: float | None, **changes: Any) -> Record:
    """A finished run at budget hour, unless said otherwise."""
    budget = changes.get("budget", "hour")
    planned = {"smoke": 3, "hour": 4000, "full": 20000}[budget]
    content: dict[str, Any] = {
        "budget": budget,
        "seed": 0,
        "metric": "loss",
        "measure": "lowest-train",
        "value": value,
        "baseline": 1 / 6,
        "status": "finished",
        "complete": True,
        "steps": planned,
        "planned_steps": planned,
        "train_curve": [(i * planned // 50, 0.17 * 0.8**i) for i in range(50)],
        "config_hash": "0" * 12,
        "numerics": numerics.versions(numerics.REVISIONS),
        "commit": "abcdef123456",
        "seconds": 61.0,
        "versions": {"torch": "2.13.0"},
        "machine": {"processor": "a processor", "system": "Linux"},
    }
    return Record(**content | changes)


def computed(value: float) -> Record:
    return record(value, budget="full", status="computed", measure=None, train_curve=[], config_hash="", baseline=None)


def keep(results: Path, made: Experiment, **found: Record | list[Record]) -> None:
    """Write records down by row; an underscore in the name of a row is a dash."""
    for row, runs in found.items():
        for run in runs if isinstance(runs, list) else [runs]:
            records.keep(results, made, row.replace("_", "-"), run)


def sheet(results: Path, made: Experiment, **found: Record | list[Record]) -> Sheet:
    keep(results, made, **found)
    return compare([made], results)[0]


def line(results: Path, *runs: Record, **row: Any) -> Line:
    """The only row of an experiment with some runs."""
    made = experiment(rows={"row": ROWS["gru"] | row})
    return sheet(results, made, row=list(runs)).line("row")
