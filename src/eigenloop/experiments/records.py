"""The recorded results of runs: ``results/EXPERIMENT/ROW.json``."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from eigenloop.experiments.plan import Planned, config_hash
from eigenloop.experiments.remeasure import measured_again
from eigenloop.experiments.schema import BUDGETS, BudgetName, Experiment, Measure
from eigenloop.runs import MetricLine, Summary, atomic, read_metrics, read_summary
from eigenloop.text.json_text import finite
from eigenloop.text.numbers import significant
from eigenloop.text.points import spread
from eigenloop.training import RunError
from eigenloop.training.runs import numerics_of_run

#: Maximum number of points of a recorded curve.
POINTS = 200


class Record(BaseModel):
    """The result of one run of a row.

    Attributes:
        value: the measured value of the metric, selected by `measure`; None if it was not measured.
        curve: (step, metric) during training, on the validation split or, if the task has none, on the test split;
            empty if another row's network was measured again.
        train_curve: (step, training loss) during training.
        config: all settings.
        complete: whether the run reached its planned end; if not, `steps` is the last step.
        numerics: versions of the arithmetic, see `eigenloop.numerics`.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    budget: BudgetName
    seed: int
    metric: str
    measure: Measure | None
    value: float | None
    baseline: float | None = None
    status: str
    complete: bool
    steps: int = 0
    planned_steps: int | None = None
    epochs: float | None = None
    parameters: int | None = None
    curve: list[tuple[int, float | None]] = []
    train_curve: list[tuple[int, float | None]] = []
    config: dict[str, dict[str, Any]] = {}
    config_hash: str
    numerics: dict[str, int] = {}
    commit: str | None
    seconds: float
    started: str = ""
    versions: dict[str, str]
    machine: dict[str, Any]


def path_of(results: Path, experiment: str, row: str) -> Path:
    """Return the path of the records of a row."""
    return results / experiment / f"{row}.json"


def read(results: Path, experiment: str, row: str) -> list[Record]:
    """Return the records of a row; an empty list if there is no file.

    Raises:
        RunError: the file cannot be read or is damaged.
    """
    path = path_of(results, experiment, row)
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        return [Record(**run) for run in content["runs"]]
    except FileNotFoundError:
        return []
    except OSError as error:
        raise RunError(f"{path} cannot be read: {error.strerror or error}") from error
    except (ValueError, TypeError, KeyError, ValidationError) as error:
        raise RunError(f"{path} is damaged ({type(error).__name__}): restore it, or delete it and run again") from error


def keep(results: Path, experiment: Experiment, row: str, record: Record) -> None:
    """Write the record of a run; it replaces the one with the same budget and seed."""
    others = [r for r in read(results, experiment.name, row) if (r.budget, r.seed) != (record.budget, record.seed)]
    runs = sorted([*others, record], key=lambda r: (BUDGETS.index(r.budget), r.seed))
    path = path_of(results, experiment.name, row)
    content = {"experiment": experiment.name, "row": row, "runs": [run.model_dump(mode="json") for run in runs]}
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        atomic.write_text(path, _written(finite(content)))
    except OSError as error:
        raise unwritable(path.parent, error) from error


def unwritable(folder: Path, error: OSError) -> RunError:
    """Return the error for a folder that cannot be written."""
    return RunError(f"the folder {folder} cannot be written: {error.strerror or error}")


def _written(content: dict[str, Any]) -> str:
    """Return indented JSON with each curve on one line, because one line per number is hard to read."""
    text = json.dumps(content, indent=1)
    curves = [curve for run in content["runs"] for curve in (run["curve"], run["train_curve"]) if curve]
    for curve in curves:
        indented = json.dumps(curve, indent=1).replace("\n", "\n   ")
        text = text.replace(indented, json.dumps(curve), 1)
    return text + "\n"


def collected(run: Planned, folder: Path) -> Record | None:
    """Return the record of a run from its folder, finished or not; None if nothing has been measured yet."""
    metrics, summary = read_metrics(folder), read_summary(folder)
    if not metrics and summary is None:
        return None
    config = run.config()
    metric, measure = run.metric, run.measure
    complete = summary is not None and summary.status in ("finished", "solved", "diverged")
    split = config.task.splits[0]
    curve = [(line.step, line.values.get(metric)) for line in metrics if line.kind == split]
    train = [(line.step, line.values.get("loss")) for line in metrics if line.kind == "train"]
    last = metrics[-1] if metrics else MetricLine(kind="train", step=0, values={})
    if run.shared is None:
        value = measured(measure, metric, summary, curve, train, run.experiment.higher_is_better)
    else:
        curve, train = [], []
        value = measured_again(run, folder)[metric] if summary is not None and summary.test else None
    return Record(
        budget=run.budget,
        seed=run.seed,
        metric=metric,
        measure=measure,
        value=value,
        baseline=((summary.baseline if summary else None) or config.task.baseline()).get(metric),
        status=summary.status if summary else "unfinished",
        complete=complete,
        steps=summary.steps if summary and complete else last.step,
        planned_steps=config.training.steps,
        epochs=last.epoch,
        parameters=summary.parameters if summary else None,
        curve=thinned(curve),
        train_curve=thinned(train),
        config=_without_places(config.as_dict()),
        config_hash=config_hash(config),
        numerics=numerics_of_run(folder),
        commit=summary.commit if summary else None,
        seconds=float(summary.seconds if summary else last.seconds or 0.0),
        started=summary.started if summary else "",
        versions=summary.versions if summary else {},
        machine=summary.machine if summary else {},
    )


def measured(
    measure: Measure,
    metric: str,
    summary: Summary | None,
    curve: Sequence[tuple[int, float | None]],
    train: Sequence[tuple[int, float | None]],
    higher_is_better: bool,
) -> float | None:
    """Return the value that is compared with the published one; None if it has not been measured (yet).

    >>> measured("lowest-train", "loss", None, [], [(10, 0.3), (20, 0.1), (30, 0.2)], False)
    0.1
    """
    best = max if higher_is_better else min
    values = [value for _, value in curve if value is not None]
    losses = [value for _, value in train if value is not None]
    if measure == "lowest-train":
        return min(losses, default=None)
    if measure == "final-train":
        return losses[-1] if losses else None
    if measure == "final":
        return values[-1] if values else None
    if measure == "test":
        test = summary.test.get(metric) if summary is not None and summary.test else None
        return None if test is None else float(test)
    return best(values, default=None)


def thinned(curve: Sequence[tuple[int, float | None]]) -> list[tuple[int, float | None]]:
    """Return at most `POINTS` evenly spaced points of a curve, the last included, with five significant digits.

    >>> len(thinned([(i, 1 / 3) for i in range(1000)])), thinned([(1, 1 / 3)])
    (200, [(1, 0.33333)])
    """
    chosen = spread(len(curve), POINTS)
    return [(curve[i][0], None if (value := curve[i][1]) is None else significant(value, 5)) for i in chosen]


def _without_places(settings: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Return settings without ``data_dir``, a path on one machine."""
    return {section: {k: v for k, v in values.items() if k != "data_dir"} for section, values in settings.items()}
