"""The scaled Cayley map of scoRNN (Helfrich, Willmott, Ye 2018): W = (I + A)^-1 (I - A) D."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from eigenloop import initializers
from eigenloop.matrices import triangle
from eigenloop.matrices.orthogonality import OrthogonalMatrix, real_only

#: `assign_` keeps the current D as long as cond(I + W D) is at most this.
_CONDITION = 100.0


class ScaledCayley(OrthogonalMatrix):
    r"""An orthogonal W = (I + A)^-1 (I - A) D with A skew and D a fixed diagonal of signs.

    Every orthogonal matrix has this form for some D, and det W = (-1)^negative. Training moves A only.

    Note [One inverse, both ways]
        With Z = (I + A)^-1 the map is W = (2 Z - I) D, and the closed-form gradient of scoRNN, with
        G = dL/dW and V = (I + A)^-T G (D + W^T), dL/dA = V^T - V, is V = 2 Z^T (G D) Z^T because
        D + W^T = 2 D Z^T. This is what autograd's rule for the inverse computes from the saved Z: one factorisation in
        the forward pass and two products in the backward pass. Second derivatives work as well.

    Args:
        n: size.
        negative: number of -1s, the last entries of D; default: n // 2. If `init` is a full matrix, D follows from it.
        init: ``"cayley"`` (rotations by U(0, pi/2), the paper's), ``"henaff"`` (by U(-pi, pi)), ``"haar"``,
            ``"identity"``, or an orthogonal matrix.
        generator: for reproducible draws.

    >>> ScaledCayley(4, negative=1).defect() < 1e-6
    True
    """

    _anchor = "skew"
    signs: Tensor

    def __init__(
        self,
        n: int,
        *,
        negative: int | None = None,
        init: str | Tensor = "cayley",
        generator: torch.Generator | None = None,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__(n)
        real_only(self, dtype)
        blockwise = isinstance(init, str) and init in ("cayley", "henaff")
        if negative is not None and not blockwise:
            raise ValueError("D follows from a matrix given as init: leave out negative, or use init='cayley'")
        negative = n // 2 if negative is None else negative
        if isinstance(negative, bool) or not isinstance(negative, int):
            raise TypeError(f"negative, the number of -1 in D, is an int, got {type(negative).__name__}")
        if not 0 <= negative <= n:
            raise ValueError(f"negative, the number of -1 in D, must lie in 0..n = 0..{n}, got {negative}")
        signs = torch.ones(n, device=device, dtype=dtype)
        signs[n - negative :] = -1
        self.register_buffer("signs", signs)
        self.skew = nn.Parameter(torch.zeros(triangle.triangle_size(n), device=device, dtype=dtype))
        if isinstance(init, str) and blockwise:
            self._start_from(init, generator)
        else:
            self.assign_(initializers.start(init, n, generator))

    @torch.no_grad()
    def _start_from(self, init: str, generator: torch.Generator | None) -> None:
        if init == "cayley":
            A = initializers.cayley_skew(self.n, generator)
        else:
            # For an entry s the Cayley map rotates by 2 arctan(s), the exponential by s.
            A = -torch.tan(initializers.henaff_skew(self.n, generator) / 2)
        self.skew.copy_(triangle.upper_entries(A))

    @property
    def negative(self) -> int:
        """The number of -1 on the diagonal of D."""
        return int((self.signs < 0).sum())

    def exact(self) -> Tensor:
        """Compute W = (2 (I + A)^-1 - I) D; see Note [One inverse, both ways]."""
        A = triangle.skew(self.skew.double(), self.n)
        eye = torch.eye(self.n, dtype=torch.float64, device=A.device)
        return (2 * torch.linalg.inv(eye + A) - eye) * self.signs.double()

    def _take_orthogonal_(self, Q: Tensor, tolerance: float) -> None:
        """Solve for A = (I + Q D)^-1 (I - Q D), with the current D if that is well conditioned, else with a new D."""
        signs = self.signs.double()
        eye = torch.eye(self.n, dtype=torch.float64, device=Q.device)
        # `not <=` because cond returns NaN for a zero matrix.
        if not torch.linalg.cond(eye + Q * signs) <= _CONDITION:
            signs = _signs_for(Q)
        rotation = Q * signs
        A = torch.linalg.solve(eye + rotation, eye - rotation)
        self.signs.copy_(signs)
        self.skew.copy_(triangle.upper_entries((A - A.mT) / 2))

    def slow_parameters(self) -> list[nn.Parameter]:
        """Return the skew entries, which scoRNN trains at about a tenth of the other parameters' learning rate."""
        return [self.skew]

    def extra_repr(self) -> str:
        """Return the size and the number of -1 in D, for the printed module."""
        return f"{self.n}, negative={self.negative}" if self._has_values else str(self.n)


def _signs_for(Q: Tensor) -> Tensor:
    """Choose D so that I + Q D = (D + Q) D is well conditioned: eliminate D + Q with every pivot at least 1.

    Each sign is that of the current diagonal entry during the elimination, so that every pivot is at least 1 in modulus
    and, as Q is orthogonal, also the largest entry of its column (the modified LU of Ballard et al. 2014, section 4):
    the factors stay bounded without row exchanges.
    """
    left = Q.clone()
    signs = torch.ones(len(Q), dtype=Q.dtype, device=Q.device)
    for j in range(len(Q)):
        if left[j, j] < 0:
            signs[j] = -1
        column = left[j + 1 :, j] / (left[j, j] + signs[j])
        left[j + 1 :, j + 1 :] -= torch.outer(column, left[j, j + 1 :])
    return signs
