"""Building each matrix once for many forward passes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from torch import nn

from eigenloop.matrices.base import Matrix


@contextmanager
def cached(module: nn.Module) -> Iterator[None]:
    """Build every recurrent matrix in `module` at most once inside the ``with``: for evaluation and streaming.

    The W's live on the matrices, not in a global table. A W is built anew if its parameters change inside the
    ``with``, or if it was built without a graph and is then used where gradients are wanted.

    >>> import torch, eigenloop as el
    >>> rnn = el.RNN(3, 8).eval()
    >>> x, h = torch.randn(100, 3), None
    >>> with el.cached(rnn), torch.no_grad():
    ...     for step in x:
    ...         out, h = rnn(step[None], h)
    """
    matrices = [m for m in module.modules() if isinstance(m, Matrix)]
    before = [m._holding for m in matrices]
    for matrix, holding in zip(matrices, before, strict=True):
        if not holding:
            matrix._hold_(True)
    try:
        yield
    finally:
        for matrix, holding in zip(matrices, before, strict=True):
            if not holding:
                matrix._hold_(False)
