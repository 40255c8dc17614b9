"""ENRNN's recurrent matrix (Helfrich, Ye 2020, eq. 5 and 6): long-term and short-term blocks with one-way coupling."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor, nn

from eigenloop import initializers
from eigenloop.matrices.base import Matrix, made_by
from eigenloop.matrices.cayley import ScaledCayley
from eigenloop.matrices.errors import NotInSetError
from eigenloop.matrices.orthogonality import OrthogonalMatrix, real_only
from eigenloop.matrices.unit_disc import UnitDisc


class LongShort(Matrix):
    r"""W = [[W_L, W_C], [0, W_S]]: W_L is orthogonal (long-term memory), W_S has its eigenvalues in the unit disc.

    The state is h = [h_L, h_S]. The coupling W_C lets the short-term state h_S act on h_L, but not the reverse, so that
    the gradient through the long-term state is not affected.

    Args:
        n: size.
        short: units of h_S, from 0 (all long-term) to n (all short-term); default: 0.4 n, rounded to an even number.
        coupling: whether W_C is trained; otherwise it is zero.
        coupling_init: ``"glorot"`` (uniform), ``"orthogonal"`` (a block of an orthogonal matrix, ENRNN's for Penn
            Treebank), or the (n - short) x short matrix.
        long: callable ``q -> matrix`` for the orthogonal W_L; default: `ScaledCayley`, as in the paper.
        eps: eps of W_S, see `UnitDisc`.
        generator: for reproducible draws of W_C and W_S, and of W_L where `long` is not given.

    >>> LongShort(10, short=4)()[6:, :6].count_nonzero()
    tensor(0)
    """

    def __init__(
        self,
        n: int,
        *,
        short: int | None = None,
        coupling: bool = True,
        coupling_init: str | Tensor = "glorot",
        long: Callable[[int], Matrix] | None = None,
        eps: float = 0.0,
        generator: torch.Generator | None = None,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__(n)
        real_only(self, dtype)
        self.short_size = default_short(n) if short is None else short
        if isinstance(self.short_size, bool) or not isinstance(self.short_size, int) or not 0 <= self.short_size <= n:
            raise ValueError(
                f"short, the number of short-term units, is a whole number in 0..n = 0..{n}, got {short!r}"
            )
        q = n - self.short_size
        dtype = torch.get_default_dtype() if dtype is None else dtype
        self.long: Matrix | None = None
        self.short: UnitDisc | None = None
        self.coupling: nn.Parameter | None = None
        if q > 0:
            made = made_by(long or partial(ScaledCayley, generator=generator), "long", q, device, dtype)
            if not isinstance(made, OrthogonalMatrix) or made.is_complex:
                raise TypeError(f"long must make a real orthogonal {q} x {q} matrix of eigenloop, got {made!r}")
            self.long = made
        if self.short_size > 0:
            self.short = UnitDisc(self.short_size, eps=eps, generator=generator, device=device, dtype=dtype)
        if coupling and q > 0 and self.short_size > 0:
            start = _coupling(coupling_init, q, self.short_size, generator)
            self.coupling = nn.Parameter(start.to(self.device, dtype))

    @property
    def _part(self) -> Matrix:
        part = self.short if self.long is None else self.long
        assert part is not None
        return part

    @property
    def dtype(self) -> torch.dtype:
        """The dtype of W."""
        return self._part.dtype

    @property
    def device(self) -> torch.device:
        """The device of W."""
        return self._part.device

    def exact(self) -> Tensor:
        """Compute W from its blocks."""
        if self.long is None or self.short is None:
            return self._part.exact()
        W_L, W_S = self.long.exact(), self.short.exact()
        zero = W_L.new_zeros(self.short_size, self.n - self.short_size)
        W_C = zero.mT if self.coupling is None else self.coupling.double()
        return torch.cat((torch.cat((W_L, W_C), dim=1), torch.cat((zero, W_S), dim=1)))

    def _parts(self) -> list[Matrix]:
        return [part for part in (self.long, self.short) if part is not None]

    def advance_(self) -> None:
        """Call `advance_` of both blocks."""
        for part in self._parts():
            part.advance_()

    def defect(self) -> float:
        """Return the larger defect of the two blocks."""
        return max(part.defect() for part in self._parts())

    def slow_parameters(self) -> list[nn.Parameter]:
        """Return those of W_L; T and the coupling have the ordinary learning rate."""
        return [] if self.long is None else self.long.slow_parameters()

    def projected_parameters(self) -> list[nn.Parameter]:
        """Return those of W_L."""
        return [] if self.long is None else self.long.projected_parameters()

    def weight_decays(self) -> list[tuple[nn.Parameter, float]]:
        """Return the weight decays of both blocks."""
        return [pair for part in self._parts() for pair in part.weight_decays()]

    def penalty(self) -> Tensor:
        """Return the sum of the penalties of both blocks."""
        return torch.stack([part.penalty() for part in self._parts()]).sum()

    def _take_(self, W: Tensor, tolerance: float) -> None:
        q = self.n - self.short_size
        outside = float(W[q:, :q].abs().max()) if self.long is not None and self.short is not None else 0.0
        if self.coupling is None and self.long is not None and self.short is not None:
            outside = max(outside, float(W[:q, q:].abs().max()))
        if outside > tolerance:
            raise NotInSetError(
                f"LongShort(short={self.short_size})",
                "block triangular matrices [[long, coupling], [0, short]]"
                if self.coupling is not None
                else "block diagonal matrices [[long, 0], [0, short]]",
                f"has an entry of size {outside:.3g} outside the blocks",
                outside,
                tolerance,
                "set it to zero, or use Free",
            )
        # Assign to copies first: both blocks must accept their part before either changes.
        parts = copy.deepcopy(self._parts())
        blocks = [W[:q, :q]] * (self.long is not None) + [W[q:, q:]] * (self.short is not None)
        for part, block in zip(parts, blocks, strict=True):
            part.assign_(block)
        for part, tried in zip(self._parts(), parts, strict=True):
            part.load_state_dict(tried.state_dict())
        if self.coupling is not None:
            self.coupling.copy_(W[:q, q:])

    def extra_repr(self) -> str:
        """Return the sizes, for the printed module."""
        return f"{self.n}, short={self.short_size}" + ", coupling=False" * (self.coupling is None)


def default_short(n: int) -> int:
    """Return 0.4 n, rounded to an even number: the paper's best split for the adding problem.

    >>> default_short(160), default_short(3)
    (64, 2)
    """
    return min(n, 2 * round(0.2 * n))


def _coupling(init: str | Tensor, q: int, short: int, generator: torch.Generator | None) -> Tensor:
    if isinstance(init, Tensor):
        if init.shape != (q, short):
            raise ValueError(f"coupling_init must be {q} x {short} (long x short), got {tuple(init.shape)}")
        return init
    if init == "glorot":
        start = torch.empty(q, short, dtype=torch.float64, device="cpu")
        bound = math.sqrt(6 / (q + short))
        initializers.fill_uniform_(start, -bound, bound, generator)
        return start
    if init == "orthogonal":
        return initializers.haar(max(q, short), generator)[:q, :short]
    raise ValueError(f"coupling_init={init!r} is not known: choose 'glorot', 'orthogonal' or give a matrix")
