"""Joining a forward and a backward operator, for eager code and for the compiler.

Note [One operator for the compiler]
    Both passes are torch.library operators. torch.compile and torch.export see one node each and do not unroll
    T steps; a faster implementation is a change behind the same name.

Note [An explicit Function in eager code]
    The gradient that torch.library attaches to an operator has no forward mode and answers torch.func.jvp with
    silent zeros; torch.func.grad it refuses. An autograd.Function raises for the one and serves the other.

Note [Past the operator in eager code]
    The dispatch of an operator written in Python costs some hundred microseconds a training step, as much as a
    small network. Where nothing watches operators (`kernel.reachable`) eager code calls the same functions directly.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from eigenloop.recurrence import kernel

SetupContext = Callable[[Any, tuple[Any, ...], Any], None]
PullBack = Callable[..., tuple[Tensor | None, ...]]


def differentiable(
    forward: Any,
    backward: Any,
    setup_context: SetupContext,
    pull_back: PullBack,
    direct: tuple[Callable[..., Any], Callable[..., Any]] | None = None,
) -> Callable[..., Any]:
    """Return a function that calls the operator `forward` and takes its gradient from the operator `backward`.

    Args:
        forward: operator with a fake rule.
        backward: operator with a fake rule.
        setup_context: saves what the backward pass needs, as for torch.autograd.Function.
        pull_back: ``(ctx, run_backward, *grads)``, calls ``run_backward`` with the arguments of `backward` and sorts
            the results by the arguments of `forward`.
        direct: the functions inside the two operators, for Note [Past the operator in eager code].
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
    past_operator = None if direct is None else _past_operator(*direct, Backward, setup_context, pull_back)

    def call(*arguments: Any) -> Any:
        if torch.compiler.is_compiling():
            return forward(*arguments)
        if past_operator is not None and kernel.reachable(*arguments):
            return past_operator(*arguments)
        return Forward.apply(*arguments)

    return call


def _past_operator(
    run_forward: Callable[..., Any],
    run_backward: Callable[..., Any],
    watched_backward: type[torch.autograd.Function],
    setup_context: SetupContext,
    pull_back: PullBack,
) -> Callable[..., Any]:
    class Direct(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, *arguments: Any) -> Any:
            output = run_forward(*arguments)
            setup_context(ctx, arguments, output)
            return output

        @staticmethod
        def backward(ctx: Any, *grads: Any) -> Any:
            # With create_graph=True a second derivative may be asked for: that Function says that there is none.
            return pull_back(ctx, watched_backward.apply if torch.is_grad_enabled() else run_backward, *grads)

    return Direct.apply
