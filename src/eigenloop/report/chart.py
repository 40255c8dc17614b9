"""The geometry of one chart: where its ticks, curves and labels are. The template turns it into SVG.

Note [Charts that stretch]
    Curves live in a nested SVG of WIDTH x HEIGHT units that is stretched to whatever width the page has, with strokes
    that do not scale; ticks and labels stand at percentages. So letters keep their size on a phone, and no script
    is needed to lay the chart out again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from eigenloop.report import names, paths, scales
from eigenloop.report.dodging import dodged
from eigenloop.report.paths import HEIGHT, WIDTH
from eigenloop.report.scales import Scale
from eigenloop.report.tracks import Track
from eigenloop.text.durations import time_unit
from eigenloop.text.typography import quantity

#: The height of a chart on the page, and how far apart labels must be, in pixels.
PIXELS, LETTER = 340, 17
#: How far above what is usual a spike may still stretch the axis.
SPIKE = 30.0


@dataclass(frozen=True)
class Mark:
    """A tick or a reference line: its place in percent from the left or from the top, and what it says."""

    place: float
    label: str


@dataclass(frozen=True)
class Curve:
    """One track of one quantity.

    Attributes:
        style: the classes that give it its colour, kind and run.
        line: the path through the medians; points on their own are dots.
        band: the path around the spread, or empty.
        lost: where it stopped being finite, in percent.
    """

    style: str
    line: str
    band: str
    lost: tuple[tuple[float, float], ...]


@dataclass(frozen=True)
class EndLabel:
    """A name in the margin at the height, in pixels, where a curve ends; `start` is that end in percent."""

    style: str
    text: str
    start: tuple[float, float]
    pixel: float


@dataclass(frozen=True)
class Chart:
    """All that is drawn for one quantity against one axis."""

    quantity: str
    axis: str
    title: str
    description: str
    x: Scale
    y: Scale
    x_title: str
    y_title: str
    x_marks: tuple[Mark, ...]
    y_marks: tuple[Mark, ...]
    references: tuple[Mark, ...]
    curves: tuple[Curve, ...]
    ends: tuple[EndLabel, ...]

    @property
    def margin(self) -> int:
        """How wide the labels at the right are, in pixels."""
        return 24 + round(7.6 * max((len(end.text) for end in self.ends), default=0))


def draw(
    tracks: Sequence[Track], name: str, axis: str, references: Mapping[str, float], *, higher_is_better: bool = False
) -> Chart:
    """Lay out a quantity of some tracks against the steps or the time, with dashed reference lines."""
    drawn = [track for track in tracks if track.medians(name)]
    strong = {"valid", "test"} & {track.kind for track in drawn} or {"train"}
    x, x_title, x_marks = _along(drawn, axis)
    y = _upwards(drawn, name, list(references.values()), higher_is_better)
    written = names.quantity(name)
    marks = [(label, y.at(value)) for label, value in references.items()]
    return Chart(
        quantity=name,
        axis=axis,
        title=f"{written} against {'training steps' if axis == 'step' else 'training time'}",
        description=_described(drawn, name, references),
        x=x,
        y=y,
        x_title=x_title,
        y_title=f"{written}, log scale" if y.log else written,
        x_marks=x_marks,
        y_marks=tuple(Mark(_down(y.at(tick.value)), tick.label) for tick in y.ticks),
        references=tuple(Mark(_down(at), label) for label, at in marks if at is not None and -0.001 <= at <= 1.001),
        curves=tuple(_curve(track, name, axis, x, y, track.kind in strong) for track in drawn),
        ends=_ends(drawn, name, axis, x, y),
    )


def _along(drawn: Sequence[Track], axis: str) -> tuple[Scale, str, tuple[Mark, ...]]:
    last = max((place for track in drawn for place in track.places(axis) if place is not None), default=1.0) or 1.0
    unit, unit_name = (1.0, "training step") if axis == "step" else time_unit(last)
    ticks = scales.linear(0.0, last / unit).ticks
    title = unit_name if axis == "step" else f"training time in {unit_name}"
    marks = tuple(Mark(round(100 * tick.value * unit / last, 2), tick.label) for tick in ticks)
    return Scale(0.0, last, False, ()), title, marks


def _upwards(drawn: Sequence[Track], name: str, references: Sequence[float], higher_is_better: bool) -> Scale:
    """Choose the vertical axis: logarithmic for what falls by more than a factor of 20 and is never below zero."""
    values = [value for track in drawn for value in track.medians(name) if abs(value) <= scales.HUGE]
    values += [value for value in references if abs(value) <= scales.HUGE]
    if not values:
        return scales.linear(0.0, 1.0)
    usual = max(scales.quantile(values, 0.95), *references, scales.quantile(values, 0.5))
    low, high = min(values), min(max(values), SPIKE * usual) if usual > 0 else max(values)
    positive = [value for value in values if value > 0]
    fraction = higher_is_better or "accuracy" in name or "ratio" in name
    if name == "defect" and positive:
        return _padded_log(min(positive), max(positive))
    if not fraction and low >= 0 and len(positive) >= 0.9 * len(values) and high / min(positive) > 20:
        return _padded_log(min(positive), high)
    if low >= 0 and (high <= 1 if fraction else low < 0.5 * high):
        low = 0.0
    room = 0.06 * (high - low)
    top = 1.0 if fraction and 0.9 < high <= 1 else high + room
    return scales.linear(low if low == 0 else low - room, top)


def _padded_log(low: float, high: float) -> Scale:
    low = max(low, high / scales.WIDEST)
    room = max((high / low) ** 0.06, 1.05)
    return scales.logarithmic(low / room, high * room)


def _down(at: float | None) -> float:
    return round(100 * (1 - (at or 0.0)), 2)


def _curve(track: Track, name: str, axis: str, x: Scale, y: Scale, strong: bool) -> Curve:
    points = list(zip(track.places(axis), track.values[name], strict=True))
    pieces, lost = paths.pieces(points, x, y)
    style = f"{track.entry.style} {track.kind} {'strong' if strong else 'faint'} run-{track.entry.index}"
    return Curve(
        style=style,
        line="".join(paths.line([(left, middle) for left, middle, _, _ in piece]) for piece in pieces),
        band="".join(paths.band(piece) for piece in pieces if len(piece) > 1) if track.thinned else "",
        lost=tuple((round(100 * left / WIDTH, 2), round(100 * top / HEIGHT, 2)) for left, top in lost),
    )


def _ends(drawn: Sequence[Track], name: str, axis: str, x: Scale, y: Scale) -> tuple[EndLabel, ...]:
    """Write each run's name where its most telling curve ends: validation, else test, else training."""
    rank = {"valid": 2, "test": 1, "train": 0}
    telling: dict[int, Track] = {}
    for track in drawn:
        best = telling.get(track.entry.index)
        if best is None or rank[track.kind] > rank[best.kind]:
            telling[track.entry.index] = track
    found = []
    for track in telling.values():
        pieces, _ = paths.pieces(list(zip(track.places(axis), track.values[name], strict=True)), x, y)
        if pieces:
            left, top = pieces[-1][-1][:2]
            found.append((track.entry, 100 * left / WIDTH, min(max(100 * top / HEIGHT, 0.0), 100.0)))
    pixels = dodged([PIXELS * top / 100 for _, _, top in found], LETTER, PIXELS)
    return tuple(
        EndLabel(
            f"{entry.style} run-{entry.index}",
            entry.short,
            (round(left, 2), round(top, 2)),
            px,
        )
        for (entry, left, top), px in zip(found, pixels, strict=True)
    )


def _described(drawn: Sequence[Track], name: str, references: Mapping[str, float]) -> str:
    """Say in words what the chart shows: the last value of every curve."""
    kinds = {"train": "training", "valid": "validation", "test": "test"}
    parts = [
        f"{track.entry.label}, {kinds[track.kind]}: from {quantity(medians[0])} to {quantity(medians[-1])}"
        for track in drawn
        if (medians := track.medians(name))
    ]
    return "; ".join(parts + [f"{label}, dashed" for label in references]) + "."
