"""Functions whose control flow depends on values: for a compiler they are operators, or outside the graph."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

import torch

F = TypeVar("F", bound=Callable[..., Any])


def opaque(name: str, fake: Callable[..., Any]) -> Callable[[F], F]:
    """Make a function the operator ``eigenloop::NAME`` for the compiler; eager code calls the function itself.

    The function takes tensors and plain values, returns new tensors, and has no gradient.

    Args:
        name: name of the operator.
        fake: returns results of the right shapes, given arguments without data.
    """

    def wrapped(function: F) -> F:
        operator = torch.library.custom_op(f"eigenloop::{name}", function, mutates_args=())
        operator.register_fake(fake)

        def call(*arguments: Any) -> Any:
            return (operator if torch.compiler.is_compiling() else function)(*arguments)

        return call  # type: ignore[return-value]

    return wrapped


def outside_the_graph(function: F) -> F:
    """Exclude a function from compilation, as `torch.compiler.disable` does, but import the compiler only when it runs.

    That decorator imports torch._dynamo, which takes as long as importing torch.
    """

    @functools.wraps(function)
    def call(*arguments: Any) -> Any:
        return (torch.compiler.disable(function) if torch.compiler.is_compiling() else function)(*arguments)

    return call  # type: ignore[return-value]
