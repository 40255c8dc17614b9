"""Group runs by task, and give each a name that is unique in its group and one that is unique in the report."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any

import yaml

from eigenloop.charts import COLOURS
from eigenloop.report import names
from eigenloop.runs import Run
from eigenloop.runs.effects import Effect, settings_without
from eigenloop.text.names import shortened

#: The most characters of a label beside a curve.
SHORT = 24
#: Settings in which a run on a user's data records properties of the file.
_REMEMBERED = ("channels", "classes", "outputs", "sha256", "test_sha256")


@dataclass(frozen=True)
class Entry:
    """A run with its names and its colour.

    Attributes:
        index: its position in the report.
        label: its name among the runs of its task.
        full: its name among all runs of the report.
        colour: the index of its colour; may exceed the number of colours.
    """

    run: Run
    index: int
    label: str
    full: str
    colour: int

    @property
    def short(self) -> str:
        """Its label where space is limited."""
        return shortened(self.label, SHORT)

    @property
    def style(self) -> str:
        """The CSS classes for its colour; after the last colour they repeat, with dashed lines."""
        return f"c{self.colour % COLOURS}" + (" again" if self.colour >= COLOURS else "")


@dataclass(frozen=True)
class Group:
    """The runs of one task, and the metric by which they are judged.

    Attributes:
        title: the task in a heading, with the options that distinguish it from other tasks of the report.
        phrase: the task inside a sentence.
        options: the settings of the task, as text.
        metric: the name of the metric by which its runs are judged.
    """

    title: str
    phrase: str
    options: tuple[tuple[str, str], ...]
    entries: tuple[Entry, ...]
    metric: str
    higher_is_better: bool

    def baselines(self, metric: str) -> list[float]:
        """Return the distinct baselines of a metric that its runs recorded."""
        baselines = [entry.run.summary.baseline.get(metric) for entry in self.entries if entry.run.summary]
        return list(dict.fromkeys(value for value in baselines if value is not None))


def grouped(runs: Sequence[Run]) -> list[Group]:
    """Group runs by their task, in the order in which they are given."""
    tasks: dict[str, list[int]] = {}
    for index, run in enumerate(runs):
        tasks.setdefault(yaml.safe_dump(_task(run)), []).append(index)
    labels = {index: label for members in tasks.values() for index, label in _labels(runs, members).items()}
    titles = _titles([runs[members[0]] for members in tasks.values()])
    task_of = {index: title for members, title in zip(tasks.values(), titles, strict=True) for index in members}
    repeated = Counter(labels.values())
    colours = {label: colour for colour, label in enumerate(dict.fromkeys(labels[i] for i in range(len(runs))))}
    groups = []
    for members, title in zip(tasks.values(), titles, strict=True):
        entries = [
            Entry(
                run=runs[i],
                index=i,
                label=labels[i],
                full=labels[i] if repeated[labels[i]] == 1 else f"{labels[i]} \N{MIDDLE DOT} {task_of[i]}",
                colour=colours[labels[i]],
            )
            for i in members
        ]
        groups.append(_group(title, entries))
    return groups


def _task(run: Run) -> dict[str, Any]:
    """Return the settings of a task without the paths of its files."""
    return settings_without({Effect.PLACE}, {"task": run.section("task")})["task"]


def _shown(run: Run) -> dict[str, Any]:
    """Return the options of a task for titles; for a user's data the name of the file, not its recorded properties."""
    task = _task(run)
    if task.get("name") != "sequences":
        return task
    chosen = {key: value for key, value in task.items() if key not in _REMEMBERED and value not in (None, [], False)}
    paths = {key: PurePath(str(chosen[key])).name for key in ("data", "test_data") if key in chosen}
    return chosen | paths


def _group(title: str, entries: Sequence[Entry]) -> Group:
    task = _shown(entries[0].run)
    judged = [entry.run.summary for entry in entries if entry.run.summary]
    return Group(
        title=title,
        phrase=names.task(str(task.get("name", "an unnamed task")))[1],
        options=tuple(
            (str(key), names.setting(value)) for key, value in task.items() if key != "name" and value is not None
        ),
        entries=tuple(entries),
        metric=judged[0].metric if judged else "loss",
        higher_is_better=judged[0].higher_is_better if judged else False,
    )


def _labels(runs: Sequence[Run], members: Sequence[int]) -> dict[int, str]:
    """Return the names of a task's runs: the model, and if that is not unique, also the seed or the folder."""
    models = {i: names.model(str(runs[i].section("model").get("name", runs[i].folder.name))) for i in members}
    candidates: list[Callable[[int], str]] = [
        lambda i: models[i],
        lambda i: f"{models[i]} (seed {runs[i].section('training').get('seed')})",
        lambda i: f"{models[i]} ({runs[i].folder.name})",
        lambda i: f"{models[i]} ({runs[i].folder.parent.name}/{runs[i].folder.name})",
        lambda i: f"{models[i]} ({runs[i].folder})",
    ]
    labels: dict[int, str] = {}
    for name in candidates:
        left = [i for i in members if i not in labels]
        counts = Counter(name(i) for i in left)
        labels |= {i: name(i) for i in left if counts[name(i)] == 1}
    return labels


def _titles(first: Sequence[Run]) -> list[str]:
    """Return the titles of tasks: the name, and if several share it, the options in which they differ."""
    titles = []
    for run in first:
        task = _shown(run)
        name = task.get("name", "Unnamed task")
        rivals = [rival for rival in map(_shown, first) if rival.get("name") == task.get("name")]
        keys = dict.fromkeys(key for rival in rivals for key in rival)
        differing = [key for key in keys if len({names.setting(rival.get(key)) for rival in rivals}) > 1]
        parts = [f"{names.quantity(str(key))} {names.setting(task[key])}" for key in differing if key in task]
        titles.append(", ".join([names.task(str(name))[0], *parts]))
    return titles
