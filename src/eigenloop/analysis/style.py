"""How the pictures look: one size of letters, quiet axes, colours that everybody can tell apart."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure

#: Okabe and Ito's palette, without its yellow, which is too faint for lines.
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
    """Draw with our rules inside, and leave the caller's as they were."""
    rules: Any = _RULES
    with matplotlib.rc_context(rules):
        yield


def panels(columns: int, rows: int = 1, width: float = 4.2, height: float = 3.2) -> tuple[Figure, list[Axes]]:
    """Make a figure of panels, in reading order; no window is opened. To be called inside `styled`."""
    figure = Figure(figsize=(width * columns, height * rows))
    figure.set_layout_engine("constrained", wspace=0.07)  # names of axes stand apart from the panel beside them
    axes = [figure.add_subplot(rows, columns, i + 1) for i in range(columns * rows)]
    return figure, axes
