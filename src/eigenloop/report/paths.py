"""Curves as SVG paths, in whole units and relative steps to keep the page small."""

from __future__ import annotations

from collections.abc import Sequence

from eigenloop.report.scales import Scale
from eigenloop.report.thinning import Stretch

#: The units a chart is divided into; it is stretched to the size it has on the page.
WIDTH, HEIGHT = 2000, 1000

#: Where a stretch is drawn: (left, top of its median, top of its largest value, top of its least).
Point = tuple[int, int, int, int]


def pieces(
    points: Sequence[tuple[float | None, Stretch | None]], x: Scale, y: Scale
) -> tuple[list[list[Point]], list[tuple[int, int]]]:
    """Place points as (left, median, high, low), broken where there is no value; and where finite values end."""
    found: list[list[Point]] = [[]]
    lost = []
    for place, stretch in points:
        if place is None or stretch is None or y.at(stretch.median) is None:
            if stretch is None and found[-1]:
                lost.append(found[-1][-1][:2])
            if found[-1]:
                found.append([])
            continue
        left = round(WIDTH * (x.at(place) or 0.0))
        median, high, low = (_top(y, value) for value in (stretch.median, stretch.high, stretch.low))
        found[-1].append((left, median, high, low))
    return [piece for piece in found if piece], lost


def _top(y: Scale, value: float) -> int:
    at = y.at(value)
    # Far outside the axis is far enough: numbers of 30 digits would only make the page larger.
    return round(HEIGHT * (1 - min(max(-1.0 if at is None else at, -1.0), 2.0)))


def line(points: Sequence[tuple[int, int]]) -> str:
    """Join points; a point on its own is a line without length, which round ends make a dot."""
    (left, top), *others = points
    path, at = f"M{left} {top}", (left, top)
    for point in others:
        path += f"l{point[0] - at[0]} {point[1] - at[1]}"
        at = point
    return path if others else path + "h0"


def band(piece: Sequence[Point]) -> str:
    """Go around the spread: along the largest values, and back along the least."""
    upper = [(left, high) for left, _, high, _ in piece]
    lower = [(left, low) for left, _, _, low in reversed(piece)]
    return line(upper + lower) + "z"
