"""Matrices W that are themselves the parameter and kept on the set by the optimizer: projUNN, full-capacity uRNN."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn

from eigenloop import dtypes, initializers
from eigenloop.matrices.errors import OffSetError
from eigenloop.matrices.opaque import outside_the_graph
from eigenloop.matrices.orthogonality import OrthogonalMatrix, nearest_orthogonal, real_only

#: Largest distance from the set in a training forward pass; the optimizers keep W a hundred times closer.
_ALLOWED = 1e-4
_PROBES = 4


class _OwnParameter(OrthogonalMatrix):
    """W is the parameter; a training forward pass raises OffSetError if it has left the set."""

    _anchor = "weight"
    _optimizer: str
    weight: nn.Parameter

    def exact(self) -> Tensor:
        """Return the parameter in double precision."""
        return self.weight.to(dtypes.double(self.dtype))

    def _map(self) -> Tensor:
        return self.weight

    @outside_the_graph
    @torch.no_grad()
    def advance_(self) -> None:
        """Check W^H W = I with a few random sign vectors, in O(n^2); raises OffSetError, which names the optimizer."""
        generator = torch.Generator().manual_seed(self.n)
        drawn = torch.randint(2, (self.n, _PROBES), generator=generator, device="cpu")
        signs = (1 - 2 * drawn).to(self.device, self.dtype)
        weight = self.weight.detach()
        distance = float((weight.mH @ (weight @ signs) - signs).abs().square().mean().sqrt())
        rounding = float(torch.finfo(self.dtype).eps) * self.n**0.5
        # A NaN passes here; the check after the map reports it.
        if distance > max(_ALLOWED, 4 * rounding):
            raise OffSetError(type(self).__name__, distance, self._optimizer)

    def _take_orthogonal_(self, Q: Tensor, tolerance: float) -> None:
        self.weight.copy_(Q)

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> _OwnParameter:
        """Convert, and project W if the dtype changes: a float32 matrix is orthogonal to float32 accuracy only."""
        before = self.weight.dtype
        super()._apply(fn, recurse)
        if self.weight.dtype != before and self._has_values and torch.isfinite(self.weight).all():
            with torch.no_grad():
                self.weight.copy_(nearest_orthogonal(self.weight))
        return self

    def slow_parameters(self) -> list[nn.Parameter]:
        """Return W."""
        return [self.weight]

    def projected_parameters(self) -> list[nn.Parameter]:
        """Return W, which only a suitable optimizer keeps on the set."""
        return [self.weight]


class Orthogonal(_OwnParameter):
    """An orthogonal W that is itself the parameter, for `eigenloop.optim.ProjUNN` (Kiani et al. 2022).

    Args:
        n: size.
        init: ``"haar"``, ``"identity"``, ``"henaff"``, ``"cayley"``, or an orthogonal matrix.
        generator: for reproducible draws.

    >>> Orthogonal(5, init="identity")().trace()
    tensor(5., grad_fn=<TraceBackward0>)
    """

    _optimizer = "eigenloop.optim.ProjUNN(eigenloop.optim.param_groups(net, lr))"

    def __init__(
        self,
        n: int,
        *,
        init: str | Tensor = "haar",
        generator: torch.Generator | None = None,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__(n)
        real_only(self, dtype)
        self.weight = nn.Parameter(torch.empty(n, n, device=device, dtype=dtype))
        self.assign_(initializers.start(init, n, generator))


class Unitary(_OwnParameter):
    """A complex unitary W that is itself the parameter, for `eigenloop.optim.UnitaryCayley` (Wisdom et al. 2016).

    Args:
        n: size.
        init: ``"urnn"`` (a random product of the uRNN's factors, as in the paper), ``"haar"``, ``"identity"``, or a
            unitary matrix.
        generator: for reproducible draws.
        dtype: a complex dtype, or a real one, which stands for its complex counterpart.

    >>> Unitary(4).defect() < 1e-6
    True
    """

    _optimizer = "eigenloop.optim.UnitaryCayley(eigenloop.optim.param_groups(net, lr))"

    def __init__(
        self,
        n: int,
        *,
        init: str | Tensor = "urnn",
        generator: torch.Generator | None = None,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__(n)
        dtype = dtypes.complex(torch.get_default_dtype() if dtype is None else dtype)
        self.weight = nn.Parameter(torch.empty(n, n, device=device, dtype=dtype))
        if isinstance(init, str) and init == "urnn":
            start = initializers.urnn(n, generator)
        elif isinstance(init, str) and init == "haar":
            start = initializers.haar(n, generator, complex=True)
        else:
            start = initializers.start(init, n, generator)
        self.assign_(start)
