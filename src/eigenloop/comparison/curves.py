"""The pictures of an experiment, drawn: learning curves like those of the papers, as SVG inside the page."""

from __future__ import annotations

import io
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import matplotlib
from markupsafe import Markup, escape
from matplotlib.axes import Axes
from matplotlib.ticker import FixedLocator, FuncFormatter, MaxNLocator, NullFormatter, NullLocator

from eigenloop.analysis.style import COLOURS, panels, styled
from eigenloop.comparison.series import Picture, Series, pictures
from eigenloop.comparison.table import Sheet
from eigenloop.text.numbers import number, significant
from eigenloop.text.typography import power, quantity

#: Inches. Small, so that letters can be read when a phone shows it over its whole width.
_SIZE = (4.4, 2.9)
#: The colours of a picture become those of the page, which knows whether it is day or night.
_INK, _SOFT, _RULE = "#1d1f23", "#5c6068", "#e0e0e0"
_DRAWN = (*COLOURS[:-1], "#111111")  # of pure black, matplotlib says nothing at all
_PAGE = {colour: f"var(--hue-{i})" for i, colour in enumerate(_DRAWN)} | {
    _INK: "var(--ink)",
    _SOFT: "var(--soft)",
    _RULE: "var(--rule)",
}
_RULES: dict[str, Any] = {
    "svg.fonttype": "none",
    "font.size": 8.5,
    "axes.edgecolor": _SOFT,
    "axes.labelcolor": _SOFT,
    "axes.linewidth": 0.6,
    "xtick.color": _SOFT,
    "ytick.color": _SOFT,
    "grid.color": _RULE,
    "xtick.major.size": 0,
    "ytick.major.size": 0,
    "xtick.minor.size": 0,
    "ytick.minor.size": 0,
    "path.simplify": False,  # rounding decides what is left of a curve
}
#: How far above what is usual a spike may still stretch a linear axis.
_SPIKE = 4.0


@dataclass(frozen=True)
class Drawing:
    """A picture as SVG, with what stands around it."""

    title: str
    svg: Markup
    keys: tuple[Series, ...]
    several: bool


def draw(sheet: Sheet) -> tuple[Drawing, ...]:
    """Draw all pictures of an experiment."""
    found = pictures(sheet)
    return tuple(_drawn(picture, found, f"{sheet.experiment.name}-{i}") for i, picture in enumerate(found))


def _drawn(picture: Picture, all_of_them: Sequence[Picture], key: str) -> Drawing:
    rules: Any = {**_RULES, "svg.hashsalt": key}
    with styled(), matplotlib.rc_context(rules):
        figure, (axes,) = panels(1, width=_SIZE[0], height=_SIZE[1])
        for series in picture.series:
            _curve(axes, series, picture.marked)
        _scales(axes, picture, [p for p in all_of_them if p.family == picture.family])
        axes.set_xlabel(picture.across)
        axes.set_ylabel(picture.upwards)
        if picture.baseline is not None:
            _guessing(axes, picture.baseline)
        figure.patch.set_visible(False)
        axes.patch.set_visible(False)
        text = io.StringIO()
        figure.savefig(text, format="svg", metadata={"Date": None, "Creator": None, "Format": None, "Type": None})
    svg = compact(text.getvalue(), _described(picture))
    return Drawing(picture.title, Markup(svg), picture.series, any(s.seeds for s in picture.series))


def _curve(axes: Axes, series: Series, marked: bool) -> None:
    colour = _DRAWN[series.hue]
    x, y = zip(*series.middle, strict=True)
    alone = len(series.middle) == 1
    style = ":" if series.level else "-"
    axes.plot(x, y, style, color=colour, marker="o" if (marked or alone) and not series.level else "", markersize=3.5)
    # Not a band: of three seeds one may learn and two not, and then nothing is in between.
    for points in series.seeds:
        axes.plot(*zip(*points, strict=True), color=colour, linewidth=0.6, alpha=0.5)
    if series.lost:
        axes.plot(x[-1:], y[-1:], "x", color=colour, markersize=6, markeredgewidth=1.8)


def _guessing(axes: Axes, baseline: float) -> None:
    axes.axhline(baseline, color=_INK, linewidth=0.9, linestyle=(0, (5, 4)), alpha=0.8)
    axes.annotate(
        f"baseline {number(baseline)}",
        (1.0, baseline),
        (0, 3),
        xycoords=("axes fraction", "data"),
        textcoords="offset points",
        ha="right",
        color=_INK,
        fontsize=8,
    )


