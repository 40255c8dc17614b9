"""exp(A) of a skew matrix by a diagonal Pade approximant, with a cheap gradient.

torch.matrix_exp computes its gradient from the exponential of a 2n x 2n matrix, at least eight times the work of the
forward pass; here the backward pass goes back through the few products of the forward pass.
"""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor

# Higham 2005, "The scaling and squaring method for the matrix exponential revisited": the coefficients of the
# numerator of the [m/m] approximant, and the 1-norm up to which its error is below 2^-53 (m = 13) and 2^-24 (m = 7).
_DOUBLE = tuple(math.comb(13, k) * math.factorial(26 - k) / math.factorial(26) for k in range(14))
_DOUBLE_RADIUS = 5.371920351148152
_SINGLE = tuple(math.comb(7, k) * math.factorial(14 - k) / math.factorial(14) for k in range(8))
_SINGLE_RADIUS = 3.925724783138660


def skew_exponential(A: Tensor, accuracy: torch.dtype = torch.float64) -> Tensor:
    """Return exp(A), orthogonal up to rounding, for a skew float64 matrix.

    exp(X) ~ (V - U)^-1 (V + U) with U odd and V even in X = A / 2^s (Higham 2005, algorithm 2.3), then s
    squarings. For a skew X the quotient is itself a Cayley transform, hence orthogonal up to rounding for any degree;
    each squaring doubles the rounding error, so the defect is about 1e-16 times the norm of A.

    Args:
        A: the matrix.
        accuracy: dtype of the parameters of A. If it is less precise than float64, a lower degree is used, whose error
            is smaller than the parameters' rounding error, and the gradient is computed in float32: less than half the
            work.
    """
    if torch.compiler.is_compiling():
        # A traced graph cannot choose the number of squarings from values, so torch's function is used. It is called
        # for A + I, as e^A = e^(A + I) / e: torch 2.13 is wrong by up to 1e-10 for a single matrix of norm 0.005 to
        # 0.05, and the norm of A + I is at least 1.
        eye = torch.eye(A.shape[-1], dtype=A.dtype, device=A.device)
        return torch.matrix_exp(A + eye) / math.e
    if accuracy != torch.float64:
        rotation: Tensor = _SingleGradient.apply(A)
        return rotation
    squarings = _squarings(_norm(A.detach()), _DOUBLE_RADIUS)
    result = _pade(A * _scale(squarings))
    for _ in range(squarings):
        result = result @ result
    return result


def _norm(matrix: Tensor) -> float:
    return float(torch.linalg.matrix_norm(matrix, ord=1))


def _squarings(norm: float, radius: float) -> int:
    return max(0, math.ceil(math.log2(norm / radius))) if math.isfinite(norm) and norm > 0 else 0


def _scale(squarings: int) -> float:
    """Return 2^-squarings; NaN if A is so large that float64 has no correct digit of its angles modulo 2 pi."""
    return 0.5**squarings if squarings <= 52 else math.nan


def _pade(X: Tensor) -> Tensor:
    c = _DOUBLE
    eye = torch.eye(X.shape[-1], dtype=X.dtype, device=X.device)
    X2 = X @ X
    X4 = X2 @ X2
    X6 = X4 @ X2
    odd = X @ (X6 @ (c[13] * X6 + c[11] * X4 + c[9] * X2) + c[7] * X6 + c[5] * X4 + c[3] * X2 + c[1] * eye)
    even = X6 @ (c[12] * X6 + c[10] * X4 + c[8] * X2) + c[6] * X6 + c[4] * X4 + c[2] * X2 + c[0] * eye
    return torch.linalg.solve(even - odd, even + odd)


class _SingleGradient(torch.autograd.Function):
    """The [7/7] approximant in float64, with a skew gradient in float32.

    U = X Q(X^2) and V are an odd and an even polynomial of the skew X: U is skew and all even powers are symmetric, so
    that only the skew or symmetric parts of their gradients matter. This saves two of the nine products of plain
    backpropagation.

    The approximant is accurate if the 2-norm of A, the largest angle by which exp(A) rotates, is within the radius. Its
    fourth power is at most the 1-norm of A^4, which for a dense A is a much tighter bound than the 1-norm of A, so that
    squarings are rarely needed.
    """

    @staticmethod
    def forward(ctx: Any, A: Tensor) -> Tensor:
        c = _SINGLE
        A2 = A @ A
        A4 = A2 @ A2
        squarings = _squarings(_norm(A4) ** 0.25, _SINGLE_RADIUS)
        scale = _scale(squarings)
        X, X2, X4 = A * scale, A2 * scale**2, A4 * scale**4
        X6 = X4 @ X2
        Q = (c[7] * X6).add_(X4, alpha=c[5]).add_(X2, alpha=c[3])
        Q.diagonal().add_(c[1])
        U = X @ Q
        V = X6.mul_(c[6]).add_(X4, alpha=c[4]).add_(X2, alpha=c[2])
        V.diagonal().add_(c[0])
        LU, pivots, _ = torch.linalg.lu_factor_ex(V - U)
        rotations = [torch.linalg.lu_solve(LU, pivots, V + U)]
        for _ in range(squarings):
            rotations.append(rotations[-1] @ rotations[-1])
        if ctx.needs_input_grad[0]:
            kept = (X, X2, X4, Q, LU, *rotations[: max(squarings, 1)])
            ctx.save_for_backward(A, pivots, *(matrix.float() for matrix in kept))
            ctx.squarings = squarings
        return rotations[-1]

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> Tensor:
        (G,) = gradients
        A, pivots, X, X2, X4, Q, LU, *rotations = ctx.saved_tensors
        if torch.is_grad_enabled():  # a second derivative is needed
            return torch.autograd.grad(skew_exponential(A), A, G, create_graph=True)[0]
        c = _SINGLE
        dW = G.float()
        for W in reversed(rotations[: ctx.squarings]):
            dW = dW @ W.mT + W.mT @ dW
        dN = torch.linalg.lu_solve(LU, pivots, dW, adjoint=True)  # W = D^-1 N with N = V + U, D = V - U
        dD = -dN @ rotations[0].mT
        dU, dV = _skew_part(dN - dD), _symmetric_part(dN + dD)
        dX = _skew_part(dU @ Q)
        dQ = _symmetric_part(X.mT @ dU)
        dX6 = c[7] * dQ + c[6] * dV
        dX4 = c[5] * dQ + c[4] * dV + _symmetric_part(dX6 @ X2)
        dX2 = c[3] * dQ + c[2] * dV + _symmetric_part(X4 @ dX6) + 2 * _symmetric_part(dX4 @ X2)
        dX -= 2 * _skew_part(dX2 @ X)
        return dX.to(A.dtype) * _scale(ctx.squarings)


def _skew_part(matrix: Tensor) -> Tensor:
    return (matrix - matrix.mT) / 2


def _symmetric_part(matrix: Tensor) -> Tensor:
    return (matrix + matrix.mT) / 2
