"""Points against points, with the diagonal where both are the same: predictions, or published numbers and ours."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from eigenloop.charts import scales
from eigenloop.charts.chart import PIXELS, Chart, draw
from eigenloop.charts.lines import Key, Line


def scatter(
    points: Mapping[str, Sequence[tuple[float, float]]],
    *,
    title: str,
    x_title: str,
    y_title: str,
    diagonal: str = "",
    height: int = PIXELS,
) -> Chart:
    """Draw groups of points, by their names; with a name for the diagonal both axes have the same range.

    An axis is logarithmic by the same rule as for curves; both are or neither is where there is a diagonal.
    """
    along = [x for group in points.values() for x, _ in group]
    upwards = [y for group in points.values() for _, y in group]
    if diagonal:
        x = y = scales.fitting([*along, *upwards], along + upwards)
    else:
        x, y = scales.fitting(along, along), scales.fitting(upwards, upwards)
    lines = [
        Line(
            Key(i, f"c{i % 8}", name),
            tuple(x for x, _ in group),
            tuple(y for _, y in group),
            weight="cloud",
        )
        for i, (name, group) in enumerate(points.items())
    ]
    if diagonal:
        same = (x.low, x.high)
        lines.append(Line(Key(len(lines), "plain", diagonal), same, same, weight="dotted"))
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
