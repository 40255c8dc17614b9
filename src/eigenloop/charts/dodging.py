"""Placement of labels: moved apart if they would overlap, and put where the fewest curves pass."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

#: The width of a reference line's label as a fraction of the chart's width; and how close to the line, as a fraction of
#: the height, a curve may run without touching its label.
WIDE, CLOSE = 0.42, 0.015


def dodged(wanted: Sequence[float], gap: float, height: float) -> list[float]:
    """Return positions of labels at least `gap` apart, close to those wanted, and inside the chart if there is room.

    >>> dodged([100, 100, 300], 17, 340)
    [91.5, 108.5, 300.0]
    """
    clusters: list[tuple[float, list[int]]] = []
    for i in sorted(range(len(wanted)), key=lambda i: wanted[i]):
        clusters.append((wanted[i], [i]))
        while len(clusters) > 1 and _bottom(clusters[-2], gap, height) > _start(clusters[-1], gap, height) - gap:
            (_, last), (_, before) = clusters.pop(), clusters.pop()
            members = before + last
            clusters.append((sum(wanted[k] for k in members) / len(members), members))
    places = [0.0] * len(wanted)
    for cluster in clusters:
        for position, i in enumerate(cluster[1]):
            places[i] = round(_start(cluster, gap, height) + position * gap, 1)
    return places


def _start(cluster: tuple[float, list[int]], gap: float, height: float) -> float:
    centre, members = cluster
    extent = gap * (len(members) - 1)
    return max(min(centre - extent / 2, height - extent), 0.0)


def _bottom(cluster: tuple[float, list[int]], gap: float, height: float) -> float:
    return _start(cluster, gap, height) + gap * (len(cluster[1]) - 1)


def clearest(curves: Sequence[Sequence[tuple[float, float]]], height: float, high: float = 0.06) -> tuple[str, bool]:
    """Return where to put the label of a horizontal line: at which end, and whether below it.

    Curves are points (x, y) between 0 and 1; the label takes `high` of the height. Of the four places (end above, end
    below, start above, start below) the first with the fewest curve points in it is chosen.

    >>> clearest([[(0.0, 0.54), (1.0, 0.54)]], 0.5), clearest([], 0.5), clearest([], 0.98)
    (('end', True), ('end', False), ('end', True))
    """
    best, least = ("end", False), np.inf
    for side, first in (("end", 1 - WIDE), ("start", 0.0)):
        along = np.linspace(first, first + WIDE, 24)
        for below in (False, True):
            low, top = (height - high, height) if below else (height, height + high)
            if low < 0 or top > 1:
                continue
            low, top = (low, top - CLOSE) if below else (low + CLOSE, top)
            inside = 0
            for curve in curves:
                x, y = np.transpose(curve)
                upwards = np.interp(along, x, y, left=np.nan, right=np.nan)
                inside += int(np.count_nonzero((upwards > low) & (upwards < top)))
            if inside < least:
                best, least = (side, below), inside
    return best
