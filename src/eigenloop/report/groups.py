"""Runs of the same task belong together; within a group, and within the report, each has a name of its own."""

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

#: The most letters that a label beside a curve has.
SHORT = 24
#: What a run on own data remembers of its file.
_REMEMBERED = ("channels", "classes", "outputs", "sha256", "test_sha256")


@dataclass(frozen=True)
class Entry:
    """A run with the names and the colour it goes by.

    Attributes:
        index: its position in the report.
        label: its name among the runs of its task.
        full: its name among all runs of the report.
        colour: which colour it has, counted on beyond the number of colours.
    """

    run: Run
    index: int
    label: str
    full: str
    colour: int

    @property
    def short(self) -> str:
        """Its label where there is little room."""
        return shortened(self.label, SHORT)

    @property
    def style(self) -> str:
        """The classes of the style sheet that give it its colour; beyond the last one the same again, dashed."""
        return f"c{self.colour % COLOURS}" + (" again" if self.colour >= COLOURS else "")


@dataclass(frozen=True)
class Group:
    """The runs of one task, and what they are judged by.

    Attributes:
        title: the task in a heading, with the options that tell it from other tasks of the report.
        phrase: the task inside a sentence.
        options: the settings of the task, as texts.
        metric: the name of what its runs are judged by.
    """

    title: str
    phrase: str
    options: tuple[tuple[str, str], ...]
    entries: tuple[Entry, ...]
    metric: str
    higher_is_better: bool

    def baselines(self, metric: str) -> list[float]:
        """Return the distinct baselines of a metric that its runs know."""
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
    """Return what a task is, without where its files are."""
    return settings_without({Effect.PLACE}, {"task": run.section("task")})["task"]


def _shown(run: Run) -> dict[str, Any]:
    """Return the options of a task for titles: of own data the file's name, not what the run remembers of it."""
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
    """Name the runs of a task: by the model, and where that is not enough by the seed or by the folder as well."""
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
    """Title the tasks: by name, and where tasks share it by the options in which they differ."""
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
