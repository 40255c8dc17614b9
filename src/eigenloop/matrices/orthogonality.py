"""The orthogonal group as a set: how far a matrix is from it, the nearest member, and what its maps share."""

from __future__ import annotations

from abc import abstractmethod

import torch
from torch import Tensor

from eigenloop import dtypes
from eigenloop.matrices.base import Matrix
from eigenloop.matrices.errors import NotInSetError

#: The largest max|W'W - I| that `assign_` takes for rounding; float32 weights of trained networks have up to 1e-5.
TOLERANCE = 1e-4


def orthogonality_defect(W: Tensor) -> float:
    """Return max |W^H W - I|, computed in double precision.

    >>> orthogonality_defect(2 * torch.eye(3))
    3.0
    """
    double = W.detach().to(dtypes.double(W.dtype))
    gram = double.mH @ double
    gram.diagonal().sub_(1)
    return float(gram.abs().max())


def nearest_orthogonal(W: Tensor) -> Tensor:
    """Return the orthogonal (unitary) matrix nearest to W, its polar factor U V^H, in double precision.

    >>> nearest_orthogonal(torch.tensor([[2.0, 0.0], [0.0, -0.5]]))
    tensor([[ 1.,  0.],
            [ 0., -1.]], dtype=torch.float64)
    """
    u, _, vh = torch.linalg.svd(W.to(dtypes.double(W.dtype)))
    return u @ vh


class OrthogonalMatrix(Matrix):
    """A matrix whose set is (a part of) the orthogonal or unitary group."""

    def defect(self) -> float:
        """Return max |W^H W - I| of the W that is built."""
        with torch.no_grad():
            return orthogonality_defect(self._held_or_built() if self._holding else self._build())

    def _take_(self, W: Tensor) -> None:
        distance = orthogonality_defect(W)
        if distance > TOLERANCE:
            raise NotInSetError(
                type(self).__name__,
                "unitary matrices" if self.is_complex else "orthogonal matrices",
                "max|W'W - I|",
                distance,
                TOLERANCE,
                "project it with eigenloop.matrices.nearest_orthogonal(W), or use Free or Schur",
            )
        self._take_orthogonal_(nearest_orthogonal(W))

    @abstractmethod
    def _take_orthogonal_(self, Q: Tensor) -> None:
        """Set the parameters so that Q, orthogonal to rounding, is built."""
