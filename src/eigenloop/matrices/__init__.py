"""Recurrent matrices, one set per file. A matrix knows nothing of time."""

from __future__ import annotations

from collections.abc import Callable

from eigenloop import registry
from eigenloop.matrices.base import Matrix
from eigenloop.matrices.bjorck import Bjorck
from eigenloop.matrices.cache import cached
from eigenloop.matrices.cayley import ScaledCayley
from eigenloop.matrices.errors import NotFiniteError, NotInSetError, OffSetError
from eigenloop.matrices.exponential import Exponential
from eigenloop.matrices.free import Free
from eigenloop.matrices.givens import Givens
from eigenloop.matrices.householder import Householder
from eigenloop.matrices.householder_svd import HouseholderSVD
from eigenloop.matrices.long_short import LongShort
from eigenloop.matrices.neumann import NeumannCayley
from eigenloop.matrices.orthogonal import Orthogonal, Unitary
from eigenloop.matrices.orthogonality import OrthogonalMatrix, nearest_orthogonal, orthogonality_defect
from eigenloop.matrices.schur import Schur
from eigenloop.matrices.unit_disc import UnitDisc

__all__ = [
    "NAMES",
    "Bjorck",
    "Exponential",
    "Free",
    "Givens",
    "Householder",
    "HouseholderSVD",
    "LongShort",
    "Matrix",
    "NeumannCayley",
    "NotFiniteError",
    "NotInSetError",
    "OffSetError",
    "Orthogonal",
    "OrthogonalMatrix",
    "ScaledCayley",
    "Schur",
    "UnitDisc",
    "Unitary",
    "cached",
    "nearest_orthogonal",
    "orthogonality_defect",
]

#: The matrices by the names that `recurrent=` of a layer takes; each is called with n and generator=, and with device=
#: and dtype= where it has them.
NAMES: registry.Loaded[Callable[..., Matrix]] = registry.Loaded(registry.MATRICES)
