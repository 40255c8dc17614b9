r"""Fisher memory curves (nnRNN figure 1c and Table 6; SM section B, eq. 7; Ganguli, Huh and Sompolinsky 2008, eq. 3).

h' = Theta h + e1 s + noise of unit variance. The Fisher information that h_t keeps about the signal k steps ago is

    J(k) = e1^T (Theta^k)^T C^-1 Theta^k e1,    C = sum_{j >= 0} Theta^j (Theta^j)^T,

and J_tot is its sum over all k.

Note [Which alpha]
    Proposition 1 and SM section B have sqrt(alpha) on the sub-diagonal. Table 6 has alpha itself, as eq. 2 says: only
    this reproduces its first six rows.

Note [Where double precision is not enough]
    With d = 0.2 the condition number of C reaches 1e24, and a solve in double precision returns noise. C and its
    factors are therefore computed in fixed point, with integers of several hundred bits that stand for multiples of
    2^-bits. In the coordinates y = L^-1 h, C = L L^T, the noise is white: J(k) = |K^k y0|^2 with K = L^-1 Theta L, a
    contraction, for which double precision is enough again.

Note [The sum in closed form]
    Theta commutes with the shift S, so C - S C S^T = sum_k Theta^k e1 e1^T (Theta^k)^T. Hence
    J_tot = trace(C^-1 (C - S C S^T)) = n - |Z|_F^2 with Z = L^-1 S L, without truncating a sum.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from eigenloop.analysis.feed_forward import ALPHAS, BETAS, SIZE, Doubles, key, look, theta
from eigenloop.analysis.result import Result, Table
from eigenloop.analysis.rounding import rounded
from eigenloop.analysis.style import panels, styled

Integers = NDArray[np.object_]
Row = tuple[float, float, float]

DIAGONALS = (0.0, 0.2)
#: Table 6: J_tot for (alpha, beta, d).
PUBLISHED = {
    (0.95, 0.0, 0.0): 3.03,
    (1.0, 0.0, 0.0): 5.19,
    (1.05, 0.0, 0.0): 12.1,
    (0.95, 0.005, 0.0): 3.18,
    (1.0, 0.005, 0.0): 5.30,
    (1.05, 0.005, 0.0): 12.1,
    (0.95, 0.0, 0.2): 12.0,
    (1.0, 0.0, 0.2): 16.2,
    (1.05, 0.0, 0.2): 20.5,
    (0.95, 0.005, 0.2): 12.1,
    (1.0, 0.005, 0.2): 16.3,
    (1.05, 0.005, 0.2): 20.4,
}


@dataclass(frozen=True)
class Memory:
    """A Fisher memory curve: J(k) for k = 0, 1, ..., its sum over all k, and the condition number of C."""

    curve: Doubles
    total: float
    condition: float


def memory(n: int, alpha: float, beta: float, d: float, steps: int, bits: int | None = None) -> Memory:
    """Compute J(0), ..., J(steps - 1) and J_tot, to at least twelve significant digits.

    Args:
        n: units.
        alpha: first sub-diagonal of Theta.
        beta: all entries below it.
        d: diagonal, less than 1 in modulus: otherwise the noise covariance C does not converge.
        steps: how many values of the curve.
        bits: binary digits after the point; by default 128 more than twice the digits of C before it.
    """
    if not abs(d) < 1:
        raise ValueError(f"the noise has a limit only for |d| < 1, got d = {d}: choose a smaller one")
    if bits is None:
        # C >= I, so its largest entry bounds its condition number, and a rough C is enough to find that entry.
        rough = _covariance(n, alpha, beta, d, 64)
        bits = 128 + 2 * (int(rough.max()) >> 64).bit_length()
    C = _covariance(n, alpha, beta, d, bits)
    Z, y, L = _whitened(C, bits)
    # K = L^-1 Theta L follows from Theta = d + alpha S + beta (S^2 + S^3 + ...) with Z in place of S.
    eye = np.eye(n)
    K = np.linalg.solve(eye - Z, d * eye + (alpha - d) * Z + (beta - alpha) * Z @ Z)
    curve = np.empty(steps)
    for k in range(steps):
        curve[k] = y @ y
        y = K @ y
    return Memory(curve, n - float(np.sum(Z * Z)), float(np.linalg.cond(L)) ** 2)


def _covariance(n: int, alpha: float, beta: float, d: float, bits: int) -> Integers:
    """Solve C = Theta C Theta^T + I entry by entry.

    (I - S) Theta = B has three bands: d, alpha - d, beta - alpha. So (I - S) C (I - S)^T = B C B^T + (I - S)(I - S)^T,
    in which each entry depends only on its eight neighbours above and to the left.
    """
    # 0.95 means exactly 19/20, not the nearest double.
    a, b, c = (Fraction(str(x)) for x in (alpha, beta, d))
    bands = (c, a - c, b - a)
    over = math.lcm(*(band.denominator for band in bands))
    p, q = [int(band * over) for band in bands], over**2
    weights = {(i, j): p[i] * p[j] for i in range(3) for j in range(3)}
    own = q - weights.pop((0, 0))
    weights[0, 1] += q
    weights[1, 0] += q
    weights[1, 1] -= q
    terms = [(i, j, weight) for (i, j), weight in weights.items() if weight]
    unit = q << bits
    # Padded with two rows and two columns of zeros at the top and left.
    C = [[0] * (n + 2) for _ in range(n + 2)]
    for i in range(2, n + 2):
        for j in range(2, i + 1):
            entry = sum(weight * C[i - up][j - left] for up, left, weight in terms)
            if i == j:
                entry += unit if i == 2 else 2 * unit
            elif i == j + 1:
                entry -= unit
            C[i][j] = C[j][i] = entry // own
    return np.array([row[2:] for row in C[2:]], dtype=object)


def _whitened(C: Integers, bits: int) -> tuple[Doubles, Doubles, Doubles]:
    """Factor C = L L^T and return Z = L^-1 S L (n, n), y0 = L^-1 e1 (n) and L (n, n), correctly rounded."""
    n = len(C)
    rest, unit = C.copy(), np.zeros_like(C)
    pivots = []
    for j in range(n):
        pivots.append(rest[j, j])
        unit[j, j] = 1 << bits
        unit[j + 1 :, j] = (rest[j + 1 :, j] << bits) // rest[j, j]
        rest[j + 1 :, j + 1 :] -= np.multiply.outer(unit[j + 1 :, j], rest[j, j + 1 :]) >> bits
    # e1 and S times the unit triangle, concatenated; row j ends at column j.
    sides = np.zeros((n, n + 1), dtype=object)
    sides[0, 0] = 1 << bits
    sides[1:, 1:] = unit[:-1]
    for j in range(n):
        sides[j + 1 :, : j + 1] -= np.multiply.outer(unit[j + 1 :, j], sides[j, : j + 1]) >> bits
    scale = np.sqrt(_doubles(np.array(pivots, dtype=object), bits))
    solved = _doubles(sides, bits) / scale[:, None]
    return solved[:, 1:] * scale, solved[:, 0], _doubles(unit, bits) * scale


def _doubles(numbers: Integers, bits: int) -> Doubles:
    return (numbers / (1 << bits)).astype(np.float64)


def memory_in_doubles(n: int, alpha: float, beta: float, d: float, steps: int) -> Doubles:
    """Compute J(0), ..., J(steps - 1) naively in double precision: sum C until it converges, solve, multiply."""
    M = theta(n, alpha, beta, d)
    C, term = np.eye(n), np.eye(n)
    while float(np.abs(term := M @ term @ M.T).max()) > 1e-20 * float(np.abs(C).max()):
        C += term
    V = np.zeros((n, steps))
    V[0, 0] = 1.0
    for k in range(1, steps):
        V[:, k] = M @ V[:, k - 1]
    curve: Doubles = np.sum(V * np.linalg.solve(C, V), axis=0)
    return curve


def fisher(size: int = SIZE) -> Result:
    """Compute the Fisher memory curves of Table 6's twelve matrices, exactly and in double precision.

    Args:
        size: n; the published numbers are for n = 100.
    """
    steps = size + size // 2 + 1
    memories = {
        (alpha, beta, d): memory(size, alpha, beta, d, steps) for d in DIAGONALS for beta in BETAS for alpha in ALPHAS
    }
    # After 4 n steps the rest of the curve is below the resolution of doubles.
    rough = {row: memory_in_doubles(size, *row, steps=4 * size) for row in memories}
    rows = []
    for row, exact in memories.items():
        published = PUBLISHED[row] if size == SIZE else None
        rows.append((*row, published, f"{exact.total:.5f}", f"{rough[row].sum():.5f}", f"{exact.condition:.1e}"))
    columns = ("alpha", "beta", "d", "published", "exact", "in doubles", "cond(C)")
    return Result(
        name="fisher",
        title=f"Fisher memory J_tot of Theta, n = {size} (nnRNN Table 6)",
        numbers={
            "size": size,
            "rows": [
                {
                    "alpha": alpha,
                    "beta": beta,
                    "d": d,
                    "published": PUBLISHED[alpha, beta, d] if size == SIZE else None,
                    "total": rounded(exact.total, 10),
                    "total_in_doubles": rounded(float(rough[alpha, beta, d].sum())),
                    "condition": rounded(exact.condition, 3),
                    "curve": rounded(exact.curve.tolist()),
                    "curve_in_doubles": rounded(rough[alpha, beta, d][:steps].tolist()),
                }
                for (alpha, beta, d), exact in memories.items()
            ],
        },
        table=Table(columns, tuple(rows)),
        figure=_drawn(memories, rough, size),
        notes=(
            "Where d = 0.2 the published numbers, like ours in doubles, carry the rounding of an ill-conditioned C.",
        ),
    )


def _drawn(memories: dict[Row, Memory], rough: dict[Row, Doubles], size: int) -> Figure:
    with styled():
        figure, axes = panels(3, width=4.0)
        titles = ("d = 0: gone after n steps", "d = 0.2: remembered for longer", "d = 0.2: the error of doubles")
        for axis, title in zip(axes, titles, strict=True):
            axis.set(title=title, xlabel="k, steps ago", yscale="log", xlim=(0, size + size // 2))
        for (alpha, beta, d), exact in memories.items():
            colour, ls = look(alpha, beta)
            axis = axes[DIAGONALS.index(d)]
            shown = exact.curve[:size] if d == 0 else exact.curve
            axis.plot(shown, color=colour, ls=ls)
            if d:
                error = np.abs(rough[alpha, beta, d][: len(shown)] / shown - 1)
                axes[2].plot(np.maximum(error, 1e-16), color=colour, ls=ls, lw=1.0)
        for axis in axes[:2]:
            axis.axvline(size, color="#888888", lw=0.8, ls=":")
            axis.text(1.02 * size, 0.94, "k = n", transform=axis.get_xaxis_transform(), color="#666666")
            axis.set(ylim=(1e-6, 1.5), ylabel="Fisher information J(k)")
        axes[2].set(ylabel="relative error of J(k)")
        axes[2].axhline(1, color="#888888", lw=0.8, ls=":")
        axes[0].legend(handles=key(), loc="lower left")
    return figure
