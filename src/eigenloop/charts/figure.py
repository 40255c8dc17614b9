"""A figure: charts of which one is visible at a time, with a legend, a table of values and notes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from eigenloop.charts import paths
from eigenloop.charts.chart import Chart
from eigenloop.charts.lines import Key, Values
from eigenloop.charts.render import render

#: The names of the selections that the parts of a chart's `choice` belong to.
PICKS = ("quantity", "axis")


@dataclass(frozen=True)
class Figure:
    """A figure of one or several charts; a template writes ``{{ figure }}``.

    Attributes:
        key: its anchor, unique on the page.
        keys: the entries of the legend.
        heading: its heading; empty if the page already has one.
        notes: sentences on what the charts do not show.
    """

    key: str
    charts: tuple[Chart, ...]
    keys: tuple[Key, ...]
    heading: str = ""
    notes: tuple[str, ...] = ()

    @property
    def picks(self) -> list[tuple[str, list[str]]]:
        """The selections with their choices, in the order of the charts."""
        parts = zip(*(chart.choice for chart in self.charts), strict=True)
        return [(name, list(dict.fromkeys(each))) for name, each in zip(PICKS, parts, strict=False)]

    @property
    def numbers(self) -> dict[str, object]:
        """The data for hovering: for each chart its lines as (key, whether it is secondary, column of x, column of y).

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
        """Return the figure as HTML, for templates."""
        return render("figure.html", figure=self, width=paths.WIDTH, height=paths.HEIGHT)


def rules(figures: Sequence[Figure]) -> Markup:
    """Return the CSS rules with which selections and legends of these figures work without a script."""
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
    """Round to four significant digits, as all digits would double the size of the page; integers are kept."""
    if value is None:
        return None
    return int(value) if value == int(value) and abs(value) < 1e15 else float(f"{value:.4g}")
