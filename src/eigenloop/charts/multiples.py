"""Small multiples: many small charts on the same axes, such as the sequences of a data set."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from eigenloop.charts import scales
from eigenloop.charts.chart import draw
from eigenloop.charts.figure import Figure
from eigenloop.charts.lines import Key, Line
from eigenloop.charts.render import render
from eigenloop.charts.thinning import thinned

#: The height of each chart in pixels.
HEIGHT = 110


@dataclass(frozen=True)
class Multiples:
    """Figures side by side under one legend; a template writes ``{{ multiples }}``."""

    figures: tuple[Figure, ...]
    keys: tuple[Key, ...]

    def __html__(self) -> Markup:
        """Return the figures as HTML, for templates."""
        return render("multiples.html", multiples=self)


def sequences(
    panels: Mapping[str, Sequence[Sequence[float]]],
    *,
    key: str,
    channels: Sequence[str],
    x_title: str = "time step",
    y_title: str = "value",
) -> Multiples:
    """Return a small chart for each sequence, with the values of its channels over time, on common axes.

    Args:
        panels: for each sequence's name, a list of values for each channel.
        key: the prefix of their anchors on the page.
        channels: the names of the channels.
        x_title: the title of the horizontal axis.
        y_title: the title of the vertical axis.

    Raises:
        ValueError: a sequence has another number of channels.
    """
    if any(len(panel) != len(channels) for panel in panels.values()):
        raise ValueError(f"each sequence needs {len(channels)} channels: {', '.join(channels)}")
    keys = tuple(Key(i, f"c{i % 8}", name) for i, name in enumerate(channels))
    lines = {
        name: [
            Line(each, *thinned(range(len(values)), values), weight="thin")
            for each, values in zip(keys, panel, strict=True)
        ]
        for name, panel in panels.items()
    }
    drawn = [line for each in lines.values() for line in each]
    longest = max((len(values) for panel in panels.values() for values in panel), default=2)
    y = scales.fitting([value for line in drawn for value in (*line.heights(), *_known(line))], log=False)
    x = scales.linear(0.0, max(longest - 1, 1), 3)
    figures = []
    for i, (name, each) in enumerate(lines.items()):
        chart = draw(each, title=name, x=x, y=y, x_title=x_title, y_title=y_title, ends=False, height=HEIGHT)
        figures.append(Figure(f"{key}-{i}", (chart,), (), heading=name))
    return Multiples(tuple(figures), keys if len(keys) > 1 else ())


def _known(line: Line) -> list[float]:
    return [value for value in (*line.low, *line.high) if value is not None]
