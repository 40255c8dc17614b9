"""Drawings of predictions on a user's data, as SVG: sequences, forecasts and scatter plots.

They take plain numbers and do not depend on runs. Colours and fonts come from the style sheet of the page; nothing is
distinguished by colour alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

#: A line with more points is thinned out.
_MOST_POINTS = 240
#: Of more points than this a random sample is drawn.
_MOST_DOTS = 1500


def sequence(
    values: Floats, low: Floats, high: Floats, *, described: str, wrong: NDArray[np.bool_] | None = None
) -> str:
    """Return a drawing of (T, C) values: a line for each channel, from top to bottom.

    Args:
        values: the channels over time; values that are not finite leave a gap.
        low: (C,) the lower end of each channel's scale, which drawings beside each other share.
        high: (C,) the upper end.
        described: a description for screen readers.
        wrong: (T,) time steps to be marked at the bottom.
    """
    height, width, channels = 20, 240, values.shape[1]
    total = height * channels + (8 if wrong is not None else 0)
    lines = []
    for k in range(channels):
        span = high[k] - low[k]
        place = (values[:, k] - low[k]) / span if span > 0 else np.where(np.isfinite(values[:, k]), 0.5, np.nan)
        lines.append(_path(_across(len(values), width), height * (k + 1) - 2 - (height - 4) * place, "line"))
    marks = "" if wrong is None else _stretches(wrong, width, total - 5)
    return _svg(width, total, described, "".join(lines) + marks, "sequence")


def against(truth: Floats, predicted: Floats, *, name: str) -> str:
    """Return a scatter plot of predicted against true values, (N,) each, with the diagonal."""
    size = 300
    if len(truth) > _MOST_DOTS:
        chosen = np.random.default_rng(0).choice(len(truth), _MOST_DOTS, replace=False)
        truth, predicted = truth[chosen], predicted[chosen]
    low, high = _range(np.concatenate([truth, predicted]))
    x, y = (size * (values - low) / (high - low) for values in (truth, predicted))
    dots = "".join(f'<circle cx="{a:.1f}" cy="{size - b:.1f}" r="2.2"/>' for a, b in zip(x, y, strict=True))
    diagonal = f'<line class="equal" x1="0" y1="{size}" x2="{size}" y2="0"/>'
    frame = f'<rect class="frame" width="{size}" height="{size}"/>'
    words = (
        f'<text x="0" y="{size + 16}">{low:.4g}</text><text x="{size}" y="{size + 16}" text-anchor="end">{high:.4g}'
        f'</text><text x="{size / 2}" y="{size + 16}" text-anchor="middle">true {escape(name)}</text>'
        f'<text transform="translate(-6 {size / 2}) rotate(-90)" text-anchor="middle">predicted</text>'
    )
    described = f"{len(truth)} predicted values of {name} against the true ones"
    return _svg(size, size, described, frame + diagonal + dots + words, "against")


def forecasts(series: Floats, ahead: Sequence[tuple[int, Floats]], *, name: str) -> str:
    """Return a drawing of a series, (T,), and forecasts of it; a dot marks the last value that each forecast saw."""
    width, height = 720, 150
    low, high = _range(np.concatenate([series, *(values for _, values in ahead)]))
    across = _across(len(series), width)

    def down(values: Floats) -> Floats:
        return np.asarray(height * (1 - (values - low) / (high - low)))

    drawn = _path(across, down(series), "line")
    for step, values in ahead:
        stop = min(len(series), step + 1 + len(values))
        places = np.concatenate([series[step : step + 1], values[: stop - step - 1]])
        drawn += _path(across[step:stop], down(places), "forecast")
        drawn += f'<circle cx="{across[step]:.1f}" cy="{float(down(series[step : step + 1])[0]):.1f}" r="2.5"/>'
    words = "".join(
        f'<text x="-6" y="{y}" text-anchor="end">{value:.4g}</text>' for y, value in ((8, high), (height, low))
    )
    return _svg(width, height, f"{name} with {len(ahead)} forecasts", drawn + words, "forecasts")


def _across(count: int, width: float) -> Floats:
    return np.linspace(0, width, count) if count > 1 else np.array([width / 2])


def _range(values: Floats) -> tuple[float, float]:
    finite = values[np.isfinite(values)]
    low, high = (float(finite.min()), float(finite.max())) if len(finite) else (0.0, 1.0)
    return (low, high) if high > low else (low - 0.5, high + 0.5)


def _path(x: Floats, y: Floats, style: str) -> str:
    """Return the SVG path through points, broken where a point is not finite."""
    every = max(1, -(-len(x) // _MOST_POINTS))
    x, y = x[::every], y[::every]
    finite, parts, pen = np.isfinite(y), [], "M"
    for a, b, there in zip(x, y, finite, strict=True):
        if there:
            parts.append(f"{pen}{a:.1f} {b:.1f}")
        pen = "L" if there else "M"
    return f'<path class="{style}" d="{"".join(parts)}"/>'


def _stretches(wrong: NDArray[np.bool_], width: float, y: float) -> str:
    """Return a thick line below every stretch of marked steps."""
    edges = np.flatnonzero(np.diff(np.concatenate([[0], wrong.astype(np.int8), [0]])))
    scale = width / max(1, len(wrong))
    return "".join(
        f'<line class="wrong" x1="{start * scale:.1f}" x2="{stop * scale:.1f}" y1="{y}" y2="{y}"/>'
        for start, stop in zip(edges[::2], edges[1::2], strict=True)
    )


def _svg(width: float, height: float, described: str, content: str, style: str) -> str:
    return (
        f'<svg class="{style}" viewBox="0 0 {width} {height}" role="img" aria-label="{escape(described)}">'
        f"{content}</svg>"
    )
