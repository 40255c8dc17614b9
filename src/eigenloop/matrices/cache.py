"""Building each matrix once for many forward passes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol, runtime_checkable

from torch import nn


@runtime_checkable
class Holder(Protocol):
    """A module that can hold what it built: a matrix, or a layer that combines matrices."""

    _holding: bool

    def _hold_(self, holding: bool) -> None: ...


@contextmanager
def cached(module: nn.Module) -> Iterator[None]:
    """Build every recurrent matrix in `module` only once inside the ``with``; for evaluation and streaming.

    Each W is stored on its matrix, not in a global cache. It is built again if its parameters change inside the
    ``with``, or if it was built without a graph and gradients are needed later. As everywhere in torch, writing into
    ``parameter.data`` in place is not noticed; assigning to it is.

    >>> import torch, eigenloop as el
    >>> rnn = el.RNN(3, 8).eval()
    >>> x, h = torch.randn(100, 3), None
    >>> with el.cached(rnn), torch.no_grad():
    ...     for step in x:
    ...         out, h = rnn(step[None], h)
    """
    holders = [m for m in module.modules() if isinstance(m, Holder) and not m._holding]
    for holder in holders:
        holder._hold_(True)
    try:
        yield
    finally:
        for holder in holders:
            holder._hold_(False)
