"""The matrices of a network that are not part of another one."""

from __future__ import annotations

from collections.abc import Iterator

from torch import nn

from eigenloop.matrices.base import Matrix


def outermost(module: nn.Module, name: str = "") -> Iterator[tuple[str, Matrix]]:
    """Yield name and matrix for all matrices in a module that are not part of another matrix.

    In a recurrent layer these are the matrices that the recurrence multiplies by.

    >>> import eigenloop as el
    >>> [name for name, _ in outermost(el.GRU(3, 8))]
    ['recurrent_l0.reset', 'recurrent_l0.update', 'recurrent_l0.candidate']
    >>> [(name, type(matrix).__name__) for name, matrix in outermost(el.build("nnrnn", 3, 8))]
    [('recurrent_l0', 'Schur')]
    """
    if isinstance(module, Matrix):
        yield name, module
        return
    for key, child in module.named_children():
        yield from outermost(child, f"{name}.{key}" if name else key)
