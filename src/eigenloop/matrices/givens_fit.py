"""Finding the angles of a product of rotation layers: first coordinate ascent, then Levenberg-Marquardt steps."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

_STARTS, _SWEEPS, _STEPS = 12, 60, 60
_LARGEST_JACOBIAN = 2**27


@dataclass
class Angles:
    """The angles of L layers in the order of their pairs; phi and omega are zero if W is real."""

    theta: Tensor
    phi: Tensor
    omega: Tensor


@dataclass(frozen=True)
class Layers:
    """Which coordinates each layer pairs: for layer l the indices `members[l]` into `first` and `second`."""

    first: Tensor
    second: Tensor
    members: list[Tensor]


def fit_angles(Q: Tensor, layer_of: Tensor, first: Tensor, second: Tensor) -> tuple[Angles, float]:
    """Search for angles with diag(e^{i omega}) F_L ... F_1 = Q; return them and the largest entry of |W - Q|.

    Both stages may end in a local optimum, so several starting points are tried and the best result is returned.
    """
    layers = Layers(first, second, [torch.nonzero(layer_of == i).flatten() for i in range(int(layer_of.max()) + 1)])
    generator = torch.Generator().manual_seed(len(Q))
    best, distance = None, math.inf
    for start in range(_STARTS):
        drawn = 2 * torch.rand(len(layer_of), dtype=torch.float64, device="cpu", generator=generator) - 1
        theta = (drawn * (0.0 if start == 0 else math.pi)).to(Q.device)
        angles = Angles(theta, torch.zeros_like(theta), torch.zeros(len(Q), dtype=theta.dtype, device=Q.device))
        _climb_(Q, angles, layers)
        reached = _refine_(Q, angles, layers)
        if best is None or reached < distance:
            best, distance = angles, reached
        if distance < 1e-10:
            break
    assert best is not None
    return best, distance


def _climb_(Q: Tensor, angles: Angles, layers: Layers) -> None:
    """Maximise Re trace(Q^H W), which is n if and only if W = Q, one layer at a time.

    With W = A F B the trace is trace(F K), K = B Q^H A: a sum of one sinusoid per pair in the layer's angles, whose
    maximum is known in closed form.
    """
    theta, phi = angles.theta, angles.phi
    for _ in range(_SWEEPS):
        before = theta.clone()
        A, B = _diagonal(Q, angles.omega), _diagonal(Q, 0 * angles.omega)
        for index in reversed(layers.members):
            A = _times(A, theta[index], phi[index], layers.first[index], layers.second[index])
        for index in layers.members:
            a, b = layers.first[index], layers.second[index]
            A = _times(A, theta[index], phi[index], a, b, undo=True)
            right = Q.mH @ A
            aa, ab = (B[a] * right[:, a].mT).sum(1), (B[a] * right[:, b].mT).sum(1)
            ba, bb = (B[b] * right[:, a].mT).sum(1), (B[b] * right[:, b].mT).sum(1)
            if Q.is_complex():
                phi[index] = -torch.angle(torch.cos(theta[index]) * bb - torch.sin(theta[index]) * ba)
                turned = torch.exp(1j * phi[index])
                ba, bb = turned * ba, turned * bb
            theta[index] = torch.atan2((ab - ba).real, (aa + bb).real)
            B = _apply(B, theta[index], phi[index], a, b)
        if Q.is_complex():
            angles.omega.copy_(torch.angle((Q @ B.mH).diagonal()))
        if float((theta - before).abs().max()) < 1e-13:
            return


def _refine_(Q: Tensor, angles: Angles, layers: Layers) -> float:
    """Take Levenberg-Marquardt steps on |W - Q|^2; return the largest entry of |W - Q|."""
    residual = _product(Q, angles, layers) - Q
    unknowns = len(angles.theta) * (2 if Q.is_complex() else 1) + (len(Q) if Q.is_complex() else 0)
    damping = 1e-3
    for _ in range(_STEPS if unknowns * Q.numel() <= _LARGEST_JACOBIAN else 0):
        if float(residual.abs().max()) < 1e-13 or damping > 1e8:
            break
        J = _jacobian(Q, angles, layers)
        normal, right = J @ J.mT, J @ _flat(residual)
        step = torch.linalg.solve(normal + damping * torch.eye(len(J), dtype=J.dtype, device=J.device), right)
        moved = _moved(angles, -step, Q.is_complex())
        new = _product(Q, moved, layers) - Q
        if torch.linalg.vector_norm(new) < torch.linalg.vector_norm(residual):
            angles.theta, angles.phi, angles.omega = moved.theta, moved.phi, moved.omega
            residual, damping = new, damping / 10
        else:
            damping *= 10
    return float(residual.abs().max())


def _jacobian(Q: Tensor, angles: Angles, layers: Layers) -> Tensor:
    """Return the derivatives of W's entries, one row per angle (theta, then phi and omega): (angles, n^2)."""
    n = len(Q)
    W = _product(Q, angles, layers)
    A = _diagonal(Q, angles.omega)
    B = A.mH @ W
    rows: dict[str, list[Tensor]] = {"theta": [], "phi": []}
    for index in reversed(layers.members):
        a, b, theta, phi = layers.first[index], layers.second[index], angles.theta[index], angles.phi[index]
        # W = A F B with dF/dtheta = F R, where R is the rotation by pi/2, and dF/dphi = F diag(0, i).
        A = _times(A, theta, phi, a, b)
        B = _undone(B, theta, phi, a, b)
        phase = torch.exp(1j * phi)[:, None, None] if Q.is_complex() else 1.0
        Aa, Ab, Ba, Bb = A[:, a].mT[:, :, None], A[:, b].mT[:, :, None], B[a][:, None, :], B[b][:, None, :]
        inverse = phase.conj() if isinstance(phase, Tensor) else 1.0
        rows["theta"].insert(0, _flat(inverse * Ab * Ba - phase * Aa * Bb))
        if Q.is_complex():
            rows["phi"].insert(0, _flat(1j * Ab * Bb))
    blocks = [torch.cat(rows["theta"])]
    if Q.is_complex():
        columns = torch.zeros(n, n, n, dtype=Q.dtype, device=Q.device)
        each = torch.arange(n, device=Q.device)
        columns[each, each] = 1j * W
        blocks += [torch.cat(rows["phi"]), _flat(columns)]
    return torch.cat(blocks)


