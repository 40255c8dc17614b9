"""exp(A) of a skew matrix by a diagonal Pade approximant, with a backward pass that costs twice the forward.

torch.matrix_exp takes its gradient from the exponential of a 2n x 2n matrix, eight times the work of the
forward pass and more; here autograd walks back through the handful of products that were made.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

# Higham 2005, "The scaling and squaring method for the matrix exponential revisited": the coefficients of the
# numerator of the [13/13] approximant, and the 1-norm up to which its error is below 2^-53.
_COEFFICIENTS = tuple(math.comb(13, k) * math.factorial(26 - k) / math.factorial(26) for k in range(14))
_RADIUS = 5.371920351148152


def skew_exponential(A: Tensor) -> Tensor:
    """Return exp(A), orthogonal to rounding, for a skew float64 matrix.

    exp(X) ~ (V - U)^-1 (V + U) with U odd and V even in X = A / 2^s (Higham 2005, algorithm 2.3), then s
    squarings. For a skew X the quotient is itself a Cayley transform, hence orthogonal to rounding; each squaring
    doubles what rounding there is, so the defect is about 1e-16 times the norm of A.
    """
    if torch.compiler.is_compiling():
        # The number of squarings depends on the data, which a traced graph cannot.
        return torch.matrix_exp(A)
    norm = float(torch.linalg.matrix_norm(A.detach(), ord=1))
    squarings = max(0, math.ceil(math.log2(norm / _RADIUS))) if math.isfinite(norm) and norm > 0 else 0
    result = _pade(A / 2.0**squarings)
    for _ in range(squarings):
        result = result @ result
    return result


def _pade(X: Tensor) -> Tensor:
    c = _COEFFICIENTS
    eye = torch.eye(X.shape[-1], dtype=X.dtype, device=X.device)
    X2 = X @ X
    X4 = X2 @ X2
    X6 = X4 @ X2
    odd = X @ (X6 @ (c[13] * X6 + c[11] * X4 + c[9] * X2) + c[7] * X6 + c[5] * X4 + c[3] * X2 + c[1] * eye)
    even = X6 @ (c[12] * X6 + c[10] * X4 + c[8] * X2) + c[6] * X6 + c[4] * X4 + c[2] * X2 + c[0] * eye
    return torch.linalg.solve(even - odd, even + odd)
