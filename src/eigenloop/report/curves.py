"""Figures over training, with a choice of quantity and axis: learning curves, distance from the set, conditioning."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from eigenloop.charts import Chart, Figure, Key, Line, draw, scales, thinned
from eigenloop.charts.lines import Weight
from eigenloop.report import names
from eigenloop.report.groups import Entry, Group
from eigenloop.runs.run import KINDS
from eigenloop.text.names import enumeration
from eigenloop.text.typography import quantity

DEFECT, RATIO = "defect", "singular_ratio"
#: The machine epsilon of the types that a run may be trained in.
ROUNDING = {"float32": 2.0**-23, "float64": 2.0**-52}
#: The names of the splits, and of the horizontal axes.
SPLITS = {"train": "training", "valid": "validation", "test": "test"}
AXES = {"steps": "training step", "time": "training time"}


@dataclass(frozen=True)
class Track:
    """The measurements of a run on one split: training, validation or test."""

    entry: Entry
    kind: str

    def values(self, name: str) -> list[float | None]:
        """Return all values of a quantity; None where it was not measured or is not finite."""
        values = (line.values.get(name) for line in self.entry.run.lines[self.kind])
        return [value if value is not None and math.isfinite(value) else None for value in values]

    def finite(self, name: str) -> list[float]:
        """Return the values of a quantity that are finite."""
        return [value for value in self.values(name) if value is not None]

    @cached_property
    def quantities(self) -> list[str]:
        """The names of the measured quantities."""
        return list(dict.fromkeys(name for line in self.entry.run.lines[self.kind] for name in line.values))

    def places(self, axis: str) -> list[float | None]:
        """Return the positions of its values on an axis: steps, or seconds."""
        return [line.step if axis == "steps" else line.seconds for line in self.entry.run.lines[self.kind]]


def learning(group: Group, key: str) -> Figure | None:
    """Return the learning curves of a task; None if nothing has been measured yet."""
    tracks = _tracks(group)
    quantities = _quantities(tracks, group.metric)
    if not quantities:
        return None
    return _figure(group, key, tracks, {name: _baselines(group, name) for name in quantities}, _unevaluated(group))


def defects(group: Group, key: str) -> Figure | None:
    """Return the curves of the distance of W from its set; None if no run measures it."""
    tracks = _tracks(group)
    drawn = [track for track in tracks if any(value > 0 for value in track.finite(DEFECT))]
    if not drawn:
        return None
    types = {str(track.entry.run.section("training").get("dtype")) for track in drawn}
    references = {f"one rounding of {kind}": ROUNDING[kind] for kind in sorted(types) if kind in ROUNDING}
    return _figure(group, key, drawn, {DEFECT: references}, _unmeasured(group, tracks))


def conditioning(group: Group, key: str) -> Figure | None:
    """Return the curves of sigma_min / sigma_max of q(W); None if no run is quantized."""
    drawn = [track for track in _tracks(group) if track.finite(RATIO)]
    if not drawn:
        return None
    return _figure(group, key, drawn, {RATIO: {"orthogonal": 1.0}}, [])


def _tracks(group: Group) -> list[Track]:
    """Return the measurements of all runs; training comes first, so that evaluations are drawn over it."""
    return [Track(entry, kind) for kind in KINDS for entry in group.entries if entry.run.lines[kind]]


def _figure(
    group: Group, key: str, tracks: Sequence[Track], references: Mapping[str, Mapping[str, float]], notes: Sequence[str]
) -> Figure:
    """Return the figure of each quantity in `references` (name -> its reference lines, may be none) on each axis."""
    timed = any(place is not None for track in tracks for place in track.places("time"))
    shown = {track.entry.index: track.entry for track in tracks}
    return Figure(
        key=key,
        charts=tuple(
            _chart(group, tracks, name, axis, dashed)
            for name, dashed in references.items()
            for axis in (AXES if timed else ("steps",))
        ),
        keys=tuple(_key(entry) for entry in group.entries if entry.index in shown),
        notes=tuple(notes),
    )


def _key(entry: Entry) -> Key:
    return Key(entry.index, entry.style, entry.label, entry.short)


def _chart(group: Group, tracks: Sequence[Track], name: str, axis: str, references: Mapping[str, float]) -> Chart:
    evaluated = any(track.kind != "train" and track.finite(name) for track in tracks)
    lines = [_line(track, name, axis, evaluated) for track in tracks if track.finite(name)]
    last = max((place for line in lines for place in line.x if place is not None), default=1.0) or 1.0
    x, x_title = scales.linear(0.0, last), AXES[axis]
    if axis == "time":
        x, unit = scales.duration(last)
        x_title += f" in {unit}"
    fraction = (group.higher_is_better and name == group.metric) or "accuracy" in name or "ratio" in name
    written = names.quantity(name)
    return draw(
        lines,
        title=f"{written} against {AXES[axis]}, {group.title}",
        x=x,
        y=scales.fitting(
            [value for line in lines for value in line.heights()],
            list(references.values()),
            most=1.0 if fraction else None,
            log=True if name == DEFECT else None,
        ),
        x_title=x_title,
        y_title=written,
        references=references,
        choice=(written, axis),
    )


def _line(track: Track, name: str, axis: str, evaluated: bool) -> Line:
    weights: dict[str, Weight] = {"train": "faint" if evaluated else "thin", "valid": "strong", "test": "dotted"}
    x, y, low, high = thinned(track.places(axis), track.values(name))
    return Line(_key(track.entry), x, y, low, high, weights[track.kind], SPLITS[track.kind])


def _quantities(tracks: Sequence[Track], metric: str) -> list[str]:
    """Return the quantities to plot: the group's metric, then those evaluated, then those measured in training only."""
    ordered: dict[str, None] = {metric: None}
    for kinds in (("valid", "test"), ("train",)):
        for track in tracks:
            if track.kind in kinds:
                ordered |= dict.fromkeys(track.quantities)
    return [
        name
        for name in ordered
        if name not in (DEFECT, RATIO)
        and (_varies(tracks, name) or (name == metric and any(track.finite(name) for track in tracks)))
    ]


def _varies(tracks: Sequence[Track], name: str) -> bool:
    # A constant learning rate, or a penalty that is always 0, is in the config and needs no curve.
    return any(len(set(track.finite(name))) > 1 for track in tracks)


def _baselines(group: Group, name: str) -> dict[str, float]:
    return {f"baseline {quantity(value)}": value for value in group.baselines(name)}


def _unevaluated(group: Group) -> list[str]:
    silent = [entry.label for entry in group.entries if not any(entry.run.lines.values())]
    training = [
        entry.label
        for entry in group.entries
        if entry.run.lines["train"] and not (entry.run.lines["valid"] or entry.run.lines["test"])
    ]
    return [
        *([f"Not evaluated yet, so only the training values are drawn: {enumeration(training)}."] if training else []),
        *([f"Nothing measured yet: {enumeration(silent)}."] if silent else []),
    ]


def _unmeasured(group: Group, tracks: Sequence[Track]) -> list[str]:
    measured = {track.entry.index: values for track in tracks if (values := track.finite(DEFECT))}
    without = [entry.label for entry in group.entries if entry.index not in measured]
    zero = [entry.label for entry in group.entries if entry.index in measured and not any(measured[entry.index])]
    return [
        *([f"Exactly 0 throughout, so not on this scale: {enumeration(zero)}."] if zero else []),
        *([f"Not measured for {enumeration(without)}."] if without else []),
    ]
