"""Checks the papers' bounds over many random draws: do they hold, and how tight are they?"""

from __future__ import annotations

from typing import Any

import torch
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from torch import Tensor

from eigenloop.analysis.bound_check import Check
from eigenloop.analysis.result import Result, Table
from eigenloop.analysis.rounding import rounded
from eigenloop.analysis.style import COLOURS, panels, styled
from eigenloop.analysis.theorems_gated import corollary_1, corollary_2, corollary_3, theorem_1
from eigenloop.analysis.theorems_simple import proposition_1, proposition_2, short_term
from eigenloop.text.points import spread
from eigenloop.training import ConfigError

#: Points of each statement in the figure, and in the file.
DRAWN, WRITTEN = 1000, 150
#: Up to this many violations are all drawn; if there are more, only those among the `DRAWN` points.
ALL = 200


def checks(draws: int, seed: int) -> list[Check]:
    """Check every statement over `draws` random draws each."""
    generator = torch.Generator().manual_seed(seed)
    gated = [make(draws, generator) for make in (theorem_1, corollary_1, corollary_2, corollary_3)]
    return [*gated, *short_term(draws, generator), proposition_1(draws, generator), proposition_2(draws, generator)]


def bounds(draws: int = 3000, seed: int = 0) -> Result:
    """Check NC-GRU's theorem 1 and corollaries, ENRNN's theorem 3.1 and nnRNN's propositions 1 and 2.

    Args:
        draws: random draws for each statement, at least 2.
        seed: seed of the draws.

    Returns:
        For each statement and version: how many draws violate it, and how tight it is.

    Raises:
        ConfigError: fewer than 2 draws.
    """
    if draws < 2:
        raise ConfigError(f"bounds are tried over at least 2 draws, got {draws}: give more")
    statements = checks(draws, seed)
    rows = tuple(
        (check.name, version, len(check.measured), check.violations(version), check.tightest(version))
        for check in statements
        for version in check.bounds
    )
    return Result(
        name="bounds",
        title="Bounds against the bounded quantities",
        numbers={
            "draws": draws,
            "seed": seed,
            "statements": [_numbers(check) for check in statements],
        },
        table=Table(("statement", "version", "draws", "violated", "tightest"), rows),
        figure=_drawn(statements),
        notes=(
            "tightest: the largest measured / bound (bound / measured of proposition 1, a lower bound); beyond 1 the "
            "statement is violated.",
            *_impossible(statements),
            "Corollaries 2 and 3 say 'about 2' and 'about 1'; printed, they are taken as 2 and 1.",
        ),
    )


def _impossible(statements: list[Check]) -> list[str]:
    """Return a note for each statement with draws whose upper bound is not positive."""
    counts = {f"{check.name}, {version}": check.impossible(version) for check in statements for version in check.bounds}
    return [
        f"Left out: {count} draws of {name} whose upper bound is not positive."
        for name, count in counts.items()
        if count
    ]


def _numbers(check: Check) -> dict[str, object]:
    kept = spread(len(check.measured), WRITTEN)
    return {
        "statement": check.name,
        "lower_bound": check.lower,
        "draws": len(check.measured),
        "measured": rounded(check.measured[kept]),
        "versions": {
            version: {
                "violated": check.violations(version),
                "not_positive": check.impossible(version),
                "tightest": rounded(check.tightest(version)),
                "median_share": rounded(float(check.share(version).median())),
                "bound": rounded(bound[kept]),
            }
            for version, bound in check.bounds.items()
        },
    }


def _drawn(statements: list[Check]) -> Figure:
    with styled():
        figure, axes = panels(4, rows=2, width=3.6, height=3.4)
        for axis, check in zip(axes, statements, strict=True):
            _draw(axis, check)
    return figure


def _draw(axis: Axes, check: Check) -> None:
    # The version that holds always has the first colour.
    colours = {1: COLOURS[:1], 2: COLOURS[1::-1], 3: (COLOURS[1], COLOURS[2], COLOURS[0])}[len(check.bounds)]
    shown, wrong = [], []
    for colour, (version, bound) in zip(colours, check.bounds.items(), strict=True):
        points, beyond = torch.stack((bound, check.measured)), check.beyond(version)
        kept = torch.zeros_like(beyond)
        kept[spread(len(beyond), DRAWN)] = True
        if int(beyond.sum()) <= ALL:
            kept |= beyond
        kept &= (points > 0).all(dim=0)
        shown.append(points[:, kept])
        wrong.append(points[:, kept & beyond])
        label = f"{version}: {check.violations(version)} violated"
        dots: dict[str, Any] = {"lw": 0, "color": colour, "rasterized": True}
        (x, y), (wrong_x, wrong_y) = points[:, kept & ~beyond].numpy(), wrong[-1].numpy()
        axis.scatter(x, y, s=5, alpha=0.4, zorder=2, **dots)
        axis.scatter(wrong_x, wrong_y, s=7, alpha=0.9, zorder=3, **dots)
        axis.scatter([], [], s=5, label=label, **dots)
    (left, low), (right, high) = _limits(torch.cat(shown, dim=1), torch.cat(wrong, dim=1), check.lower)
    # Room for the legend above the points.
    top = high * (high / low) ** (0.14 + 0.1 * len(check.bounds))
    both = (min(left, low), max(right, top))
    axis.plot(both, both, color="black", lw=0.8, ls="--")
    axis.fill_between(both, both, both[:1] * 2 if check.lower else both[1:] * 2, color="black", alpha=0.05, lw=0)
    axis.set(
        xscale="log",
        yscale="log",
        xlabel="bound",
        ylabel=f"measured {check.formula}",
        xlim=(left, right),
        ylim=(low, top),
    )
    if right / left < 30:
        ticks = [tick for tick in (0.2, 0.5, 1, 2, 5, 10, 20, 50) if left <= tick <= right]
        axis.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
        axis.set_xticks([], minor=True)
    axis.set_title(check.name + (" (lower bound)" if check.lower else ""))
    frame = {"frameon": True, "facecolor": "white", "edgecolor": "none", "framealpha": 0.85}
    axis.legend(loc="upper left", markerscale=2.5, handletextpad=0.2, borderaxespad=0.1, **frame)


def _limits(points: Tensor, wrong: Tensor, lower: bool) -> tuple[list[float], list[float]]:
    """Return the limits (bound, measured) of the axes, without points that are far from their bound."""
    left, low = (torch.quantile(points, 0.005, dim=1) / 1.3).tolist()
    if wrong.numel() and not lower:
        left = min(left, float(wrong[0].min()) / 1.3)
    near = [max(left, low / 1e4), low] if lower else [left, max(low, left / 30)]
    return near, (points.amax(dim=1) * 1.3).tolist()
