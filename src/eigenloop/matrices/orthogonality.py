"""The orthogonal group: distance from it, the nearest orthogonal matrix, and the base class of its maps."""

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
    """Return U, S, V^H with U S V^H = W, verified.

    Note [A wrong decomposition]
        For about one in several thousand nearly orthogonal matrices, torch's LAPACK returns factors that are not
        orthogonal and whose product is not W (seen at n = 190 with MKL 2024.2). So the product is compared with W, and
        numpy's LAPACK is used if it differs.
    """
    u, s, vh = torch.linalg.svd(W)
    if (u * s @ vh - W).abs().max() > 1e-10 * s[0]:
        u, s, vh = (torch.from_numpy(part).to(W.device) for part in np.linalg.svd(W.cpu().numpy()))
    return u, s, vh


def polished(W: Tensor) -> Tensor:
    """Make a nearly orthogonal double-precision matrix orthogonal up to rounding, by Newton's iteration.

    W <- W (3 I - W^H W) / 2 squares the distance each time; a matrix that is already orthogonal costs one product.
    """
    eye = torch.eye(len(W), dtype=W.dtype, device=W.device)
    for _ in range(20):
        excess = W.mH @ W - eye
        if not excess.abs().max() > 1e-14 * len(W):
            break
        W = W - W @ excess / 2
    return W


def real_only(matrix: Matrix, dtype: torch.dtype | None) -> None:
    """Raise TypeError if the dtype of a real matrix is not a real floating-point type."""
    if dtype is not None and not dtype.is_floating_point:
        raise TypeError(f"{type(matrix).__name__} is real, so its dtype is a floating-point type, got {dtype}")


class OrthogonalMatrix(Matrix):
    """A matrix whose set is the orthogonal or unitary group, or a subset of it."""

    def defect(self) -> float:
        """Return max |W^H W - I| of the built W."""
        with torch.no_grad():
            return orthogonality_defect(self())

    def _take_(self, W: Tensor, tolerance: float) -> None:
        distance = orthogonality_defect(W)
        if distance > tolerance:
            raise NotInSetError(
                type(self).__name__,
                "unitary matrices" if self.is_complex else "orthogonal matrices",
                f"has max|W'W - I| = {distance:.3g}",
                distance,
                tolerance,
                "project it with eigenloop.matrices.nearest_orthogonal(W), or use Free or Schur",
            )
        self._take_orthogonal_(nearest_orthogonal(W), tolerance)

    @abstractmethod
    def _take_orthogonal_(self, Q: Tensor, tolerance: float) -> None:
        """Set the parameters so that the map gives Q, which is orthogonal up to rounding.

        Raises NotInSetError if Q is further than `tolerance` from the subset that the map can represent.
        """
