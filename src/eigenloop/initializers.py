"""Initial values for recurrent matrices: functions that return an n x n matrix.

There are two kinds. *Skew* initialisers return a block-diagonal skew matrix A with blocks ``[[0, s], [-s, 0]]``, which
a Cayley or exponential map turns into rotations; for odd n the last row and column are zero. *Matrix* initialisers
return the recurrent matrix W itself. Everything is drawn on the CPU in float64, so that a seed gives the same numbers
on every device.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor

__all__ = [
    "cayley",
    "cayley_skew",
    "disc",
    "fill_normal_",
    "fill_uniform_",
    "glorot_normal",
    "haar",
    "henaff",
    "henaff_skew",
    "identity",
    "rotation",
    "start",
    "torch_uniform",
    "unit_angles",
    "urnn",
]


def _uniform(size: int | tuple[int, ...], low: float, high: float, generator: torch.Generator | None) -> Tensor:
    drawn = torch.rand(size, dtype=torch.float64, device="cpu", generator=generator)
    return low + (high - low) * drawn


@torch.no_grad()
def fill_uniform_(tensor: Tensor, low: float, high: float, generator: torch.Generator | None = None) -> None:
    """Fill a tensor of any device and dtype from U(low, high); if it is complex, both its real and imaginary parts."""
    real = torch.view_as_real(tensor) if tensor.is_complex() else tensor
    real.copy_(_uniform(tuple(real.shape), low, high, generator))


@torch.no_grad()
def fill_normal_(tensor: Tensor, deviation: float, generator: torch.Generator | None = None) -> None:
    """Fill a real tensor of any device and dtype from N(0, deviation^2)."""
    drawn = torch.randn(tensor.shape, dtype=torch.float64, device="cpu", generator=generator)
    tensor.copy_(deviation * drawn)


def _blocks(values: Tensor, n: int) -> Tensor:
    """Place ``[[0, s], [-s, 0]]`` for each s along the diagonal of an n x n zero matrix."""
    skew = torch.zeros(n, n, dtype=torch.float64, device="cpu")
    first = torch.arange(0, 2 * len(values), 2, device="cpu")
    skew[first, first + 1] = values
    skew[first + 1, first] = -values
    return skew


def cayley_skew(n: int, generator: torch.Generator | None = None) -> Tensor:
    """Draw scoRNN's skew A: s = -tan(t / 2) with t ~ U(0, pi/2) (Helfrich et al. 2018, section 4.2).

    The Cayley map (I + A)^-1 (I - A) turns each block into a rotation by exactly t. expRNN and nnRNN use the same
    A with the exponential map, which rotates by tan(t / 2) instead.
    """
    return _blocks(-torch.tan(_uniform(n // 2, 0.0, math.pi / 2, generator) / 2), n)


def henaff_skew(n: int, generator: torch.Generator | None = None) -> Tensor:
    """Draw expRNN's skew A: s ~ U(-pi, pi), so that exp(A) rotates by s (Henaff et al. 2016)."""
    return _blocks(_uniform(n // 2, -math.pi, math.pi, generator), n)


def unit_angles(n: int, generator: torch.Generator | None = None) -> Tensor:
    """Draw n angles from U(0, 2 pi), the initial theta of nnRNN."""
    return _uniform(n, 0.0, 2 * math.pi, generator)


def disc(n: int, generator: torch.Generator | None = None) -> Tensor:
    """Draw ENRNN's T: eigenvalues gamma exp(+-i t), gamma ~ U(-1, 1), t ~ U(0, pi/2) (Helfrich, Ye 2020, section 3).

    Each block is a rotation by t scaled by gamma; the paper calls this uniform on the unit disc. For odd n the last
    eigenvalue is a single real gamma.
    """
    gamma = _uniform((n + 1) // 2, -1.0, 1.0, generator)
    return cayley(n, generator) * gamma.repeat_interleave(2)[:n]


def cayley(n: int, generator: torch.Generator | None = None) -> Tensor:
    """Draw a matrix that rotates each pair of coordinates by t ~ U(0, pi/2): the Cayley map of `cayley_skew`."""
    skew, eye = cayley_skew(n, generator), torch.eye(n, dtype=torch.float64, device="cpu")
    return torch.linalg.solve(eye + skew, eye - skew)


def henaff(n: int, generator: torch.Generator | None = None) -> Tensor:
    """Draw a matrix that rotates each pair of coordinates by s ~ U(-pi, pi): the exponential of `henaff_skew`."""
    skew = henaff_skew(n, generator)
    angles = skew.sum(1)  # each row has one entry, s or -s; for odd n the last row is 0
    return torch.diag(angles.cos()) + skew.sin()


def haar(n: int, generator: torch.Generator | None = None, *, complex: bool = False) -> Tensor:
    """Draw an orthogonal (or unitary) matrix from the Haar measure: QR of a Gaussian with the signs of R fixed."""
    dtype = torch.complex128 if complex else torch.float64
    q, r = torch.linalg.qr(torch.randn(n, n, dtype=dtype, device="cpu", generator=generator))
    diagonal = torch.diagonal(r)
    return q * (diagonal / diagonal.abs())


def rotation(n: int, generator: torch.Generator | None = None) -> Tensor:
    """Draw an orthogonal matrix of determinant 1, the initial W of nnRNN's baselines (Kerg et al. 2019, A.4)."""
    q = haar(n, generator)
    q[:, 0] *= torch.linalg.det(q).sign()  # the same distribution as redrawing until the determinant is 1
    return q


def urnn(n: int, generator: torch.Generator | None = None) -> Tensor:
    """Draw uRNN's W = D3 R2 F^-1 D2 P R1 F D1: phases, reflections, a permutation, the unitary Fourier transform.

    Arjovsky et al. 2016, eq. 6; the initial W of the full-capacity uRNN (Wisdom et al. 2016).
    """
    bound = math.sqrt(6 / (n + 1))

    def phases() -> Tensor:
        return torch.diag(torch.exp(1j * _uniform(n, -math.pi, math.pi, generator)))

    def reflection() -> Tensor:
        v = torch.complex(_uniform(n, -bound, bound, generator), _uniform(n, -bound, bound, generator))
        return torch.eye(n, dtype=v.dtype, device="cpu") - 2 * torch.outer(v, v.conj()) / v.abs().square().sum()

    eye = torch.eye(n, dtype=torch.complex128, device="cpu")
    fourier = torch.fft.fft(eye, dim=0, norm="ortho")
    permutation = eye[torch.randperm(n, generator=generator, device="cpu")]
    first = permutation @ reflection() @ fourier @ phases()
    return phases() @ reflection() @ fourier.mH @ phases() @ first


def identity(n: int, generator: torch.Generator | None = None) -> Tensor:
    """Return the identity; `generator` is ignored and only makes all initialisers take the same arguments."""
    return torch.eye(n, dtype=torch.float64, device="cpu")


def glorot_normal(n: int, generator: torch.Generator | None = None) -> Tensor:
    """Draw W_ij ~ N(0, 1/n), Glorot's rule for a square matrix: the initial W of nnRNN's plain RNN."""
    return torch.randn(n, n, dtype=torch.float64, device="cpu", generator=generator) / math.sqrt(n)


def torch_uniform(n: int, generator: torch.Generator | None = None) -> Tensor:
    """Draw W_ij ~ U(-1/sqrt(n), 1/sqrt(n)), the initial W of torch.nn.RNN and torch.nn.GRU."""
    bound = 1 / math.sqrt(n)
    return _uniform((n, n), -bound, bound, generator)


_STARTS: dict[str, Callable[[int, torch.Generator | None], Tensor]] = {
    "cayley": cayley,
    "henaff": henaff,
    "haar": haar,
    "rotation": rotation,
    "identity": identity,
    "glorot": glorot_normal,
    "torch": torch_uniform,
}


def start(init: str | Tensor, n: int, generator: torch.Generator | None = None) -> Tensor:
    """Return the initial n x n matrix with the name `init`, or `init` itself if it is a tensor.

    Raises:
        TypeError: `init` is neither a name nor a tensor.
        ValueError: no initialiser has this name.

    >>> start("identity", 2)
    tensor([[1., 0.],
            [0., 1.]], dtype=torch.float64)
    """
    if isinstance(init, Tensor):
        return init
    if not isinstance(init, str):
        raise TypeError(f"init is a name or an n x n tensor, got {type(init).__name__}: wrap arrays in torch.as_tensor")
    if init not in _STARTS:
        raise ValueError(f"init={init!r} is not known: choose one of {', '.join(_STARTS)}, or give an n x n tensor")
    return _STARTS[init](n, generator)
