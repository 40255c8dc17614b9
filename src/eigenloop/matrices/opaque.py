"""Steps that look at data: one operator each, or outside the graph, where torch.compile or torch.export traces."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

import torch

F = TypeVar("F", bound=Callable[..., Any])


def opaque(name: str, fake: Callable[..., Any]) -> Callable[[F], F]:
    """Make a function an operator ``eigenloop::NAME`` for the compiler; eager code calls the function itself.

    The function takes and returns new tensors and plain values, and has no gradient.

    Args:
        name: of the operator.
        fake: makes results of the right shapes from arguments without data.
    """

    def wrapped(function: F) -> F:
        operator = torch.library.custom_op(f"eigenloop::{name}", function, mutates_args=())
        operator.register_fake(fake)

        def call(*arguments: Any) -> Any:
            return (operator if torch.compiler.is_compiling() else function)(*arguments)

        return call  # type: ignore[return-value]

    return wrapped


def outside_the_graph(function: F) -> F:
    """Keep the compiler out of a function, as `torch.compiler.disable` does; but import it only where it is at work.

    That decorator imports torch._dynamo, which takes as long as importing torch.
    """

    @functools.wraps(function)
    def call(*arguments: Any) -> Any:
        return (torch.compiler.disable(function) if torch.compiler.is_compiling() else function)(*arguments)

    return call  # type: ignore[return-value]
