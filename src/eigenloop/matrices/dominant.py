"""The eigenvalue of largest modulus of a real matrix, with its right and left eigenvectors."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

#: Up to this size all eigenvalues are computed; for larger matrices an iteration finds only the largest.
DENSE = 128
#: Number of leading eigenvalues that the iteration finds: a conjugate pair and the next ones.
_LEADING = 4
_KRYLOV = 60
_NOISE = 0.1


@dataclass(frozen=True)
class Dominant:
    """The dominant eigenvalue of T.

    Attributes:
        value: the eigenvalue, with nonnegative imaginary part.
        derivative: d value / d T = y u^T / (y^T u), complex (n, n), for T u = value u and y^T T = value y^T; None if
            the eigenvalue is not simple.
        right: real vector in the span of the leading right eigenvectors, to start the next search from.
        left: the same for the left eigenvectors.
    """

    value: complex
    derivative: NDArray[np.complex128] | None
    right: Array
    left: Array

    @property
    def radius(self) -> float:
        """The spectral radius."""
        return abs(self.value)

    @property
    def condition(self) -> float:
        """The condition number of the eigenvalue, ||derivative||_2: 1 for a normal matrix, inf if it is multiple."""
        return math.inf if self.derivative is None else float(np.linalg.norm(self.derivative))


def dominant(T: Array, right: Array, left: Array) -> Dominant:
    """Return the dominant eigenvalue of T; for a large T by an iteration that starts from the given vectors.

    Note [No larger eigenvalue is missed]
        The iteration (implicitly restarted Arnoldi) finds the leading eigenvalues of T from `right` and those of T^T
        from `left`, with noise added to both so that every eigenvector has a component in them. T and T^T have the same
        spectrum: unless the two searches agree to ten digits, all eigenvalues are computed.
    """
    if len(T) > DENSE:
        settled = _iterated(T, right, left)
        if settled is not None:
            return settled
    import scipy.linalg  # takes a tenth of importing torch, and only this set needs it

    values, lefts, rights = scipy.linalg.eig(T, left=True, right=True)  # type: ignore[misc]
    return _assembled(values, rights, lefts.conj())


def spectral_radius(T: Array) -> float:
    """Return the largest modulus of the eigenvalues of T."""
    return float(np.abs(np.linalg.eigvals(T)).max())


def _iterated(T: Array, right: Array, left: Array) -> Dominant | None:
    from scipy.sparse.linalg import ArpackError

    try:
        values, rights = _leading(T, right)
        others, lefts = _leading(T.T, left)
    except ArpackError:
        return None
    radius = np.abs(values).max()
    if not abs(radius - np.abs(others).max()) <= 1e-10 * radius:
        return None
    # The two searches may return different eigenvalues after the dominant one, so only that one is paired.
    first = int(np.argmax(np.abs(values)))
    if values[first].imag < 0:
        first = int(np.argmin(np.abs(values - values[first].conjugate())))
    same = int(np.argmin(np.abs(others - values[first])))
    if abs(others[same] - values[first]) > 1e-8 * radius:
        return None
    return _assembled(values, rights, lefts, first, same)


def _leading(T: Array, start: Array) -> tuple[NDArray[np.complex128], NDArray[np.complex128]]:
    from scipy.sparse.linalg import eigs

    n = len(T)
    noise = np.random.default_rng(n).standard_normal(n) / np.sqrt(n)
    length = float(np.linalg.norm(start))
    v0 = noise if length == 0 else start / length + _NOISE * noise
    values, vectors = eigs(T, k=_LEADING, which="LM", v0=v0, ncv=min(_KRYLOV, n), tol=0)
    return values, vectors


def _assembled(
    values: NDArray[np.complex128],
    rights: NDArray[np.complex128],
    lefts: NDArray[np.complex128],
    first: int | None = None,
    same: int | None = None,
) -> Dominant:
    """Return the `Dominant` of these eigenvalues and eigenvectors; `lefts` holds y with y^T T = value y^T."""
    if first is None or same is None:
        moduli = np.abs(values)
        # Of a conjugate pair take the eigenvalue above the real axis; both give the same derivative of the modulus.
        first = same = int(np.argmax(np.where(values.imag >= 0, moduli, -1.0)))
    value = complex(values[first])
    u, y = rights[:, first], lefts[:, same]
    overlap = complex(y @ u)
    rivals = np.abs(np.delete(values, first) - value) <= 1e-8 * abs(value)
    simple = abs(overlap) > 1e-8 * float(np.linalg.norm(u) * np.linalg.norm(y)) and not rivals.any()
    derivative = np.outer(y, u) / overlap if simple else None
    leaders = slice(0, _LEADING) if len(values) == _LEADING else np.argsort(-np.abs(values))[:_LEADING]
    return Dominant(value, derivative, rights[:, leaders].sum(1).real, lefts[:, leaders].sum(1).real)
