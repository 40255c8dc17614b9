"""W = P S P^T with S lower block triangular, all blocks 2 x 2 with equal diagonal entries; even n.

LAPACK's real Schur form is nearly this. Added here: real eigenvalues are grouped in pairs, each pair is rotated until
its two diagonal entries are equal, and, on request, the eigenvalues are ordered so that the blocks are scaled
rotations.
"""

from __future__ import annotations

import math

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

Array = NDArray[np.float64]


def block_schur(W: Tensor, *, normal_blocks: bool) -> tuple[Tensor, Tensor]:
    """Decompose W = P S P^T; with `normal_blocks` look for an order in which all blocks are scaled rotations.

    Returns P orthogonal and S lower block triangular, both (n, n) float64. The caller has to check whether normal
    blocks were found: block i is normal if S[2i, 2i+1] = -S[2i+1, 2i].
    """
    import scipy.linalg  # takes a tenth of importing torch, and only assign_ needs it

    # The lower S of W is the transpose of the upper form of W^T, which LAPACK computes.
    upper, P = scipy.linalg.schur(W.T.cpu().numpy(), output="real")
    upper, P = np.asfortranarray(upper), np.asfortranarray(P)
    upper, P = _reals_last(upper, P)
    for k in range(0, len(upper), 2):
        if normal_blocks:
            upper, P = _bring_normal(upper, P, k)
        _equalise(upper, P, k)
    form = torch.from_numpy(np.ascontiguousarray(upper.T)).to(W)
    return torch.from_numpy(np.ascontiguousarray(P)).to(W), form


def _move(upper: Array, P: Array, source: int, target: int) -> tuple[Array, Array]:
    """Move the diagonal block at row `source` to row `target` by orthogonal similarity (LAPACK trexc)."""
    import scipy.linalg.lapack

    upper, P, info = scipy.linalg.lapack.dtrexc(upper, P, source + 1, target + 1)
    if info < 0:
        raise RuntimeError(f"LAPACK dtrexc refused its argument {-info}")
    return upper, P


def _reals_last(upper: Array, P: Array) -> tuple[Array, Array]:
    """Move 2 x 2 blocks to the front and sort the real eigenvalues after them, so that equal ones are adjacent."""
    n = len(upper)
    front = row = 0
    while row < n:
        if row + 1 < n and upper[row + 1, row] != 0:
            if row != front:
                upper, P = _move(upper, P, row, front)
            front, row = front + 2, row + 2
        else:
            row += 1
    for target in range(front, n):
        source = target + int(np.argmin(upper.diagonal()[target:]))
        if source != target:
            upper, P = _move(upper, P, source, target)
    return upper, P


def _equalise(upper: Array, P: Array, k: int) -> None:
    """Rotate rows and columns k, k+1 in place so that the two diagonal entries are equal."""
    a, b, c, d = upper[k, k], upper[k, k + 1], upper[k + 1, k], upper[k + 1, k + 1]
    if a == d:
        return
    # After a rotation by phi their difference is (a - d) cos 2phi + (b + c) sin 2phi.
    phi = 0.5 * math.atan2(-(a - d), b + c)
    rotation = np.array([[math.cos(phi), -math.sin(phi)], [math.sin(phi), math.cos(phi)]])
    upper[:, k : k + 2] = upper[:, k : k + 2] @ rotation
    upper[k : k + 2, :] = rotation.T @ upper[k : k + 2, :]
    P[:, k : k + 2] = P[:, k : k + 2] @ rotation
    mean = 0.5 * (upper[k, k] + upper[k + 1, k + 1])
    upper[k, k] = upper[k + 1, k + 1] = mean


def _bring_normal(upper: Array, P: Array, k: int) -> tuple[Array, Array]:
    """Move an eigenvalue pair to row k whose block is a scaled rotation there, unless the current block already is.

    A complex pair gives a normal block at the head of a triangular matrix if and only if its eigenvector v has
    v^T v = 0 (real and imaginary part orthogonal and of equal length), whatever follows it.
    """
    head = upper[k : k + 2, k : k + 2]
    scale = 1e-6 * np.abs(upper).max()
    if abs(head[0, 0] - head[1, 1]) <= scale and abs(head[0, 1] + head[1, 0]) <= scale:
        return upper, P
    values, vectors = np.linalg.eig(upper[k:, k:])
    isotropy = np.abs((vectors * vectors).sum(axis=0))
    isotropy[values.imag == 0] = np.inf
    best = int(np.argmin(isotropy))
    if not isotropy[best] < np.inf:
        return upper, P
    source = _row_of(upper, k, complex(values[best]))
    return _move(upper, P, source, k) if source != k else (upper, P)


def _row_of(upper: Array, k: int, value: complex) -> int:
    """Return the row, from k on, of the 2 x 2 block with eigenvalue `value`."""
    rows = [r for r in range(k, len(upper) - 1) if upper[r + 1, r] != 0]
    distances = []
    for r in rows:
        b, c = upper[r, r + 1], upper[r + 1, r]
        mean, difference = (
            0.5 * (upper[r, r] + upper[r + 1, r + 1]),
            0.5 * (upper[r, r] - upper[r + 1, r + 1]),
        )
        imaginary = math.sqrt(max(0.0, -(difference * difference + b * c)))
        distances.append(abs(complex(mean, imaginary) - complex(value.real, abs(value.imag))))
    return rows[int(np.argmin(distances))]