def _scales(axes: Axes, picture: Picture, family: Sequence[Picture]) -> None:
    values = [value for p in family for s in p.series for points in (s.middle, *s.seeds) for _, value in points]
    values += [p.baseline for p in family if p.baseline is not None]
    low, high = min(values), max(values)
    axes.xaxis.set_major_locator(MaxNLocator(5, integer=True))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: quantity(value)))
    if not picture.marked:
        axes.set_xlim(left=0)
    if low > 0 and high / low > 10:
        room = (high / low) ** 0.05
        axes.set_yscale("log")
        axes.set_ylim(low / room, high * room)
        axes.yaxis.set_major_locator(FixedLocator(_decades(low / room, high * room)))
        axes.yaxis.set_minor_locator(NullLocator())
        axes.yaxis.set_minor_formatter(NullFormatter())
        axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: _log_tick(value)))
        return
    # A spike in the first steps would press everything else onto the axis.
    usual = sorted(values)[int(0.95 * (len(values) - 1))]
    high = min(high, _SPIKE * usual) if usual > 0 else high
    room = 0.07 * (high - low) or 0.5 * abs(high) or 1.0
    axes.set_ylim(low - room, high + room)
    axes.yaxis.set_major_locator(MaxNLocator(5))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: quantity(round(value, 10))))


def _decades(low: float, high: float) -> list[float]:
    """Choose at most six ticks: powers of ten; with 2 and 5 between them where there would be too few."""
    exponents = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    powers = [10.0**e for e in exponents if low <= 10.0**e <= high]
    if len(powers) < 3:
        return [m * 10.0**e for e in exponents for m in (1, 2, 5) if low <= m * 10.0**e <= high]
    return powers[:: math.ceil(len(powers) / 6)]


def _log_tick(value: float) -> str:
    exponent = math.log10(value)
    if 1e-3 < value < 1e4:
        return quantity(significant(value, 3))
    return power(round(exponent)) if abs(exponent - round(exponent)) < 1e-6 else number(value, 1)


def _described(picture: Picture) -> str:
    """Say in words what is drawn: where every curve begins and ends."""
    parts = [
        f"{s.label}: {number(s.middle[0][1])} to {number(s.middle[-1][1])}"
        + (", then training diverged" if s.lost else "")
        for s in picture.series
    ]
    start = f"{picture.upwards} against {picture.across}{f', {picture.title}' if picture.title else ''}. "
    return start + "; ".join(parts) + "."


def compact(svg: str, description: str) -> str:
    """Make of matplotlib's SVG what a page needs: its letters and colours, and a tenth of a point is enough."""
    box = re.search(r'<svg[^>]*viewBox="([^"]+)"[^>]*>', svg)
    assert box is not None
    body = re.sub(r"<metadata>.*?</metadata>|<style.*?</style>", "", svg[box.end() :], flags=re.S)
    body = re.sub(r' d="([^"]*)"', lambda path: f' d="{_rounded(path.group(1))}"', body)
    body = re.sub(r' (x|y)="([\d.]+)"', lambda place: f' {place.group(1)}="{float(place.group(2)):.1f}"', body)
    body = re.sub(r' transform="rotate\(-0 [^"]*"', "", body)
    body = re.sub(r" font-family: [^;\"]*;", "", body)
    for drawn, shown in _PAGE.items():
        body = body.replace(drawn, shown)
    for name in re.findall(r' id="([^"]+)"', body):
        if f"#{name}" not in body:
            body = body.replace(f' id="{name}"', "", 1)
    body = re.sub(r"<g>\s*</g>|<g/>|<defs>\s*</defs>", "", body)
    body = re.sub(r">\s+<", "><", body).strip()
    return f'<svg viewBox="{box.group(1)}" role="img" aria-label="{escape(description)}">{body}'


def _rounded(path: str) -> str:
    """Write a path with a digit after the point, without points that coincide then."""
    found: list[str] = []
    for command in re.findall(r"[A-Za-z][^A-Za-z]*", path):
        places = " ".join(f"{float(number):.1f}".removesuffix(".0") for number in command[1:].split())
        written = f"{command[0]}{places}"
        if not found or written[1:] != found[-1][1:] or not places:
            found.append(written)
    return "".join(found)
