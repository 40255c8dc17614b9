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

Note [Outputs that are changed in place]
    The backward pass reads the states, which are the output, and torch.nn lets its users change an output in place. So
    another view of the states is saved, one that counts no changes, and a `Watch` tells the backward pass whether there
    were any. If so, and only then, the states are computed again from the inputs, which are all kept.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from eigenloop.recurrence import kernel

SetupContext = Callable[[Any, tuple[Any, ...], Any], None]


class Watch:
    """Tells whether an output was changed in place since, without keeping its memory or its graph."""

    def __init__(self, output: Tensor) -> None:
        self._counter = output.detach()  # shares the count of changes
        self._counter.data = output.new_empty(0)
        self._version = self._counter._version

    def changed(self) -> bool:
        """Whether it was changed."""
        return self._counter._version != self._version


def keep_states(ctx: Any, states: Tensor) -> Tensor:
    """Return what to save of an output that is handed out; see Note [Outputs that are changed in place].

    A compiler's graph has no changes in place, and the tensors of torch.func and of inference cannot be watched.
    """
    transformed = torch._C._are_functorch_transforms_active()
    watchable = kernel.reachable(states) and not transformed and not states.is_inference()
    ctx.watch = Watch(states) if watchable else None
    return states.data if watchable else states


def kept_states(ctx: Any, saved: Tensor, compute_again: Callable[[], Tensor]) -> Tensor:
    """Return the states as they were, given what `keep_states` saved of them."""
    return compute_again() if ctx.watch is not None and ctx.watch.changed() else saved


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
