"""The layout of one chart: the positions of its ticks, curves and labels. The template turns it into SVG.

Note [Charts that stretch]
    Curves are in a nested SVG of WIDTH x HEIGHT units that is stretched to the width of the page, with strokes that do
    not scale; ticks and labels are positioned in percent. So text keeps its size on a phone, and no script is needed
    for the layout.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from eigenloop.charts import paths
from eigenloop.charts.dodging import clearest, dodged
from eigenloop.charts.lines import Line, Weight
from eigenloop.charts.paths import HEIGHT, WIDTH
from eigenloop.charts.scales import Scale
from eigenloop.charts.values import Table, listed, sampled
from eigenloop.text.typography import quantity

#: The default height of a chart, and the least distance between two labels, in pixels.
PIXELS, LETTER = 340, 17
#: The line of a legend entry that is named in the margin is the one whose weight comes first here.
TELLING: tuple[Weight, ...] = ("strong", "dots", "dotted", "thin", "cloud", "rings", "faint")


@dataclass(frozen=True)
class Mark:
    """A tick: its position in percent from the left or from the top, and its label."""

    place: float
    label: str


@dataclass(frozen=True)
class Reference:
    """A dashed line: its position in percent from the top, its label, at which end and on which side the label is."""

    place: float
    label: str
    side: str
    below: bool


@dataclass(frozen=True)
class Curve:
    """One line in chart coordinates.

    Attributes:
        style: the CSS classes for its colour, weight and key.
        line: the SVG path through its points.
        dots: the SVG path of the points that are marked.
        band: the SVG path around the spread.
        lost: the positions, in percent, where its values stop being finite.
        points: the points of a scatter plot: left and top in percent, and the name.
    """

    style: str
    line: str
    dots: str
    band: str
    lost: tuple[tuple[float, float], ...]
    points: tuple[tuple[float, float, str], ...] = ()


@dataclass(frozen=True)
class EndLabel:
    """A name in the margin, at a height in pixels near the end of its curve; `start` is that end in percent."""

    style: str
    text: str
    start: tuple[float, float]
    pixel: float


@dataclass(frozen=True)
class Chart:
    """A laid-out chart.

    Attributes:
        choice: what a reader selects to see this chart of a figure, such as ("loss", "steps").
        values: some of its values as a table, for readers who cannot see the chart or hover over it.
    """

    title: str
    description: str
    choice: tuple[str, ...]
    lines: tuple[Line, ...]
    x: Scale
    y: Scale
    x_title: str
    y_title: str
    x_marks: tuple[Mark, ...]
    y_marks: tuple[Mark, ...]
    references: tuple[Reference, ...]
    curves: tuple[Curve, ...]
    ends: tuple[EndLabel, ...]
    values: Table
    height: int

    @property
    def margin(self) -> int:
        """The width of the labels at the right, in pixels."""
        return 24 + round(7.6 * max((len(end.text) for end in self.ends), default=0))

    @property
    def inset(self) -> int:
        """The width of the tick labels at the left, in pixels."""
        return 18 + round(7.4 * max((len(mark.label) for mark in self.y_marks), default=0))


def draw(
    lines: Sequence[Line],
    *,
    title: str,
    x: Scale,
    y: Scale,
    x_title: str,
    y_title: str,
    references: Mapping[str, float] | None = None,
    choice: tuple[str, ...] = (),
    ends: bool = True,
    height: int = PIXELS,
) -> Chart:
    """Return the chart of lines on two axes, dashed `references` and, with `ends`, the lines' names at the right."""
    drawn = [line for line in lines if any(True for _ in line.points())]
    return Chart(
        title=title,
        description=_described(drawn, list(references or {})),
        choice=choice,
        lines=tuple(drawn),
        x=x,
        y=y,
        x_title=x_title,
        y_title=f"{y_title}, log scale" if y.log else y_title,
        x_marks=tuple(Mark(_percent(x.at(tick.value)), tick.label) for tick in x.ticks),
        y_marks=tuple(Mark(_down(y.at(tick.value)), tick.label) for tick in y.ticks),
        references=_references(references or {}, drawn, x, y, LETTER / height),
        curves=tuple(_curve(line, x, y) for line in drawn),
        ends=_ends(drawn, x, y, height) if ends else (),
        values=listed(drawn, x_title, y_title) if _cloud(drawn) else sampled(drawn, x, x_title),
        height=height,
    )