def _flat(x: Tensor) -> Tensor:
    """Flatten the last two dimensions; complex entries become pairs of real and imaginary parts."""
    flat = x.flatten(-2)
    return torch.view_as_real(flat).flatten(-2) if flat.is_complex() else flat


def _moved(angles: Angles, step: Tensor, complex: bool) -> Angles:
    k = len(angles.theta)
    if not complex:
        return Angles(angles.theta + step, angles.phi, angles.omega)
    return Angles(angles.theta + step[:k], angles.phi + step[k : 2 * k], angles.omega + step[2 * k :])


def _diagonal(Q: Tensor, omega: Tensor) -> Tensor:
    return torch.diag(torch.exp(1j * omega) if Q.is_complex() else torch.ones_like(omega))


def _product(Q: Tensor, angles: Angles, layers: Layers) -> Tensor:
    W = _diagonal(Q, 0 * angles.omega)
    for index in layers.members:
        W = _apply(W, angles.theta[index], angles.phi[index], layers.first[index], layers.second[index])
    return _diagonal(Q, angles.omega) @ W


def _apply(X: Tensor, theta: Tensor, phi: Tensor, a: Tensor, b: Tensor) -> Tensor:
    """Return F X."""
    cosine, sine = torch.cos(theta)[:, None], torch.sin(theta)[:, None]
    phase = torch.exp(1j * phi)[:, None] if X.is_complex() else 1.0
    result = X.clone()
    result[a] = cosine * X[a] - phase * sine * X[b]
    result[b] = sine * X[a] + phase * cosine * X[b]
    return result


def _undone(X: Tensor, theta: Tensor, phi: Tensor, a: Tensor, b: Tensor) -> Tensor:
    """Return F^-1 X."""
    cosine, sine = torch.cos(theta)[:, None], torch.sin(theta)[:, None]
    phase = torch.exp(-1j * phi)[:, None] if X.is_complex() else 1.0
    result = X.clone()
    result[a] = cosine * X[a] + sine * X[b]
    result[b] = phase * (cosine * X[b] - sine * X[a])
    return result


def _times(X: Tensor, theta: Tensor, phi: Tensor, a: Tensor, b: Tensor, undo: bool = False) -> Tensor:
    """Return X F, or X F^-1 with `undo`."""
    if not undo:
        return _undone(X.mH, theta, phi, a, b).mH
    return _apply(X.mH, theta, phi, a, b).mH
