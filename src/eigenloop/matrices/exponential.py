"""The exponential map of expRNN (Lezcano-Casado, Martinez-Rubio 2019) and its moving base, dtriv (2019b)."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn

from eigenloop import initializers
from eigenloop.matrices import triangle
from eigenloop.matrices.orthogonality import OrthogonalMatrix, nearest_orthogonal
from eigenloop.matrices.skew_exponential import skew_exponential


class Exponential(OrthogonalMatrix):
    """An orthogonal W = B exp(A) with A skew and trained, B a fixed orthogonal base.

    expRNN keeps B = I. With ``rebase_every=K`` (dtriv) B moves to W and A to 0 after every K optimizer steps,
    before W is built, so that the gradient always belongs to the (A, B) it is applied to. B is re-projected
    each time, so rounding never accumulates.

    Note [Counting optimizer steps]
        A step has happened when a training forward finds other skew entries than the last one left. So
        several forward passes before one step (gradient accumulation, a layer called twice) count once, the
        base never moves under a gradient that is still waiting, and any optimizer will do.

    Args:
        n: size.
        rebase_every: optimizer steps between two changes of base; None never changes it.
        init: ``"henaff"`` (A with blocks U(-pi, pi), the copying task's), ``"cayley"`` (A with blocks
            -tan(t/2), MNIST's), or into the base: ``"haar"``, ``"identity"``, an orthogonal matrix.
        generator: for reproducible draws.

    >>> Exponential(5, init="haar").defect() < 1e-6
    True
    """

    base: Tensor
    seen: Tensor
    age: Tensor

    def __init__(
        self,
        n: int,
        *,
        rebase_every: int | None = None,
        init: str | Tensor = "henaff",
        generator: torch.Generator | None = None,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__(n)
        if rebase_every is not None and (isinstance(rebase_every, bool) or not isinstance(rebase_every, int)):
            raise TypeError(f"rebase_every is a number of optimizer steps or None, got {rebase_every!r}")
        if rebase_every is not None and rebase_every < 1:
            raise ValueError(f"rebase_every must be at least 1 optimizer step, or None; got {rebase_every}")
        self.rebase_every = rebase_every
        self.skew = nn.Parameter(torch.zeros(triangle.triangle_size(n), device=device, dtype=dtype))
        self.register_buffer("base", torch.eye(n, device=device, dtype=dtype))
        if isinstance(init, str) and init in ("henaff", "cayley"):
            draw = initializers.henaff_skew if init == "henaff" else initializers.cayley_skew
            with torch.no_grad():
                self.skew.copy_(triangle.upper_entries(draw(n, generator)))
        else:
            self.assign_(initializers.start(init, n, generator))
        if rebase_every is not None:
            self.register_buffer("seen", self.skew.detach().clone())
            self.register_buffer("age", torch.zeros((), dtype=torch.int64, device=device))

    def exact(self) -> Tensor:
        """Compute W = B exp(A)."""
        return self.base.double() @ skew_exponential(triangle.skew(self.skew.double(), self.n))

    def advance_(self) -> None:
        """Move the base if `rebase_every` optimizer steps have passed; see Note [Counting optimizer steps]."""
        # functional_call lends us tensors that are not ours to change.
        if self.rebase_every is not None and isinstance(self.skew, nn.Parameter):
            self._count_step_(self.rebase_every)

    @torch.compiler.disable
    @torch.no_grad()
    def _count_step_(self, rebase_every: int) -> None:
        if torch.equal(self.skew, self.seen):
            return
        self.age += 1
        if self.age >= rebase_every:
            self._rest_at_(self.exact())
        else:
            self.seen.copy_(self.skew)

    def _rest_at_(self, Q: Tensor) -> None:
        """Put Q into the base and the skew at zero."""
        self.base.copy_(nearest_orthogonal(Q))
        self.skew.zero_()
        if self.rebase_every is not None and hasattr(self, "seen"):
            self.seen.zero_()
            self.age.zero_()

    def _take_orthogonal_(self, Q: Tensor) -> None:
        self._rest_at_(Q)

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> Exponential:
        """Re-project the base after a change of dtype: a float32 base is orthogonal to float32 only."""
        before = self.base.dtype
        super()._apply(fn, recurse)
        if self.base.dtype != before and torch.isfinite(self.base).all():
            self.base.copy_(nearest_orthogonal(self.base))
        return self

    def slow_parameters(self) -> list[nn.Parameter]:
        """Return the skew entries, which expRNN trains at a tenth of the other rate."""
        return [self.skew]

    def extra_repr(self) -> str:
        """Show the size, and how often the base moves if it does."""
        return str(self.n) if self.rebase_every is None else f"{self.n}, rebase_every={self.rebase_every}"
