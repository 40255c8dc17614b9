"""The picture of a comparison: score against bytes, a mark for every combination."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from eigenloop.analysis.style import COLOURS, panels, styled
from eigenloop.runs import atomic
from eigenloop.trials.table import Row, Table

#: A model has its own colour and shape, so that they are told apart without colours.
_SHAPES = ("o", "s", "^", "D", "v", "P", "X")


def draw(table: Table, file: Path) -> None:
    """Write the picture, as the ending of the file says (.png, .svg, .pdf).

    Floating-point networks are filled, those in few bits are open with their bits beside them. Bars are standard
    deviations over folds and seeds.
    """
    models = list(dict.fromkeys(combination.model for combination in table.plan.combinations))
    with styled():
        figure, (axes,) = panels(1, width=6.4, height=4.0)
        rows = [row for row in table.rows if row.score.values]
        for row in rows:
            _mark(axes, row, _colour(models, row), _SHAPES[models.index(row.combination.model) % len(_SHAPES)])
        axes.set_xscale("log")
        axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: _written(value)))
        axes.xaxis.set_minor_formatter(NullFormatter())
        axes.margins(0.12)  # room for the words beside the marks
        _label(axes, rows, [_colour(models, row) for row in rows])
        axes.set_xlabel("bytes on a device")
        better = "higher is better" if table.higher_is_better else "lower is better"
        axes.set_ylabel(f"{table.measure} ({table.decided_by}), {better}")
        for number, model in enumerate(models):
            axes.plot([], [], _SHAPES[number % len(_SHAPES)], color=COLOURS[number % len(COLOURS)], label=model)
        figure.legend(loc="outside upper center", ncols=min(len(models), 6))
        content = io.BytesIO()
        figure.savefig(content, format=file.suffix.lstrip(".") or "png", dpi=150, metadata={})
    atomic.write_bytes(file, content.getvalue())


def _colour(models: Sequence[str], row: Row) -> str:
    return COLOURS[models.index(row.combination.model) % len(COLOURS)]


def _mark(axes: Axes, row: Row, colour: str, shape: str) -> None:
    axes.errorbar(
        [row.combination.bytes],
        [row.score.mean],
        yerr=None if row.score.deviation is None else [row.score.deviation],
        fmt=shape,
        color=colour,
        markerfacecolor=colour if row.combination.bits is None else "white",
        markersize=6,
        capsize=3,
    )


def _label(axes: Axes, rows: Sequence[Row], colours: Sequence[str]) -> None:
    """Write the bits to the right of each mark, or to the left where that would cover another label."""
    points = axes.transData.transform([(row.combination.bytes, row.score.mean) for row in rows]) if rows else ()
    taken: list[tuple[float, float]] = []
    dot = axes.figure.dpi / 72  # points are measured in dots
    for row, colour, (x, y) in zip(rows, colours, points, strict=True):
        left = any(abs(x - other) < 40 * dot and abs(y - height) < 10 * dot for other, height in taken)
        taken.append((x, y))
        axes.annotate(
            "float" if row.combination.bits is None else f"{row.combination.bits} bits",
            (row.combination.bytes, row.score.mean),
            xytext=(-7 if left else 7, 0),
            textcoords="offset points",
            ha="right" if left else "left",
            va="center",
            fontsize=7.5,
            color=colour,
        )


def _written(value: float) -> str:
    """Return a number of bytes as text, thousands as kB."""
    return f"{value / 1000:g} kB" if value >= 1000 else f"{value:g}"
