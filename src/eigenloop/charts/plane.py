"""Eigenvalues in the complex plane: hollow before training, filled after it."""

from __future__ import annotations

import cmath
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from eigenloop.charts import scales
from eigenloop.charts.render import render
from eigenloop.text.typography import quantity

#: A panel is SIZE units wide and high, with the origin at its centre and a margin of EDGE units for labels.
SIZE, EDGE = 220, 12
#: The distance from modulus 1 up to which an eigenvalue computed in float32 counts as on the unit circle.
ON_THE_CIRCLE = 1e-4


@dataclass(frozen=True)
class Panel:
    """The eigenvalues of one matrix, in coordinates of the panel.

    Attributes:
        title: the run or model that they belong to.
        matrix: the name of the matrix; empty if it is obvious.
        style: the CSS classes for its colour.
        circle: the radius of the unit circle.
        grid: radii and labels of further circles, for spectra that extend far beyond the unit disc.
        before: the points before training, as "x,y x,y".
        after: the points after training, as a path of dots.
        caption: how many there are, and the largest modulus.
    """

    title: str
    matrix: str
    style: str
    circle: float
    grid: tuple[tuple[float, str], ...]
    before: str
    after: str
    caption: str


@dataclass(frozen=True)
class Planes:
    """Panels side by side; a template writes ``{{ planes }}``."""

    panels: tuple[Panel, ...]

    def __html__(self) -> Markup:
        """Return the panels as HTML, for templates."""
        return render("planes.html", panels=self.panels, half=SIZE // 2)


def panel(before: Sequence[complex], after: Sequence[complex], *, title: str, matrix: str = "", style: str) -> Panel:
    """Return the panel of eigenvalues before and after training; the caption counts those that are not finite."""
    given = len(before) + len(after)
    before, after = _finite(before), _finite(after)
    largest = max((abs(value) for value in (*before, *after)), default=1.0)
    unit = (SIZE / 2 - EDGE) / max(1.12, 1.04 * largest)
    rings = scales.linear_ticks(0.0, largest, 3)[1:] if largest > 2.5 else []
    lost = given - len(before) - len(after)
    return Panel(
        title=title,
        matrix=matrix,
        style=style,
        circle=round(unit, 1),
        grid=tuple((round(unit * ring, 1), quantity(ring)) for ring in rings if ring != 1),
        before=" ".join(f"{x},{y}" for x, y in _places(before, unit)),
        after="".join(f"M{x} {y}h0" for x, y in _places(after, unit)),
        caption=_caption(before, after) + (f"; {lost} not finite" if lost else ""),
    )


def _finite(values: Iterable[complex]) -> list[complex]:
    return [value for value in values if cmath.isfinite(value) and abs(value) < scales.HUGE]


def _places(values: Iterable[complex], unit: float) -> Iterable[tuple[float, float]]:
    """Return the positions of eigenvalues, the imaginary axis upwards; equal positions occur once."""
    return dict.fromkeys((round(unit * value.real, 1), round(-unit * value.imag, 1) + 0.0) for value in values)


def _caption(before: Sequence[complex], after: Sequence[complex]) -> str:
    last = after or before
    if not last:
        return "no eigenvalues"
    moment = "" if after and before else " after training only" if after else " before training only"
    count = f"{len(last)} eigenvalue{'s' if len(last) != 1 else ''}{moment}"
    if all(abs(abs(value) - 1) <= ON_THE_CIRCLE for value in last):
        return f"{count}, all on the unit circle"
    radii = [
        f"{radius:.3f}" if radius < 100 else quantity(radius) for radius in map(_radius, filter(None, (before, after)))
    ]
    return f"{count}, largest modulus {' to '.join(radii)}"


def _radius(values: Sequence[complex]) -> float:
    return max(map(abs, values))
