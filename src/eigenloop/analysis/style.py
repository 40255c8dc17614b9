"""The style of the figures: one font size, thin axes, and a palette for colour-blind readers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure

#: Okabe and Ito's palette without yellow, which is too light for lines.
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#000000")

_RULES = {
    "font.size": 9.0,
    "axes.titlesize": 10.0,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#e0e0e0",
    "grid.linewidth": 0.6,
    "axes.axisbelow": True,
    "lines.linewidth": 1.4,
    "legend.frameon": False,
    "legend.fontsize": 8.0,
    "svg.hashsalt": "eigenloop",
    "svg.fonttype": "path",
    "figure.facecolor": "white",
}


@contextmanager
def styled() -> Iterator[None]:
    """Use our matplotlib settings inside the ``with``, and restore the caller's afterwards."""
    rules: Any = _RULES
    with matplotlib.rc_context(rules):
        yield


def panels(columns: int, rows: int = 1, width: float = 4.2, height: float = 3.2) -> tuple[Figure, list[Axes]]:
    """Return a figure and its panels in reading order, without opening a window; call it inside `styled`."""
    figure = Figure(figsize=(width * columns, height * rows))
    figure.set_layout_engine("constrained", wspace=0.07)  # keeps axis labels away from the next panel
    axes = [figure.add_subplot(rows, columns, i + 1) for i in range(columns * rows)]
    return figure, axes
