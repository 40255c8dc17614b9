"""The angles of n rotation layers whose product is a given unitary matrix, by elimination (Clements et al. 2016).

Entries below the diagonal are eliminated along antidiagonals, alternately by rotations of columns and of rows, in the
order that arranges the rotations in n layers of neighbouring pairs.
"""

from __future__ import annotations

import cmath
import math
from collections.abc import Iterator

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from eigenloop.matrices.givens_fit import Angles

Array = NDArray[np.complex128]


def mesh_angles(Q: Tensor, layer_of: Tensor, first: Tensor) -> tuple[Angles, float]:
    """Return the angles with diag(e^{i omega}) F_L ... F_1 = Q, for L >= n layers, and the largest error.

    The error is 0, except for a real Q of determinant -1, which no product of rotations can equal: then one coordinate
    has the wrong sign and the error is 2.
    """
    slot = {key: i for i, key in enumerate(zip(layer_of.tolist(), first.tolist(), strict=True))}
    theta, phi = np.zeros(len(slot)), np.zeros(len(slot))
    depth = [0] * len(Q)
    phases = np.ones(len(Q), dtype=np.complex128)
    for a, block, diagonal in _rotations(Q.cpu().numpy().astype(np.complex128)):
        phases *= diagonal
        if block is None:
            continue
        # block * phases = diag(new phases) [[cos t, -e^{ip} sin t], [sin t, e^{ip} cos t]]
        G = block * phases[a : a + 2]
        layer = max(depth[a], depth[a + 1])
        layer += (layer - a) % 2
        depth[a] = depth[a + 1] = layer + 1
        i = slot[layer, a]
        split = _split if Q.is_complex() else _split_real
        theta[i], phi[i], phases[a], phases[a + 1] = split(G)
    if not Q.is_complex():
        wrong = _clear_signs(np.real(phases), theta, slot, int(layer_of.max()) + 1)
        zero = torch.zeros(len(slot), dtype=torch.float64, device=Q.device)
        return Angles(_tensor(theta, Q), zero, torch.zeros(len(Q), dtype=torch.float64, device=Q.device)), 2.0 * wrong
    return Angles(_tensor(theta, Q), _tensor(phi, Q), _tensor(np.angle(phases), Q)), 0.0


def _tensor(values: NDArray[np.float64], like: Tensor) -> Tensor:
    return torch.from_numpy(values).to(like.device)


def _rotations(U: Array) -> Iterator[tuple[int, Array | None, Array]]:
    """Yield, in order of application, the first coordinate of a pair, its block, and phases to apply before it."""
    n = len(U)
    none = np.ones(n, dtype=np.complex128)
    right: list[tuple[int, Array]] = []
    left: list[tuple[int, Array]] = []
    for i in range(n - 1):
        for j in range(i + 1):
            if i % 2 == 0:
                row, column = n - 1 - j, i - j
                x, y = U[row, column], U[row, column + 1]
                V = _unitary(np.array([[y, x.conjugate()], [-x, y.conjugate()]]), x, y)
                U[:, column : column + 2] = U[:, column : column + 2] @ V
                right.append((column, V.conj().T))
            else:
                row, column = n - 1 - i + j, j
                x, y = U[row - 1, column], U[row, column]
                V = _unitary(np.array([[x.conjugate(), y.conjugate()], [-y, x]]), x, y)
                U[row - 1 : row + 1] = V @ U[row - 1 : row + 1]
                left.append((row - 1, V.conj().T))
    for a, block in right:
        yield a, block, none
    yield 0, None, U.diagonal().copy()
    for a, block in reversed(left):
        yield a, block, none


def _unitary(block: Array, x: complex, y: complex) -> Array:
    """Normalise a 2 x 2 block built from (x, y); the identity if both are zero."""
    length = math.hypot(abs(x), abs(y))
    return block / length if length > 0 else np.eye(2, dtype=np.complex128)


def _split(G: Array) -> tuple[float, float, complex, complex]:
    """Write a 2 x 2 unitary as diag(e^{i m}, e^{i k}) times a rotation block: theta, phi, e^{i m}, e^{i k}."""
    theta = math.atan2(abs(G[1, 0]), abs(G[0, 0]))
    if abs(G[1, 0]) < 1e-300:
        m, k = cmath.phase(G[0, 0]), cmath.phase(G[0, 0])
        phi = cmath.phase(G[1, 1]) - k
    elif abs(G[0, 0]) < 1e-300:
        k, m = cmath.phase(G[1, 0]), cmath.phase(G[1, 0])
        phi = cmath.phase(-G[0, 1]) - m
    else:
        m, k = cmath.phase(G[0, 0]), cmath.phase(G[1, 0])
        phi = cmath.phase(G[1, 1]) - k
    return theta, phi, cmath.exp(1j * m), cmath.exp(1j * k)


def _split_real(G: Array) -> tuple[float, float, complex, complex]:
    """Write a real 2 x 2 orthogonal block as signs times a rotation: theta, 0, and the two signs."""
    (a, b), (c, d) = G.real
    sign = 1.0 if a * d - b * c > 0 else -1.0
    return math.atan2(sign * c, a), 0.0, 1.0, sign


def _clear_signs(
    signs: NDArray[np.float64], theta: NDArray[np.float64], slot: dict[tuple[int, int], int], layers: int
) -> bool:
    """Absorb the remaining signs at the output of a real mesh into its angles; return whether a sign is left over.

    Rotating the pair (i, i + 1) by another pi flips both signs. If that pair is in the second-to-last layer, moving the
    flip through the last layer negates the angles of the two pairs it meets there.
    """
    for i in range(len(signs) - 1):
        if signs[i] > 0:
            continue
        signs[i], signs[i + 1] = 1.0, -signs[i + 1]
        last = layers - 1
        if (last, i) in slot:
            theta[slot[last, i]] += math.pi
            continue
        theta[slot[last - 1, i]] += math.pi
        for neighbour in (i - 1, i + 1):
            if (last, neighbour) in slot:
                theta[slot[last, neighbour]] *= -1
    return bool(signs[-1] < 0)
