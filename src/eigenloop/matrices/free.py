"""The unconstrained matrix: W is the parameter, as in RNN and RNN-orth (Kerg et al. 2019, section 5)."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from eigenloop import dtypes, initializers
from eigenloop.matrices.base import Matrix


class Free(Matrix):
    """Any n x n matrix, without constraint; `init` gives only its initial value.

    Args:
        n: size.
        init: ``"torch"`` (U(-1/sqrt n, 1/sqrt n)), ``"glorot"``, ``"haar"``, ``"rotation"`` (Haar, determinant 1),
            ``"cayley"``, ``"henaff"``, ``"identity"``, or the matrix itself.
        generator: for reproducible draws.
        dtype: real or complex; a complex W gives a complex state.

    >>> torch.equal(Free(3, init="identity")(), torch.eye(3))
    True
    """

    _anchor = "weight"

    def __init__(
        self,
        n: int,
        *,
        init: str | Tensor = "torch",
        generator: torch.Generator | None = None,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__(n)
        self.weight = nn.Parameter(torch.empty(n, n, device=device, dtype=dtype))
        if self.is_complex and init == "haar":
            self.assign_(initializers.haar(n, generator, complex=True))
        else:
            self.assign_(initializers.start(init, n, generator))

    def exact(self) -> Tensor:
        """Return the parameter in double precision."""
        return self.weight.to(dtypes.double(self.dtype))

    def _map(self) -> Tensor:
        return self.weight

    def _take_(self, W: Tensor, tolerance: float) -> None:
        self.weight.copy_(W)

    def defect(self) -> float:
        """Return 0: every matrix is in the set."""
        return 0.0
