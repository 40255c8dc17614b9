"""A figure: charts of which one is seen at a time, with a legend, a table of values and notes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from eigenloop.charts import paths
from eigenloop.charts.chart import Chart
from eigenloop.charts.lines import Key, Values
from eigenloop.charts.render import render

#: What readers pick by the parts of a chart's `choice`.
PICKS = ("quantity", "axis")


@dataclass(frozen=True)
class Figure:
    """What a template puts onto the page by its name alone: ``{{ figure }}``.

    Attributes:
        key: its anchor, of its own on the page.
        keys: the entries of the legend.
        heading: what stands above it; empty where the page has said it already.
        notes: sentences on what is not in the charts.
    """

    key: str
    charts: tuple[Chart, ...]
    keys: tuple[Key, ...]
    heading: str = ""
    notes: tuple[str, ...] = ()

    @property
    def picks(self) -> list[tuple[str, list[str]]]:
        """What can be picked, each with its choices in the order of the charts."""
        parts = zip(*(chart.choice for chart in self.charts), strict=True)
        return [(name, list(dict.fromkeys(each))) for name, each in zip(PICKS, parts, strict=False)]

    @property
    def numbers(self) -> dict[str, object]:
        """What hovering reads: for each chart its lines as (key, whether it is secondary, column of x, column of y).

        Charts share columns: a quantity against steps and against time has the same values.
        """
        columns: dict[Values, int] = {}

        def column(values: Values) -> int:
            return columns.setdefault(tuple(map(_rounded, values)), len(columns))

        charts = [
            [
                (line.key.index, int(line.weight in ("faint", "thin")), column(line.x), column(line.y))
                for line in chart.lines
                if line.read and not line.scattered
            ]
            for chart in self.charts
        ]
        return {"columns": list(columns), "charts": charts}

    def __html__(self) -> Markup:
        """Return it as HTML, which is what templates ask for."""
        return render("figure.html", figure=self, width=paths.WIDTH, height=paths.HEIGHT)


def rules(figures: Sequence[Figure]) -> Markup:
    """Return the style rules by which picks and legends of these figures show and hide without a script."""
    counts = [len(choices) for figure in figures for _, choices in figure.picks]
    keys = {key.index for figure in figures for key in figure.keys}
    hidden = [
        f'.figure:has([data-pick="{name}"][value="{i}"]:not(:checked)) [data-{name}="{i}"]'
        for name in PICKS
        for i in range(max(counts, default=0))
    ]
    hidden += [f'.figure:has([data-pick="key"][value="{i}"]:not(:checked)) .key-{i}' for i in sorted(keys)]
    return Markup(",\n".join(hidden) + " { display: none; }\n" if hidden else "")


def _rounded(value: float | None) -> float | int | None:
    """Keep what a reader can see, without the 15 digits that would double the size of the page."""
    if value is None:
        return None
    return int(value) if value == int(value) and abs(value) < 1e15 else float(f"{value:.4g}")
