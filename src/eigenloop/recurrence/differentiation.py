"""Joining a forward and a backward operator, for eager code and for the compiler.

Note [One operator for the compiler]
    Both passes are torch.library operators. torch.compile and torch.export see one node each and do not unroll
    T steps; a faster implementation is a change behind the same name.

Note [An explicit Function in eager code]
    The gradient that torch.library attaches to an operator has no forward mode and answers torch.func.jvp with
    silent zeros; torch.func.grad it refuses. An autograd.Function raises for the one and serves the other.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

SetupContext = Callable[[Any, tuple[Any, ...], Any], None]
PullBack = Callable[..., tuple[Tensor | None, ...]]


def differentiable(forward: Any, backward: Any, setup_context: SetupContext, pull_back: PullBack) -> Callable[..., Any]:
    """Return a function that calls the operator `forward` and takes its gradient from the operator `backward`.

    Args:
        forward: operator with a fake rule.
        backward: operator with a fake rule.
        setup_context: saves what the backward pass needs, as for torch.autograd.Function.
        pull_back: ``(ctx, run_backward, *grads)``, calls ``run_backward`` with the arguments of `backward` and sorts
            the results by the arguments of `forward`.
    """

    class Backward(torch.autograd.Function):
        generate_vmap_rule = True

        @staticmethod
        def forward(*arguments: Any) -> Any:
            return tuple(backward(*arguments))  # a list would pass for a single output

        @staticmethod
        def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
            pass

        @staticmethod
        def backward(ctx: Any, *grads: Any) -> Any:
            raise RuntimeError(
                "the recurrence has first derivatives only; for a second one write the loop over time in "
                "torch operations, with the layer's recurrent_matrix()"
            )

    class Forward(torch.autograd.Function):
        generate_vmap_rule = True

        @staticmethod
        def forward(*arguments: Any) -> Any:
            return forward(*arguments)

        @staticmethod
        def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
            setup_context(ctx, inputs, output)

        @staticmethod
        def backward(ctx: Any, *grads: Any) -> Any:
            return pull_back(ctx, Backward.apply, *grads)

    def compiled_pull_back(ctx: Any, *grads: Any) -> Any:
        return pull_back(ctx, backward, *grads)

    forward.register_autograd(compiled_pull_back, setup_context=setup_context)

    def call(*arguments: Any) -> Any:
        return forward(*arguments) if torch.compiler.is_compiling() else Forward.apply(*arguments)

    return call
