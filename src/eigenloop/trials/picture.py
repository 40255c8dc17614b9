"""The chart of a comparison: score against size in bytes, one marker for each combination."""

from __future__ import annotations

import io
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from eigenloop.analysis.style import COLOURS, panels, styled
from eigenloop.runs import atomic
from eigenloop.trials.table import Row, Table

#: Each model has its own marker shape as well as its own colour, so that models can be told apart without colour.
_SHAPES = ("o", "s", "^", "D", "v", "P", "X")


def draw(table: Table, file: Path) -> None:
    """Draw the chart and write it in the format of the file's extension (.png, .svg, .pdf).

    Floating-point networks have filled markers; quantized ones have open markers labelled with their bits. Error bars
    are standard deviations over folds and seeds.
    """
    models = list(dict.fromkeys(combination.model for combination in table.plan.combinations))
    with styled():
        figure, (axes,) = panels(1, width=6.4, height=4.0)
        for row in table.rows:
            if row.score.values:
                _mark(axes, row, models.index(row.combination.model))
        axes.set_xscale("log")
        axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: _written(value)))
        axes.xaxis.set_minor_formatter(NullFormatter())
        axes.margins(0.12)  # room for the labels beside the markers
        axes.set_xlabel("bytes on a device")
        better = "higher is better" if table.higher_is_better else "lower is better"
        axes.set_ylabel(f"{table.measure} ({table.decided_by}), {better}")
        for number, model in enumerate(models):
            axes.plot([], [], _SHAPES[number % len(_SHAPES)], color=COLOURS[number % len(COLOURS)], label=model)
        figure.legend(loc="outside upper center", ncols=min(len(models), 6))
        content = io.BytesIO()
        figure.savefig(content, format=file.suffix.lstrip(".") or "png", dpi=150, metadata={})
    atomic.write_bytes(file, content.getvalue())


def _mark(axes: Axes, row: Row, number: int) -> None:
    colour, bits = COLOURS[number % len(COLOURS)], row.combination.bits
    x, y = row.combination.bytes, row.score.mean
    axes.errorbar(
        [x],
        [y],
        yerr=None if row.score.deviation is None else [row.score.deviation],
        fmt=_SHAPES[number % len(_SHAPES)],
        color=colour,
        markerfacecolor=colour if bits is None else "white",
        markersize=6,
        capsize=3,
    )
    axes.annotate(
        "float" if bits is None else f"{bits} bits",
        (x, y),
        xytext=(7, 0),
        textcoords="offset points",
        va="center",
        fontsize=7.5,
        color=colour,
    )


def _written(value: float) -> str:
    """Format a tick label, as in ``500`` or ``20 kB``."""
    return f"{value / 1000:g} kB" if value >= 1000 else f"{value:g}"
