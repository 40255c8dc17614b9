"""Combines a forward and a backward operator into a differentiable function, for eager code and for the compiler.

Note [One operator for the compiler]
    Both passes are torch.library operators. torch.compile and torch.export see one node for each and do not unroll
    T steps; a faster implementation can replace them under the same name.

Note [An explicit Function in eager code]
    The gradient that torch.library attaches to an operator has no forward mode: torch.func.jvp silently returns zeros,
    and torch.func.grad raises. An autograd.Function raises for jvp and works with torch.func.grad.

Note [Past the operator in eager code]
    The dispatch of an operator written in Python costs some hundred microseconds per training step, as much as a small
    network. Unless something intercepts operators (`kernel.reachable`), eager code calls the same functions directly.

Note [Outputs that are changed in place]
    The backward pass needs the states, which are the output, and as with torch.nn users may change the output in place.
    So an alias of the states with a separate version counter is saved, and a `Watch` tells the backward pass whether
    the output was changed. Only then are the states computed again, from the saved inputs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from eigenloop.recurrence import kernel

SetupContext = Callable[[Any, tuple[Any, ...], Any], None]


class Watch:
    """Tells whether an output was changed in place, without keeping its memory or its graph alive."""

    def __init__(self, output: Tensor) -> None:
        self._counter = output.detach()  # shares the version counter
        self._counter.data = output.new_empty(0)
        self._version = self._counter._version

    def changed(self) -> bool:
        """Whether the output was changed."""
        return self._counter._version != self._version


def keep_states(ctx: Any, states: Tensor) -> Tensor:
    """Return the tensor to save for the backward pass; see Note [Outputs that are changed in place].

    A compiled graph has no in-place changes, and tensors of torch.func and of inference mode cannot be watched.
    """
    watchable = kernel.reachable(states) and not states.is_inference()
    ctx.watch = Watch(states) if watchable else None
    return states.data if watchable else states


def kept_states(ctx: Any, saved: Tensor, compute_again: Callable[[], Tensor]) -> Tensor:
    """Return the original states, given what `keep_states` saved; calls `compute_again` if they were changed."""
    return compute_again() if ctx.watch is not None and ctx.watch.changed() else saved


PullBack = Callable[..., tuple[Tensor | None, ...]]


def differentiable(
    forward: Any,
    backward: Any,
    setup_context: SetupContext,
    pull_back: PullBack,
    direct: tuple[Callable[..., Any], Callable[..., Any]] | None = None,
) -> Callable[..., Any]:
    """Return a function that calls the operator `forward` and whose gradient is computed by the operator `backward`.

    Args:
        forward: operator with a fake implementation.
        backward: operator with a fake implementation.
        setup_context: saves what the backward pass needs, as for torch.autograd.Function.
        pull_back: ``(ctx, run_backward, *grads)``, calls ``run_backward`` with the arguments of `backward` and returns
            one gradient for each argument of `forward`.
        direct: the functions inside the two operators, for Note [Past the operator in eager code].
    """

    class Backward(torch.autograd.Function):
        generate_vmap_rule = True

        @staticmethod
        def forward(*arguments: Any) -> Any:
            return tuple(backward(*arguments))  # autograd would take a list for a single output

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
        if past_operator is not None and not arguments[0].is_meta and kernel.reachable(*arguments):
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
            # With create_graph=True a second derivative may be requested: that Function raises an error for it.
            return pull_back(ctx, watched_backward.apply if torch.is_grad_enabled() else run_backward, *grads)

    return Direct.apply
