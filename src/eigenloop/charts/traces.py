"""Sequences side by side: a line for each channel, from top to bottom, with marked time steps below."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from markupsafe import Markup
from numpy.typing import NDArray

from eigenloop.charts.render import render
from eigenloop.charts.thinning import thinned

#: The size of a channel's strip, the height of the marks below, and the free space within a strip.
WIDTH, STRIP, MARKS, ROOM = 240, 20, 8, 2
#: The most places in a line: beyond this, each stands for the range of several time steps.
PLACES = 240


@dataclass(frozen=True)
class Trace:
    """A sequence to be drawn.

    Attributes:
        caption: what is written below it.
        values: (T, C), the channels over time; values that are not finite leave a gap.
        marked: (T,) the time steps to be marked; None for none.
    """

    caption: str
    values: NDArray[np.float64]
    marked: NDArray[np.bool_] | None = None


@dataclass(frozen=True)
class Drawing:
    """A drawn sequence: the SVG path of each channel, and where marks begin and end."""

    caption: str
    height: int
    paths: tuple[str, ...]
    marks: tuple[tuple[float, float], ...]


@dataclass(frozen=True)
class Traces:
    """Drawn sequences; a template writes ``{{ traces }}``."""

    drawings: tuple[Drawing, ...]

    def __html__(self) -> Markup:
        """Return the drawings as HTML, for templates."""
        return render("traces.html", drawings=self.drawings, width=WIDTH)


def sequences(traces: Sequence[Trace]) -> Traces:
    """Return drawings of sequences; each channel has the same scale in all of them.

    Raises:
        ValueError: the sequences have different numbers of channels.
    """
    if len({trace.values.shape[1] for trace in traces}) > 1:
        raise ValueError("sequences that are drawn together need the same number of channels")
    everything = np.concatenate([trace.values for trace in traces]) if traces else np.empty((0, 0))
    ranges = [_range(channel) for channel in everything.T]
    return Traces(tuple(_drawn(trace, ranges) for trace in traces))


def _range(values: NDArray[np.float64]) -> tuple[float, float]:
    """Return the smallest and the largest finite value, moved apart if they are equal."""
    finite = values[np.isfinite(values)]
    low, high = (float(finite.min()), float(finite.max())) if len(finite) else (0.0, 1.0)
    half = max(0.5, abs(low))
    return (low, high) if high > low else (low - half, high + half)


def _drawn(trace: Trace, ranges: Sequence[tuple[float, float]]) -> Drawing:
    across = np.linspace(0, WIDTH, len(trace.values)) if len(trace.values) > 1 else np.array([WIDTH / 2])
    paths = []
    for channel, (values, (low, high)) in enumerate(zip(trace.values.T, ranges, strict=True)):
        bottom = STRIP * (channel + 1) - ROOM
        places = bottom - (STRIP - 2 * ROOM) * (values - low) / (high - low)
        paths.append(_path(across, places))
    height = STRIP * len(ranges) + (MARKS if trace.marked is not None else 0)
    return Drawing(trace.caption, height, tuple(paths), () if trace.marked is None else _stretches(trace.marked))


def _path(across: NDArray[np.float64], places: NDArray[np.float64]) -> str:
    """Return the SVG path through points, broken where a point is not finite."""
    x, middle, low, high = thinned(across.tolist(), [y if math.isfinite(y) else None for y in places.tolist()], PLACES)
    path, joined = "", False
    for i, (place, value) in enumerate(zip(x, middle, strict=True)):
        if value is None:
            joined = False
            continue
        # A place that stands for several time steps is a stroke over their range, so that no peak is lost.
        for y in dict.fromkeys((low[i], high[i]) if low else (value,)):
            # A line of length zero shows a single point as a dot.
            path += f"L{place:.1f} {y:.1f}" if joined else f"M{place:.1f} {y:.1f}h0"
            joined = True
    return path


def _stretches(marked: NDArray[np.bool_]) -> tuple[tuple[float, float], ...]:
    """Return where every stretch of marked time steps begins and ends."""
    edges = np.flatnonzero(np.diff(np.concatenate([[0], marked.astype(np.int8), [0]])))
    scale = WIDTH / max(1, len(marked))
    return tuple((round(a * scale, 1), round(b * scale, 1)) for a, b in zip(edges[::2], edges[1::2], strict=True))
