"""The matrices of nnRNN's section 3: Theta with d, alpha and beta on its diagonals (eq. 2, figure 1a)."""

from __future__ import annotations

import numpy as np
from matplotlib.lines import Line2D
from numpy.typing import NDArray

from eigenloop.analysis.style import COLOURS

Doubles = NDArray[np.float64]

#: n, and the values of alpha (first sub-diagonal) and beta (below it), in figure 1.
SIZE, ALPHAS, BETAS = 100, (0.95, 1.0, 1.05), (0.0, 0.005)


def theta(n: int, alpha: float, beta: float, d: float = 0.0) -> Doubles:
    """Build Theta (n, n): d on the diagonal, alpha on the first sub-diagonal, beta below (eq. 2).

    >>> theta(3, 2.0, 5.0, 1.0)
    array([[1., 0., 0.],
           [2., 1., 0.],
           [5., 2., 1.]])
    """
    below: Doubles = np.tril(np.ones((n, n)), -2)
    return d * np.eye(n) + alpha * np.eye(n, k=-1) + beta * below


def look(alpha: float, beta: float) -> tuple[str, str]:
    """Return the colour and line style of a pair (alpha, beta) in the figures."""
    return COLOURS[ALPHAS.index(alpha)], ("-", "--")[BETAS.index(beta)]


def key() -> list[Line2D]:
    """Return the entries of a legend: colours for alpha, line styles for beta."""
    colours = [Line2D([], [], color=look(a, 0.0)[0], label=rf"$\alpha$ = {a:.2f}") for a in ALPHAS]
    return colours + [Line2D([], [], color="#444444", ls=look(1.0, b)[1], label=rf"$\beta$ = {b:g}") for b in BETAS]
