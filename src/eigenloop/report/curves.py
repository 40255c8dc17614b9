"""Learning curves, distance from the set, conditioning: the figures that switch between quantities and axes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from eigenloop.report import names
from eigenloop.report.chart import Chart, draw
from eigenloop.report.groups import Entry, Group
from eigenloop.report.tracks import AXES, Track
from eigenloop.text.names import enumeration
from eigenloop.text.numbers import significant
from eigenloop.text.typography import quantity

DEFECT, RATIO = "defect", "singular_ratio"
#: The unit roundoff of the types that a run may be trained in.
ROUNDING = {"float32": 2.0**-23, "float64": 2.0**-52}


@dataclass(frozen=True)
class Figure:
    """The charts of one task, one for each quantity and axis, and the numbers that hovering reads.

    Attributes:
        numbers: for each track its run, kind, steps, seconds and values by quantity, None where not finite.
        notes: sentences on what is not in the charts.
    """

    key: str
    title: str
    quantities: tuple[str, ...]
    axes: tuple[str, ...]
    charts: tuple[Chart, ...]
    entries: tuple[Entry, ...]
    numbers: tuple[Mapping[str, object], ...]
    notes: tuple[str, ...]

    @property
    def choices(self) -> list[tuple[int, str]]:
        """The position and the written name of each quantity."""
        return [(position, names.quantity(name)) for position, name in enumerate(self.quantities)]

    @property
    def margin(self) -> int:
        """The room at the right, in pixels, that all its charts have."""
        return max(chart.margin for chart in self.charts)


def learning(group: Group, found: Sequence[Track], key: str) -> Figure | None:
    """Make the learning curves of a task from its tracks; None while nothing has been measured."""
    quantities = _quantities(found, group.metric)
    if not quantities:
        return None
    references = {name: _baselines(group, name) for name in quantities}
    return _figure(group, key, found, references, _unevaluated(group))


def defects(group: Group, found: Sequence[Track], key: str) -> Figure | None:
    """Make the curves of how far W is from its set; None where no run measures it."""
    drawn = [track for track in found if any(value > 0 for value in track.medians(DEFECT))]
    if not drawn:
        return None
    types = {str(track.entry.run.section("training").get("dtype")) for track in drawn}
    references = {f"one rounding of {kind}": ROUNDING[kind] for kind in sorted(types) if kind in ROUNDING}
    return _figure(group, key, drawn, {DEFECT: references}, _unmeasured(group, found))


def conditioning(group: Group, found: Sequence[Track], key: str) -> Figure | None:
    """Make the curves of sigma_min / sigma_max of q(W); None where no run is quantized."""
    drawn = [track for track in found if track.medians(RATIO)]
    if not drawn:
        return None
    return _figure(group, key, drawn, {RATIO: {"orthogonal": 1.0}}, [])


def _figure(
    group: Group, key: str, found: Sequence[Track], references: Mapping[str, Mapping[str, float]], notes: Sequence[str]
) -> Figure:
    """Draw each quantity that has an entry in `references`, which may be empty, against each axis."""
    timed = any(place is not None for track in found for place in track.seconds)
    axes = AXES if timed else AXES[:1]
    shown = {track.entry.index for track in found}
    return Figure(
        key=key,
        title=group.title,
        quantities=tuple(references),
        axes=axes,
        charts=tuple(
            draw(found, name, axis, lines, higher_is_better=group.higher_is_better and name == group.metric)
            for name, lines in references.items()
            for axis in axes
        ),
        entries=tuple(entry for entry in group.entries if entry.index in shown),
        numbers=tuple(_numbers(track, list(references)) for track in found),
        notes=tuple(notes),
    )


def _quantities(found: Sequence[Track], metric: str) -> list[str]:
    """List what can be plotted: what the runs are judged by, what is evaluated, then what training alone knows."""
    ordered: dict[str, None] = {metric: None}
    for kinds in (("valid", "test"), ("train",)):
        for track in found:
            if track.kind in kinds:
                ordered |= dict.fromkeys(track.values)
    return [
        name
        for name in ordered
        if name not in (DEFECT, RATIO) and (name == metric or _varies(found, name)) and _known(found, name)
    ]


def _known(found: Sequence[Track], name: str) -> bool:
    return any(track.medians(name) for track in found)


def _varies(found: Sequence[Track], name: str) -> bool:
    # A learning rate that never changes, or a penalty that is always 0, is in the config and makes no curve.
    return any(len(set(track.medians(name))) > 1 for track in found)


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


def _unmeasured(group: Group, found: Sequence[Track]) -> list[str]:
    measured = {track.entry.index: track.medians(DEFECT) for track in found if track.medians(DEFECT)}
    without = [entry.label for entry in group.entries if entry.index not in measured]
    zero = [entry.label for entry in group.entries if entry.index in measured and not any(measured[entry.index])]
    return [
        *([f"Exactly 0 throughout, so not on this scale: {enumeration(zero)}."] if zero else []),
        *([f"Not measured for {enumeration(without)}."] if without else []),
    ]


def _numbers(track: Track, quantities: Sequence[str]) -> dict[str, object]:
    return {
        "run": track.entry.index,
        "kind": track.kind,
        "step": [_rounded(step) for step in track.steps],
        "time": [_rounded(second) for second in track.seconds],
        "values": [
            [None if stretch is None else _rounded(stretch.median) for stretch in track.values.get(name, ())]
            for name in quantities
        ],
    }


def _rounded(value: float | None) -> float | int | None:
    """Keep what a reader can see, without the 15 digits that would double the size of the page."""
    if value is None:
        return None
    return int(value) if value == int(value) and abs(value) < 1e15 else significant(value, 4)
