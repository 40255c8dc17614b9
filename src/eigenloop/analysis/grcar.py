r"""The Grcar matrix (nnRNN SM, section C) and its eigenvalues, which double precision cannot compute accurately.

A has -1 below the diagonal, 1 on it and on three diagonals above it. A is a Hessenberg and Toeplitz matrix, so its
leading minors D_m = det(A_m - lambda I) follow a recurrence of five terms,

    D_m = (1 - lambda) D_{m-1} + D_{m-2} + D_{m-3} + D_{m-4},    D_0 = 1, D_{-1} = D_{-2} = D_{-3} = 0,

and where D_n = 0 the left eigenvector is (D_0, ..., D_{n-1}) and the right one is its reverse.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from mpmath import mp  # type: ignore[import-untyped]
from numpy.typing import NDArray

from eigenloop.analysis.feed_forward import Doubles

Complexes = NDArray[np.complex128]

#: Decimal digits of the arithmetic in Newton's method.
DIGITS = 60


@dataclass(frozen=True)
class Spectrum:
    """Eigenvalues and, for each, 1 / s: the inverse cosine of the angle between its left and right eigenvectors."""

    values: Complexes
    conditions: Doubles


def grcar(n: int) -> Doubles:
    """Build the Grcar matrix (n, n).

    >>> grcar(5)
    array([[ 1.,  1.,  1.,  1.,  0.],
           [-1.,  1.,  1.,  1.,  1.],
           [ 0., -1.,  1.,  1.,  1.],
           [ 0.,  0., -1.,  1.,  1.],
           [ 0.,  0.,  0., -1.,  1.]])
    """
    matrix: Doubles = np.triu(np.tril(np.ones((n, n)), 3)) - np.eye(n, k=-1)
    return matrix


def grcar_spectrum(n: int) -> Spectrum:
    """Return the eigenvalues of the Grcar matrix, correctly rounded to doubles, and their condition numbers.

    Newton's method on D_n with sixty digits, starting from the result of a double-precision solver. The condition
    number is |y| |x| / |y^T x| = sum_m |D_m|^2 / |D_n'(lambda)|, since D_n' = -sum_m D_m D_{n-1-m}.

    Raises:
        ValueError: the starting values are too inaccurate, which happens for n above 150.
    """
    with mp.workdps(DIGITS):
        roots = np.array([mp.mpc(value) for value in np.linalg.eigvals(grcar(n))], dtype=object)
        for _ in range(50):
            minor, slope, squares = _minors(roots, n)
            step = minor / slope
            roots = roots - step
            if max(abs(step)) < mp.mpf(10) ** (-DIGITS // 3):
                break
        else:
            raise _lost(n)
        values = roots.astype(np.complex128)
        # If two starting values converged to the same eigenvalue, the sum is not the trace.
        if abs(sum(roots) - n) > mp.mpf(10) ** (-DIGITS // 4):
            raise _lost(n)
        conditions = (squares / abs(slope)).astype(np.float64)
    return Spectrum(values, conditions)


def _minors(points: Any, n: int) -> tuple[Any, Any, Any]:
    """Return D_n, its derivative and |D_0|^2 + ... + |D_{n-1}|^2 for every lambda in `points`."""
    zero = points * 0
    last, slopes, squares = [zero, zero, zero, zero + 1], [zero] * 4, zero.copy()
    for _ in range(n):
        squares = squares + abs(last[3]) ** 2
        slope = (1 - points) * slopes[3] - last[3] + slopes[2] + slopes[1] + slopes[0]
        minor = (1 - points) * last[3] + last[2] + last[1] + last[0]
        last, slopes = [*last[1:], minor], [*slopes[1:], slope]
    return last[3], slopes[3], np.array([square.real for square in squares], dtype=object)


def _lost(n: int) -> ValueError:
    return ValueError(
        f"Newton's method lost eigenvalues of the Grcar matrix of size {n}, because double precision gives it starts "
        "that are too far off: use a size of at most 150"
    )
