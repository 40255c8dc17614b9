"""The values of a chart as a table, for screen readers and for readers without a mouse."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from eigenloop.charts.lines import Line
from eigenloop.charts.scales import Scale
from eigenloop.text.typography import quantity

#: A line has a value at a position if it comes within this fraction of the axis.
NEAR = 0.02
#: The most points of a scatter plot that are listed.
LISTED = 120


@dataclass(frozen=True)
class Table:
    """Column headings, and rows that begin with their name."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    caption: str


def sampled(lines: Sequence[Line], x: Scale, x_title: str) -> Table:
    """Return the value of each line that is nearest to each labelled tick, and at the end of the axis."""
    shown = [line for line in lines if line.read]
    places = [tick.value for tick in x.ticks if tick.label]
    last = max((place for line in shown for place, _ in line.points()), default=x.high)
    if last > places[-1] + 2 * NEAR * (x.high - x.low):
        places.append(last)
    rows = []
    for place in places:
        values = [_nearest(line, place, NEAR * (x.high - x.low)) for line in shown]
        if any(value is not None for value in values):
            rows.append((quantity(place / x.unit, 4), *(quantity(value) for value in values)))
    return Table((x_title, *(line.label for line in shown)), tuple(rows), "The nearest measured value to each place.")


def listed(lines: Sequence[Line], x_title: str, y_title: str) -> Table:
    """Return the points of scatter plots, at most `LISTED`."""
    every = [
        (name or line.label, quantity(x), quantity(y))
        for line in lines
        if line.scattered
        for name, (x, y) in zip(line.names or ("",) * len(line.x), line.points(), strict=True)
    ]
    caption = f"The first {LISTED} of {len(every)} points." if len(every) > LISTED else "Every point."
    return Table(("point", x_title, y_title), tuple(every[:LISTED]), caption)


def _nearest(line: Line, place: float, tolerance: float) -> float | None:
    """Return the value of a line nearest to a position; None before its first and after its last point."""
    points = list(line.points())
    if not points or not points[0][0] - tolerance <= place <= points[-1][0] + tolerance:
        return None
    return min(points, key=lambda point: abs(point[0] - place))[1]