def _cloud(drawn: Sequence[Line]) -> bool:
    return any(line.scattered for line in drawn)


def _percent(at: float | None) -> float:
    return round(100 * (at or 0.0), 2)


def _down(at: float | None) -> float:
    return round(100 * (1 - (at or 0.0)), 2)


def _references(
    wanted: Mapping[str, float], drawn: Sequence[Line], x: Scale, y: Scale, high: float
) -> tuple[Reference, ...]:
    curves = [
        [(left / WIDTH, 1 - top / HEIGHT) for left, top, _, _ in piece]
        for line in drawn
        for piece in paths.pieces(line, x, y)[0]
    ]
    placed = [(label, y.at(value)) for label, value in wanted.items()]
    return tuple(
        Reference(_down(at), label, *clearest(curves, at, high))
        for label, at in placed
        if at is not None and -0.001 <= at <= 1.001
    )


def _curve(line: Line, x: Scale, y: Scale) -> Curve:
    placed, lost = paths.pieces(line, x, y)
    middles = [[point[:2] for point in piece] for piece in placed]
    joined = [] if line.scattered else [piece for piece in middles if len(piece) > 1]
    # A line of a single point would be invisible, so it is drawn as a dot.
    alone = [] if line.scattered else [piece for piece in middles if len(piece) == 1]
    marked = middles if line.weight == "dots" else alone
    return Curve(
        style=f"{line.key.style} {line.weight} key-{line.key.index}",
        line="".join(paths.line(piece) for piece in joined),
        dots=paths.dots([point for piece in marked for point in piece]),
        band="".join(paths.band(piece) for piece in placed if len(piece) > 1) if line.low else "",
        lost=tuple((round(100 * left / WIDTH, 2), round(100 * top / HEIGHT, 2)) for left, top in lost),
        points=_points(line, x, y) if line.scattered else (),
    )


def _points(line: Line, x: Scale, y: Scale) -> tuple[tuple[float, float, str], ...]:
    names = line.names or ("",) * len(line.x)
    placed = [
        (x.at(left), y.at(top), name)
        for left, top, name in zip(line.x, line.y, names, strict=True)
        if left is not None and top is not None
    ]
    return tuple((_percent(a), _down(b), name) for a, b, name in placed if a is not None and b is not None)


def _ends(drawn: Sequence[Line], x: Scale, y: Scale, height: int) -> tuple[EndLabel, ...]:
    """Return a label for each key, at the end of its line whose weight comes first in `TELLING`."""
    telling: dict[int, Line] = {}
    for line in drawn:
        best = telling.get(line.key.index)
        if line.read and (best is None or TELLING.index(line.weight) < TELLING.index(best.weight)):
            telling[line.key.index] = line
    placed = []
    for line in telling.values():
        pieces, _ = paths.pieces(line, x, y)
        if pieces:
            left, top = pieces[-1][-1][:2]
            placed.append((line.key, 100 * left / WIDTH, min(max(100 * top / HEIGHT, 0.0), 100.0)))
    pixels = dodged([height * top / 100 for _, _, top in placed], LETTER, height)
    return tuple(
        EndLabel(f"{key.style} key-{key.index}", key.short or key.label, (round(left, 2), round(top, 2)), pixel)
        for (key, left, top), pixel in zip(placed, pixels, strict=True)
    )


def _described(drawn: Sequence[Line], references: Sequence[str]) -> str:
    """Return a description in words: where every line begins and ends."""
    parts = []
    for line in drawn:
        if line.read:
            heights = line.heights()
            if line.scattered:
                parts.append(f"{line.label}: {len(heights)} points")
            elif line.weight == "dotted" and len(set(heights)) == 1:
                parts.append(f"{line.label}: {quantity(heights[0])}")
            else:
                lost = ", then no longer finite" if line.y[-1] is None else ""
                parts.append(f"{line.label}: from {quantity(heights[0])} to {quantity(heights[-1])}{lost}")
    return "; ".join(parts + [f"{label}, dashed" for label in references]) + "."
