"""Scatter plots, with a diagonal where both values are equal: predictions, or our numbers against published ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from eigenloop.charts import scales
from eigenloop.charts.chart import PIXELS, Chart, draw
from eigenloop.charts.lines import Key, Line


@dataclass(frozen=True)
class Dot:
    """A point; its name is shown on hover, and a hollow one is drawn as a ring."""

    x: float
    y: float
    name: str = ""
    hollow: bool = False


def scatter(
    points: Mapping[str, Sequence[Dot]],
    *,
    title: str,
    x_title: str,
    y_title: str,
    diagonal: str = "",
    log: bool | None = None,
    height: int = PIXELS,
) -> Chart:
    """Return the scatter plot of named groups of points; with a name for the diagonal, both axes are the same.

    Axes are logarithmic by the same rule as for curves (`scales.fitting`), unless `log` is given.
    """
    along = [dot.x for group in points.values() for dot in group]
    upwards = [dot.y for group in points.values() for dot in group]
    if diagonal:
        x = y = scales.fitting([*along, *upwards], along + upwards, log=log)
    else:
        x, y = scales.fitting(along, along, log=log), scales.fitting(upwards, upwards, log=log)
    lines = [
        Line(
            Key(i, f"c{i % 8}", name),
            tuple(dot.x for dot in own),
            tuple(dot.y for dot in own),
            weight="rings" if hollow else "cloud",
            names=tuple(dot.name for dot in own),
        )
        for i, (name, group) in enumerate(points.items())
        for hollow in (False, True)
        if (own := [dot for dot in group if dot.hollow == hollow])
    ]
    if diagonal:
        same = (x.low, x.high)
        lines.append(Line(Key(len(points), "plain", diagonal), same, same, weight="dotted"))
    return draw(
        lines,
        title=title,
        x=x,
        y=y,
        x_title=f"{x_title}, log scale" if x.log else x_title,
        y_title=y_title,
        ends=False,
        height=height,
    )
