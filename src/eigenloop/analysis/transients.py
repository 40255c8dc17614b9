r"""Transients of a linear network with a triangular Theta (nnRNN section 3.1, figure 1b).

h_{t+1} = Theta h_t with h_0 uniform on the unit sphere. With d = 0 Theta is nilpotent: Theta^n = 0.

Note [What is averaged]
    According to its caption, figure 1b shows the standard deviation across hidden units, averaged over the initial
    states; that is `across_units`. The published notebook takes the standard deviation of every unit over the initial
    states and averages over the units; that is `across_starts`. Both are computed, the first is drawn.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from matplotlib.figure import Figure

from eigenloop.analysis.feed_forward import ALPHAS, BETAS, SIZE, Doubles, key, look, theta
from eigenloop.analysis.result import Result, Table
from eigenloop.analysis.rounding import rounded
from eigenloop.analysis.style import panels, styled


@dataclass(frozen=True)
class Band:
    """A mean and a standard deviation for every t, drawn as a curve with a band."""

    mean: Doubles
    deviation: Doubles


@dataclass(frozen=True)
class Transient:
    """Statistics of h_t = Theta^t h_0 over random initial states, for t = 0, 1, ...

    Attributes:
        norm: ||h_t||; mean and deviation over the initial states.
        across_units: the standard deviation across the entries of h_t; mean and deviation over the initial states.
        across_starts: the standard deviation of a unit over the initial states; mean and deviation over the units.
        root_mean_square: sqrt(E ||h_t||^2) = ||Theta^t||_F / sqrt(n), in closed form.
    """

    norm: Band
    across_units: Band
    across_starts: Band
    root_mean_square: Doubles


def starts(count: int, n: int, seed: int) -> Doubles:
    """Draw points uniformly on the unit sphere, (n, count)."""
    drawn = np.random.default_rng(seed).standard_normal((n, count))
    points: Doubles = drawn / np.linalg.norm(drawn, axis=0)
    return points


def transient(M: Doubles, h: Doubles, steps: int) -> Transient:
    """Apply h' = M h to the initial states h (n, count) for `steps` steps and return their statistics."""
    norms, units, singles, powers = [], [], [], []
    power = np.eye(len(M))
    for t in range(steps + 1):
        if t:
            h, power = M @ h, M @ power
        norms.append(np.linalg.norm(h, axis=0))
        units.append(np.std(h, axis=0))
        singles.append(np.std(h, axis=1))
        powers.append(float(np.linalg.norm(power)) / math.sqrt(len(M)))
    return Transient(_band(norms), _band(units), _band(singles), np.array(powers))


def _band(values: list[Doubles]) -> Band:
    stacked = np.stack(values)
    return Band(np.mean(stacked, axis=1), np.std(stacked, axis=1))


def transients(count: int = 1000, size: int = SIZE, seed: int = 0) -> Result:
    """Measure h_t = Theta^t h_0 over random initial states for the six matrices of figure 1b, up to t = 1.5 n.

    Args:
        count: number of initial states.
        size: n.
        seed: seed of the initial states.
    """
    steps = size + size // 2
    h = starts(count, size, seed)
    by_pair = {(alpha, beta): transient(theta(size, alpha, beta), h, steps) for beta in BETAS for alpha in ALPHAS}
    at = (0, size // 2, size - 1, size, steps)
    rows = []
    for pair, one in by_pair.items():
        peak = int(one.norm.mean.argmax())
        values = (float(one.norm.mean[t]) for t in at)
        rows.append((*pair, float(one.norm.mean[peak]), peak, *values))
    return Result(
        name="transients",
        title=f"The norm of h_t = Theta^t h_0, n = {size}, mean over {count} starts on the unit sphere",
        numbers={
            "size": size,
            "count": count,
            "seed": seed,
            "rows": [
                {
                    "alpha": alpha,
                    "beta": beta,
                    **_listed("norm", one.norm),
                    **_listed("across_units", one.across_units),
                    **_listed("across_starts", one.across_starts),
                    "root_mean_square": rounded(one.root_mean_square.tolist()),
                }
                for (alpha, beta), one in by_pair.items()
            ],
        },
        table=Table(("alpha", "beta", "peak", "at t", *(f"t = {t}" for t in at)), tuple(rows)),
        figure=_drawn(by_pair, size),
        notes=(f"Theta is nilpotent: after {size} steps nothing is left.",),
    )


def _listed(name: str, band: Band) -> dict[str, list[float]]:
    return rounded({f"{name}_mean": band.mean.tolist(), f"{name}_deviation": band.deviation.tolist()})


def _drawn(by_pair: dict[tuple[float, float], Transient], size: int) -> Figure:
    with styled():
        figure, (left, right) = panels(2)
        t = np.arange(size)
        for (alpha, beta), one in by_pair.items():
            colour, ls = look(alpha, beta)
            for axis, band in ((left, one.across_units), (right, one.norm)):
                # After n steps h_t is zero, which a logarithmic axis cannot show.
                mean, deviation = band.mean[:size], band.deviation[:size]
                axis.plot(t, mean, color=colour, ls=ls)
                low = np.maximum(mean - deviation, mean / 10)
                axis.fill_between(t, low, mean + deviation, color=colour, alpha=0.15, lw=0)
        for axis, title, name in (
            (left, "Across hidden units", r"standard deviation of the entries of $h_t$"),
            (right, r"The whole state (bands: $\pm$ one deviation over starts)", r"norm $\Vert h_t \Vert$"),
        ):
            axis.axvline(size, color="#888888", lw=0.8, ls=":")
            axis.text(1.02 * size, 0.94, r"$\Theta^n = 0$", transform=axis.get_xaxis_transform(), color="#666666")
            axis.set(title=title, xlabel="t, steps", ylabel=name, yscale="log", xlim=(0, size + size // 2))
        right.legend(handles=key(), loc="lower right")
    return figure
