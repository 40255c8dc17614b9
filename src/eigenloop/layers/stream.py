"""el.Stream: a layer one step at a time, at the cost of little more than its arithmetic."""

from __future__ import annotations

import copy

import torch
from torch import Tensor

from eigenloop.layers.base import RecurrentLayer
from eigenloop.layers.states import State, join_state
from eigenloop.matrices.cache import Holder
from eigenloop.recurrence import kernel


class Stream:
    """Feeds a layer single inputs and carries its state; for inference.

    The weights are those that the layer has now: W is built once, the first step is recorded, and every other step
    makes the same call into the kernel on the same memory. Later changes of the layer are not seen. Where the
    kernel does not run (a complex state, another device) the steps take the layer's own path.

    Args:
        layer: an `el.RNN` or `el.GRU` in one direction, any number of layers; run as in evaluation, without dropout.
        batch_size: how many sequences are fed side by side.

    >>> import torch, eigenloop as el
    >>> rnn = el.RNN(3, 8).eval()
    >>> x = torch.randn(100, 2, 3)
    >>> stream = el.Stream(rnn, batch_size=2)
    >>> outs = [stream(step) for step in x]
    >>> torch.allclose(torch.stack(outs), rnn(x)[0], atol=1e-5)
    True
    """

    def __init__(self, layer: RecurrentLayer, batch_size: int = 1) -> None:
        if not isinstance(layer, RecurrentLayer):
            raise TypeError(f"Stream takes an el.RNN or el.GRU, got {type(layer).__name__}: for a Model, its .rnn")
        if layer.bidirectional:
            raise ValueError("a bidirectional layer needs the whole sequence before its first output: call it instead")
        if batch_size < 1:
            raise ValueError(f"batch_size must be at least 1, got {batch_size}")
        self._layer = copy.deepcopy(layer).eval()
        for module in self._layer.modules():
            if isinstance(module, Holder):
                module._hold_(True)
        self._shape = (batch_size, layer.input_size)
        self._x = torch.zeros(1, *self._shape, dtype=layer.state_dtype, device=layer.device)
        self._states = [self._x.new_zeros(batch_size, n) for n in layer.hidden_sizes]
        self._calls: list[kernel.Recorded] = []
        self.reset()
        with kernel.recording() as self._calls:
            self._out, self._finals = self._run()
        if len(self._calls) != layer.num_layers:
            self._calls = []

    @torch.no_grad()
    def _run(self) -> tuple[Tensor, list[Tensor]]:
        """Make one step the long way; its tensors are what the recorded calls read and write."""
        out, finals = self._x, []
        for (_, _, cell), h in zip(self._layer._cells(), self._states, strict=True):
            out, h_n = self._layer._run(cell, out, h, None, False)
            finals.append(h_n)
        return out, finals

    def __call__(self, x: Tensor) -> Tensor:
        """Feed one input to each sequence, (batch_size, input_size), and return the last layer's new state."""
        if x.shape != self._shape:
            raise RuntimeError(f"a step of this stream takes an input of shape {self._shape}, got {tuple(x.shape)}")
        self._x[0].copy_(x.detach())
        if self._calls:
            for call in self._calls:
                call()
        else:
            self._out, self._finals = self._run()
        for state, final in zip(self._states, self._finals, strict=True):
            state.copy_(final)
        return self._out[0].clone()

    @property
    def state(self) -> Tensor | tuple[Tensor, ...]:
        """The carried state, a copy in the form of the layer's `h_n`."""
        states = [state.clone() for state in self._states]
        return join_state(states, 1, isinstance(self._layer.hidden_size, int), True)

    @torch.no_grad()
    def reset(self, hx: State | None = None) -> None:
        """Start again, from the layer's initial state or from `hx`, in the form of the layer's."""
        layer, batch = self._layer, self._shape[0]
        initial = layer._initial(hx, batch, True, self._x.dtype)
        for state, value in zip(self._states, initial, strict=True):
            state.copy_(value)
