"""Compare the settings of runs: in which settings they differ, and which runs differ only in the seed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import yaml

from eigenloop.report import names
from eigenloop.report.groups import Entry, Group
from eigenloop.report.values import finite, number
from eigenloop.runs import Run
from eigenloop.runs.effects import Effect, settings_without
from eigenloop.text.durations import duration
from eigenloop.text.typography import quantity

#: Settings that the table, a label or the sentence on lengths already shows.
_SHOWN = {"model.name", "model.hidden_size", "training.steps", "training.epochs", "training.seed"}


def flat(run: Run) -> dict[str, Any]:
    """Return the settings by ``section.key``, without those of paths and logging."""
    settings = settings_without({Effect.PLACE, Effect.LOG}, {section: run.section(section) for section in run.config})
    return {f"{section}.{key}": value for section, values in settings.items() for key, value in values.items()}


def differing(groups: Sequence[Group]) -> list[str]:
    """Return the settings that at least two runs of a task have, with different values."""
    places: dict[str, None] = {}
    for group in groups:
        settings = [flat(entry.run) for entry in group.entries]
        for place in dict.fromkeys(place for each in settings for place in each if not place.startswith("task.")):
            values = {names.setting(each[place]) for each in settings if place in each}
            if len(values) > 1 and place not in _SHOWN:
                places[place] = None
    return list(places)


def heading(place: str) -> str:
    """Return the column heading of a setting.

    >>> heading("training.batch_size"), heading("optimizer.name"), heading("optimizer.lr")
    ('Batch size', 'Optimizer', 'Learning rate')
    """
    section, _, key = place.partition(".")
    words = section if key == "name" else names.quantity(key)
    return words[:1].upper() + words[1:]


def by_seed(group: Group) -> list[tuple[Entry, ...]]:
    """Group the runs that finished, were tested and differ only in the seed; every other run is a group of one."""
    sets: dict[object, list[Entry]] = {}
    for entry in group.entries:
        settings = flat(entry.run)
        seed = settings.pop("training.seed", None)
        summary = entry.run.summary
        tested = summary is not None and summary.test is not None and finite(summary.test.get(group.metric)) is not None
        ended = tested and seed is not None and entry.run.status in ("finished", "solved")
        others = sets.setdefault(yaml.safe_dump(settings), []) if ended else []
        if not ended or seed in (other.run.section("training")["seed"] for other in others):
            others = sets.setdefault(entry.index, [])
        others.append(entry)
    return [tuple(entries) for entries in sets.values()]


def together(entries: Sequence[Entry], group: Group) -> Entry:
    """Return the entry that stands for runs of several seeds: the first, renamed."""
    first, model = entries[0], names.model(str(entries[0].run.section("model").get("name")))
    if len(entries) == 1:
        return first
    alone = len(entries) == sum(entry.label.startswith(model) for entry in group.entries)
    folders = "" if alone else f"{first.run.folder.name}, ...; "
    label = f"{model} ({folders}{len(entries)} seeds)"
    return replace(first, label=label, full=label)


def unequal(group: Group) -> str | None:
    """Return a sentence on the planned lengths and batch sizes of a task's runs; None if all are the same."""
    said: dict[str, str] = {}
    for entries in by_seed(group):
        training = entries[0].run.section("training")
        length, unit = next(((training[u], u) for u in ("steps", "epochs") if number(training.get(u))), (None, ""))
        batch = number(training.get("batch_size"))
        limit = number(training.get("max_seconds"))
        if length is not None and batch is not None:
            planned = f"{quantity(length)} {unit}" if limit is None else f"at most {duration(limit)}"
            said[together(entries, group).label] = f"{planned}, {quantity(batch)} sequences per step"
    if len(set(said.values())) < 2:
        return None
    return f"Trained differently: {'; '.join(f'{label} {plan}' for label, plan in said.items())}."
