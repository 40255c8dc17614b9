"""Recurrent matrices, one set per file. A matrix knows nothing of time."""

from __future__ import annotations

from eigenloop.matrices.base import Matrix
from eigenloop.matrices.cache import cached
from eigenloop.matrices.cayley import ScaledCayley
from eigenloop.matrices.errors import NotFiniteError, NotInSetError
from eigenloop.matrices.exponential import Exponential
from eigenloop.matrices.free import Free
from eigenloop.matrices.orthogonality import OrthogonalMatrix, nearest_orthogonal, orthogonality_defect
from eigenloop.matrices.schur import Schur

__all__ = [
    "NAMES",
    "Exponential",
    "Free",
    "Matrix",
    "NotFiniteError",
    "NotInSetError",
    "OrthogonalMatrix",
    "ScaledCayley",
    "Schur",
    "cached",
    "nearest_orthogonal",
    "orthogonality_defect",
]

#: The names that `recurrent=` of a layer takes.
NAMES: dict[str, type[Free] | type[ScaledCayley] | type[Exponential] | type[Schur]] = {
    "free": Free,
    "cayley": ScaledCayley,
    "exponential": Exponential,
    "schur": Schur,
}
