"""The exponential map of expRNN (Lezcano-Casado, Martinez-Rubio 2019) and its moving base, dtriv (2019b)."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from eigenloop import initializers
from eigenloop.matrices import triangle
from eigenloop.matrices.opaque import outside_the_graph
from eigenloop.matrices.orthogonality import OrthogonalMatrix, nearest_orthogonal, polished, real_only
from eigenloop.matrices.skew_exponential import skew_exponential


class Exponential(OrthogonalMatrix):
    """An orthogonal W = B exp(A) with a trained skew A and a fixed orthogonal base B.

    expRNN keeps B = I. With ``rebase_every=K`` (dtriv) B is set to W and A to 0 after every K optimizer steps,
    before W is built, so that the gradient always belongs to the (A, B) it is applied to. B is projected to the
    orthogonal group each time, so that rounding errors do not accumulate.

    Note [Counting optimizer steps]
        An optimizer step has happened if the skew entries differ from those in the last training forward pass. So
        several forward passes before one step (gradient accumulation, a layer called twice) count once, the base never
        changes between a backward pass and the step that uses its gradient, and any optimizer that updates parameters
        in place works. Methods that return to saved entries (L-BFGS with a line search, SAM) or average entries (EMA)
        across a change of base mix entries of two bases: use rebase_every=None with them.

    Args:
        n: size.
        rebase_every: optimizer steps between two changes of base; None for a fixed base.
        init: ``"henaff"`` (A with blocks U(-pi, pi), the paper's for copying) or ``"cayley"`` (A with blocks -tan(t/2),
            the paper's for MNIST); ``"haar"``, ``"identity"`` or an orthogonal matrix set B instead of A.
        generator: for reproducible draws.

    >>> Exponential(5, init="haar").defect() < 1e-6
    True
    """

    _anchor = "skew"
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
        real_only(self, dtype)
        if rebase_every is not None and (isinstance(rebase_every, bool) or not isinstance(rebase_every, int)):
            raise TypeError(f"rebase_every is a number of optimizer steps or None, got {rebase_every!r}")
        if rebase_every is not None and rebase_every < 1:
            raise ValueError(f"rebase_every must be at least 1 optimizer step, or None; got {rebase_every}")
        self.rebase_every = rebase_every
        self.skew = nn.Parameter(torch.zeros(triangle.triangle_size(n), device=device, dtype=dtype))
        self.register_buffer("base", torch.eye(n, device=device, dtype=dtype))
        if rebase_every is not None:
            self.register_buffer("seen", torch.zeros_like(self.skew.detach()))
            self.register_buffer("age", torch.zeros((), dtype=torch.int64, device=device))
        if isinstance(init, str) and init in ("henaff", "cayley"):
            draw = initializers.henaff_skew if init == "henaff" else initializers.cayley_skew
            with torch.no_grad():
                self.skew.copy_(triangle.upper_entries(draw(n, generator)))
                if rebase_every is not None:
                    self.seen.copy_(self.skew)
        else:
            self.assign_(initializers.start(init, n, generator))

    def exact(self) -> Tensor:
        """Compute W = B exp(A)."""
        rotation = skew_exponential(triangle.skew(self.skew.double(), self.n), self.skew.dtype)
        if torch.compiler.is_compiling():
            return self.base.double() @ rotation
        if torch.equal(self.base, torch.eye(self.n, dtype=self.base.dtype, device=self.base.device)):
            return rotation  # expRNN: saves four products in every training step
        # A base stored in float32, averaged (EMA) or loaded into float64 is only nearly orthogonal.
        return polished(self.base.double()) @ rotation

    def advance_(self) -> None:
        """Move the base if `rebase_every` optimizer steps have passed; see Note [Counting optimizer steps]."""
        # Neither tensors passed by functional_call nor frozen parameters may be changed.
        ours = isinstance(self.skew, nn.Parameter) and self.skew.requires_grad
        if self.rebase_every is not None and ours:
            self._count_step_(self.rebase_every)

    @outside_the_graph
    @torch.no_grad()
    def _count_step_(self, rebase_every: int) -> None:
        if torch.equal(self.skew, self.seen):
            return
        self.age += 1
        if self.age >= rebase_every:
            W = self.exact()
            self._check_finite([W])
            self._rest_at_(W)
        else:
            self.seen.copy_(self.skew)

    def _rest_at_(self, Q: Tensor) -> None:
        """Set the base to Q and the skew entries to zero."""
        self.base.copy_(nearest_orthogonal(Q))
        self.skew.zero_()
        if self.rebase_every is not None:
            self.seen.zero_()
            self.age.zero_()

    def _take_orthogonal_(self, Q: Tensor, tolerance: float) -> None:
        self._rest_at_(Q)

    def slow_parameters(self) -> list[nn.Parameter]:
        """Return the skew entries, which expRNN trains at a tenth of the other parameters' learning rate."""
        return [self.skew]

    def extra_repr(self) -> str:
        """Return the size, and `rebase_every` if the base changes, for the printed module."""
        return str(self.n) if self.rebase_every is None else f"{self.n}, rebase_every={self.rebase_every}"
