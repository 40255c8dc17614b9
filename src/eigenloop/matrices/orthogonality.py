"""The orthogonal group as a set: how far a matrix is from it, the nearest member, and what its maps share."""

from __future__ import annotations

from abc import abstractmethod

import numpy as np
import torch
from torch import Tensor

from eigenloop import dtypes
from eigenloop.matrices.base import Matrix
from eigenloop.matrices.errors import NotInSetError


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
    double = W.to(dtypes.double(W.dtype))
    if orthogonality_defect(double) < 0.5:
        return polished(double)
    u, _, vh = verified_svd(double)
    return polished(u @ vh)


def verified_svd(W: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Return U, S, V^H with U S V^H = W, checked.

    Note [A decomposition that is not one]
        The LAPACK inside torch returns, for about one in some thousand nearly orthogonal matrices, factors that are not
        orthogonal and do not multiply to W (seen at n = 190 with MKL 2024.2). So the product is compared with W,
        and numpy's LAPACK asked where it differs.
    """
    u, s, vh = torch.linalg.svd(W)
    if (u * s @ vh - W).abs().max() > 1e-10 * s[0]:
        u, s, vh = (torch.from_numpy(part).to(W.device) for part in np.linalg.svd(W.cpu().numpy()))
    return u, s, vh


def polished(W: Tensor) -> Tensor:
    """Bring a nearly orthogonal double-precision matrix to orthogonal within rounding, by Newton's iteration.

    W <- W (3 I - W^H W) / 2 squares the distance each time; a matrix that is orthogonal already costs one product.
    """
    eye = torch.eye(len(W), dtype=W.dtype, device=W.device)
    for _ in range(20):
        excess = W.mH @ W - eye
        if not excess.abs().max() > 1e-14 * len(W):
            break
        W = W - W @ excess / 2
    return W


def real_only(matrix: Matrix, dtype: torch.dtype | None) -> None:
    """Refuse a complex dtype for a map of real parameters."""
    if dtype is not None and not dtype.is_floating_point:
        raise TypeError(f"{type(matrix).__name__} is real, so its dtype is a floating-point type, got {dtype}")


class OrthogonalMatrix(Matrix):
    """A matrix whose set is (a part of) the orthogonal or unitary group."""

    def defect(self) -> float:
        """Return max |W^H W - I| of the W that is built."""
        with torch.no_grad():
            return orthogonality_defect(self())

    def _take_(self, W: Tensor, tolerance: float) -> None:
        distance = orthogonality_defect(W)
        if distance > tolerance:
            raise NotInSetError(
                type(self).__name__,
                "unitary matrices" if self.is_complex else "orthogonal matrices",
                "max|W'W - I|",
                distance,
                tolerance,
                "project it with eigenloop.matrices.nearest_orthogonal(W), or use Free or Schur",
            )
        self._take_orthogonal_(nearest_orthogonal(W), tolerance)

    @abstractmethod
    def _take_orthogonal_(self, Q: Tensor, tolerance: float) -> None:
        """Set the parameters so that Q, orthogonal to rounding, is built.

        Refuse Q if it is further than `tolerance` from the part of the group that the map reaches.
        """
