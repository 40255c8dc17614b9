"""Lines as SVG paths, with integer coordinates and relative steps to keep the page small."""

from __future__ import annotations

from collections.abc import Sequence

from eigenloop.charts.lines import Line
from eigenloop.charts.scales import Scale

#: The size of a chart's coordinate system; it is stretched to the chart's size on the page.
WIDTH, HEIGHT = 2000, 1000

#: A point in chart coordinates: (left, top of its value, top of its largest value, top of its smallest).
Point = tuple[int, int, int, int]


def pieces(drawn: Line, x: Scale, y: Scale) -> tuple[list[list[Point]], list[tuple[int, int]]]:
    """Return the pieces of a line, broken where there is no value, and the last points before values are not finite."""
    placed: list[list[Point]] = [[]]
    lost = []
    for place, value, low, high in zip(drawn.x, drawn.y, drawn.low or drawn.y, drawn.high or drawn.y, strict=True):
        along = None if place is None else x.at(place)
        if along is None or value is None or y.at(value) is None:
            if value is None and placed[-1]:
                lost.append(placed[-1][-1][:2])
            if placed[-1]:
                placed.append([])
            continue
        middle, upper, lower = (_top(y, value if each is None else each) for each in (value, high, low))
        placed[-1].append((round(WIDTH * along), middle, upper, lower))
    return [piece for piece in placed if piece], lost


def _top(y: Scale, value: float) -> int:
    at = y.at(value)
    # Values far outside the axis are clipped: numbers of 30 digits would only make the page larger.
    return round(HEIGHT * (1 - min(max(-1.0 if at is None else at, -1.0), 2.0)))


def line(points: Sequence[tuple[int, int]]) -> str:
    """Return the path through points."""
    (left, top), *others = points
    path, at = f"M{left} {top}", (left, top)
    for point in others:
        path += f"l{point[0] - at[0]} {point[1] - at[1]}"
        at = point
    return path


def dots(points: Sequence[tuple[int, int]]) -> str:
    """Return the path of separate points: lines of length zero, which round line ends turn into dots."""
    return "".join(f"M{left} {top}h0" for left, top in dict.fromkeys(points))


def band(piece: Sequence[Point]) -> str:
    """Return the path around the spread: along the largest values, and back along the smallest."""
    upper = [(left, high) for left, _, high, _ in piece]
    lower = [(left, low) for left, _, _, low in reversed(piece)]
    return line(upper + lower) + "z"
