"""Products of Householder reflections: oRNN (Mhammedi et al. 2017, section 3)."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from eigenloop import initializers
from eigenloop.matrices.errors import NotInSetError
from eigenloop.matrices.orthogonality import OrthogonalMatrix, real_only


class Householder(OrthogonalMatrix):
    r"""W = H(v_1) ... H(v_k) D with H(v) = I - 2 v v^T / v^T v, v_j zero above its j-th coordinate, D signs.

    k = n represents every orthogonal matrix, fewer reflections a subset with O(n k) parameters. The vectors need no
    normalisation: H does not depend on their length. D is not trained: it is I at first, and `assign_` may change it.
    For k = n its last entry takes the place of the 1 x 1 reflection, which has no parameter.

    Note [Reflections in one block]
        H(v_1) ... H(v_k) = I - V S^-1 V^T, where S is the upper triangle of V^T V with its diagonal halved (the
        compact WY form; Joffrain et al. 2006). Two products and one triangular solve replace k sequential steps, in
        both the forward and the backward pass.

    Args:
        n: size.
        reflections: k, from 1 to n; default: min(16, n).
        init: ``"gaussian"`` (oRNN's: normal entries); or, if k reflections can represent it, ``"haar"``,
            ``"identity"``, ``"cayley"``, ``"henaff"`` or an orthogonal matrix.
        generator: for reproducible draws.

    >>> Householder(6, reflections=3).defect() < 1e-6
    True
    """

    _anchor = "vectors"
    signs: Tensor

    def __init__(
        self,
        n: int,
        *,
        reflections: int | None = None,
        init: str | Tensor = "gaussian",
        generator: torch.Generator | None = None,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__(n)
        real_only(self, dtype)
        reflections = min(16, n) if reflections is None else reflections
        if isinstance(reflections, bool) or not isinstance(reflections, int) or not 1 <= reflections <= n:
            raise ValueError(f"reflections is a whole number in 1..n = 1..{n}, got {reflections!r}")
        self.reflections = reflections
        self._columns = min(reflections, n - 1)
        entries = sum(n - j for j in range(self._columns))
        self.vectors = nn.Parameter(torch.empty(entries, device=device, dtype=dtype))
        self.register_buffer("signs", torch.ones(n, device=device, dtype=dtype))
        if isinstance(init, str) and init == "gaussian":
            drawn = torch.randn(entries, dtype=torch.float64, device="cpu", generator=generator)
            with torch.no_grad():
                self.vectors.copy_(_normalised(drawn, n, self._columns))
        else:
            self.assign_(initializers.start(init, n, generator))

    def exact(self) -> Tensor:
        """Compute W; see Note [Reflections in one block]."""
        V = _trapezoid(self.vectors.double(), self.n, self._columns)
        gram = V.mT @ V
        S = torch.triu(gram) - torch.diag_embed(gram.diagonal() / 2)
        eye = torch.eye(self.n, dtype=V.dtype, device=V.device)
        return (eye - V @ torch.linalg.solve_triangular(S, V.mT, upper=True)) * self.signs.double()

    def _take_orthogonal_(self, Q: Tensor, tolerance: float) -> None:
        """Factor Q: the j-th reflection maps column j of the remaining matrix to the j-th unit vector."""
        left = Q.clone()
        signs = torch.ones(self.n, dtype=Q.dtype, device=Q.device)
        V = torch.zeros(self.n, self._columns, dtype=Q.dtype, device=Q.device)
        for j in range(self._columns):
            v = left[j:, j].clone()
            below = v[1:].square().sum()
            # v - e_1, with the first entry computed without cancellation (Golub and Van Loan, algorithm 5.1.1).
            v[0] = v[0] - 1 if v[0] <= 0 else -below / (v[0] + 1)
            length = torch.linalg.vector_norm(v)
            if length < 1e-7:
                # The column is already the unit vector: reflect it, and let D undo the sign.
                v.zero_()
                v[0], length, signs[j] = 1.0, 1.0, -1.0
                left[j, j] *= -1
            V[j:, j] = v / length
            left[j:] -= 2 * torch.outer(V[j:, j], V[j:, j] @ left[j:])
        rest = left[self._columns :, self._columns :]
        signs[self._columns :] = torch.where(rest.diagonal() < 0, -1.0, 1.0)
        distance = float((rest - torch.diag(signs[self._columns :])).abs().max())
        if distance > tolerance:
            raise NotInSetError(
                f"Householder(reflections={self.reflections})",
                f"products of {self.reflections} reflections",
                f"is still {distance:.3g} from the identity after {self.reflections} reflections",
                distance,
                tolerance,
                f"use reflections={self.n}, which reaches every orthogonal matrix",
            )
        self.signs.copy_(signs)
        self.vectors.copy_(_entries(V))

    def slow_parameters(self) -> list[nn.Parameter]:
        """Return the vectors of the reflections."""
        return [self.vectors]

    def extra_repr(self) -> str:
        """Return the size and the number of reflections, for the printed module."""
        return f"{self.n}, reflections={self.reflections}"


def _flat_trapezoid(n: int, columns: int, device: torch.device) -> Tensor:
    """Return the row-major indices of the entries on and below the diagonal of an n x columns matrix, by columns."""
    column, row = torch.triu_indices(columns, n, device=device)
    return row * columns + column


def _trapezoid(entries: Tensor, n: int, columns: int) -> Tensor:
    """Return the n x columns matrix with the given entries on and below its diagonal; differentiable."""
    flat = entries.new_zeros(n * columns).scatter(0, _flat_trapezoid(n, columns, entries.device), entries)
    return flat.view(n, columns)


def _entries(V: Tensor) -> Tensor:
    """Return the entries on and below the diagonal as a vector: the inverse of `_trapezoid`."""
    return V.reshape(-1)[_flat_trapezoid(V.shape[0], V.shape[1], V.device)]


def _normalised(entries: Tensor, n: int, columns: int) -> Tensor:
    V = _trapezoid(entries, n, columns)
    return _entries(V / torch.linalg.vector_norm(V, dim=0))
