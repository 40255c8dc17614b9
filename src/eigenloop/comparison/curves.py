"""Draw the pictures of an experiment: learning curves like those of the papers."""

from __future__ import annotations

from collections.abc import Sequence

from eigenloop.charts import Figure, Key, Line, draw, scales
from eigenloop.comparison.series import Picture, Points, Series, pictures
from eigenloop.comparison.table import Sheet
from eigenloop.text.typography import quantity

#: The height of a picture in pixels; two pictures are placed side by side.
HEIGHT = 240
SEEDS = "Thin lines are the seeds, the thick one their median."


def figures(sheet: Sheet) -> tuple[Figure, ...]:
    """Return all figures of an experiment."""
    chosen = pictures(sheet)
    return tuple(_figure(picture, chosen, f"{sheet.experiment.name}-{i}") for i, picture in enumerate(chosen))


def _figure(picture: Picture, chosen: Sequence[Picture], key: str) -> Figure:
    family = [other for other in chosen if other.family == picture.family]
    lines = [line for series in picture.series for line in _lines(series, picture.marked)]
    places = [place for line in lines for place, _ in line.points()]
    room = 0.04 * (max(places) - min(places))
    chart = draw(
        lines,
        title=", ".join(filter(None, (f"{picture.upwards} against {picture.across}", picture.title))),
        x=scales.linear(min(places) - room, max(places) + room) if picture.marked else scales.linear(0.0, max(places)),
        y=scales.fitting(
            [value for other in family for series in other.series for value in _heights(series)],
            [other.baseline for other in family if other.baseline is not None],
            most=picture.most,
        ),
        x_title=picture.across,
        y_title=picture.upwards,
        references={} if picture.baseline is None else {f"baseline {quantity(picture.baseline)}": picture.baseline},
        ends=False,
        height=HEIGHT,
    )
    notes = (SEEDS,) if any(series.seeds for series in picture.series) else ()
    return Figure(key, (chart,), tuple(_key(series) for series in picture.series), heading=picture.title, notes=notes)


def _heights(series: Series) -> list[float]:
    return [value for points in (series.middle, *series.seeds) for _, value in points]


def _key(series: Series) -> Key:
    style = f"c{series.hue} dotted" if series.level else f"c{series.hue}"
    return Key(series.hue, style, series.label + (" (diverged)" if series.lost else ""), series.label)


def _lines(series: Series, marked: bool) -> list[Line]:
    # Each seed and not a band: if one of three seeds learns and two do not, a band would show values that no seed had.
    seeds = [Line(_key(series), *_split(points), weight="seed") for points in series.seeds]
    x, y = _split(series.middle)
    if series.lost:
        x, y = (*x, x[-1]), (*y, None)
    return [*seeds, Line(_key(series), x, y, weight="dotted" if series.level else "dots" if marked else "strong")]


def _split(points: Points) -> tuple[tuple[float, ...], tuple[float | None, ...]]:
    x, y = zip(*points, strict=True)
    return x, y
