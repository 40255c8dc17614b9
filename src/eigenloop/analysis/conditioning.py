"""How quantization changes an orthogonal matrix (QORNN figure 1; figures 2c to 5c show the same ratio against k)."""

from __future__ import annotations

import torch
from matplotlib.figure import Figure
from torch import Tensor

from eigenloop import initializers
from eigenloop.analysis.result import Result, Table
from eigenloop.analysis.style import COLOURS, panels, styled
from eigenloop.quantization import quantize
from eigenloop.quantization.conditioning import departure

#: The sizes, powers and bit widths of figure 1.
SIZE, POWERS, WIDTHS = 10, (1, 10, 100, 200), tuple(range(2, 13))
QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)


def haar_matrices(count: int, n: int, seed: int) -> Tensor:
    """Draw orthogonal matrices uniformly, (count, n, n) in float64."""
    generator = torch.Generator().manual_seed(seed)
    return torch.stack([initializers.haar(n, generator) for _ in range(count)])


def quantized(W: Tensor, bits: int) -> Tensor:
    """Quantize a batch of matrices, each with its own step."""
    matrices: Tensor = torch.func.vmap(lambda matrix: quantize(matrix, bits))(W)
    return matrices


def power_error(W: Tensor, bits: int, power: int) -> Tensor:
    """Return ||W^p - q(W)^p||_F / ||W^p||_F of every matrix: figure 1, left."""
    exact, rounded = (torch.linalg.matrix_power(M, power) for M in (W, quantized(W, bits)))
    size = torch.linalg.matrix_norm
    return size(exact - rounded) / size(exact)


def ratios(W: Tensor, bits: int) -> Tensor:
    """Return sigma_min / sigma_max of every q(W): figure 1, right."""
    sigma = torch.linalg.svdvals(quantized(W, bits))
    return sigma[:, -1] / sigma[:, 0]


def violations(W: Tensor, bits: int) -> int:
    """Return the number of matrices whose q(W) violates bound (3) or (4)."""
    departures = [departure(q, bits) for q in quantized(W, bits)]
    return sum(d.gram > d.gram_bound or d.singular > d.singular_bound for d in departures)


def conditioning(draws: int = 1000, size: int = SIZE, seed: int = 0) -> Result:
    """Measure q(W) of random orthogonal matrices: errors of its powers, its singular values, the paper's bounds.

    Args:
        draws: number of matrices.
        size: n.
        seed: seed of the draws.
    """
    W = haar_matrices(draws, size, seed)
    levels = torch.tensor(QUANTILES, dtype=W.dtype)
    spread = {k: torch.quantile(ratios(W, k), levels).tolist() for k in WIDTHS}
    errors = {k: [float(power_error(W[:200], k, p).median()) for p in POWERS] for k in WIDTHS}
    beyond = {k: violations(W, k) for k in WIDTHS}
    rows = tuple((k, *spread[k][::2], *errors[k], beyond[k]) for k in WIDTHS)
    columns = ("k", "ratio 5 %", "median", "95 %", *(f"error p={p}" for p in POWERS), "beyond a bound")
    return Result(
        name="conditioning",
        title=f"Haar matrices, n = {size}, in k bits: sigma_min / sigma_max and the error of W^p",
        numbers={
            "size": size,
            "draws": draws,
            "seed": seed,
            "quantiles": QUANTILES,
            "ratio": spread,
            "powers": POWERS,
            "power_error": errors,
            "beyond_a_bound": beyond,
        },
        table=Table(columns, rows),
        figure=_drawn(spread, errors, size),
        notes=(f"The errors are medians of {min(draws, 200)} draws, the ratios quantiles of {draws}.",),
    )


def _drawn(spread: dict[int, list[float]], errors: dict[int, list[float]], size: int) -> Figure:
    with styled():
        figure, (left, right) = panels(2)
        for i, p in enumerate(POWERS):
            left.semilogy(WIDTHS, [errors[k][i] for k in WIDTHS], "o-", ms=3, color=COLOURS[i], label=f"p = {p}")
        left.set(xlabel="bits k", ylabel="relative error of $W^p$", title="A quantized matrix drifts with every step")
        left.legend()
        low, lower, middle, upper, high = ([spread[k][i] for k in WIDTHS] for i in range(5))
        right.fill_between(WIDTHS, low, high, color=COLOURS[0], alpha=0.15, lw=0, label="5 to 95 %")
        right.fill_between(WIDTHS, lower, upper, color=COLOURS[0], alpha=0.3, lw=0, label="25 to 75 %")
        right.plot(WIDTHS, middle, "o-", ms=3, color=COLOURS[0], label="median")
        right.set(xlabel="bits k", ylabel=r"$\sigma_{min}\,/\,\sigma_{max}$ of $q_k(W)$", ylim=(0, 1.02))
        right.set_title(f"How orthogonal it stays, n = {size}")
        right.legend(loc="lower right")
    return figure
