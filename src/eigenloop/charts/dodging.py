"""Labels that would cover each other, moved apart."""

from __future__ import annotations

from collections.abc import Sequence


def dodged(wanted: Sequence[float], gap: float, height: float) -> list[float]:
    """Move labels apart, as little as it takes and inside the chart while there is room.

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
    found = [0.0] * len(wanted)
    for cluster in clusters:
        for position, i in enumerate(cluster[1]):
            found[i] = round(_start(cluster, gap, height) + position * gap, 1)
    return found


def _start(cluster: tuple[float, list[int]], gap: float, height: float) -> float:
    centre, members = cluster
    extent = gap * (len(members) - 1)
    return max(min(centre - extent / 2, height - extent), 0.0)


def _bottom(cluster: tuple[float, list[int]], gap: float, height: float) -> float:
    return _start(cluster, gap, height) + gap * (len(cluster[1]) - 1)
