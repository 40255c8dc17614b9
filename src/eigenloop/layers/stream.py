"""el.Stream: runs a network one time step at a time, with little overhead besides the arithmetic."""

from __future__ import annotations

import copy
from typing import Any

import torch
from torch import Tensor, nn

from eigenloop.layers.base import Carried, RecurrentLayer
from eigenloop.matrices.cache import Holder
from eigenloop.quantization.readout import QuantizableReadout
from eigenloop.recurrence import kernel_calls


class Stream:
    """Runs a network on one input at a time and keeps its hidden state; for inference.

    A stream uses a copy of the network's weights: W is built once, the first step is recorded, and every further step
    repeats the same kernel call on the same memory. Later changes to the network have no effect on it. Where the
    kernel is not available (other devices or precisions) each step runs the layer as usual. A copied or unpickled
    stream is independent, and continues from the state at the time of copying.

    Args:
        network: an `el.RNN`, `el.GRU`, `el.LSTM` or `el.FastGRNN` in one direction, with any number of layers, or an
            `el.Model` of one, which then returns an output at every step: with ``pool="mean"`` or ``"max"`` that of all
            steps since the last reset. It runs in evaluation mode, without dropout.
        batch_size: number of parallel sequences.

    Raises:
        ValueError: the layer is bidirectional, or `batch_size` is below 1.

    >>> import torch, eigenloop as el
    >>> rnn = el.RNN(3, 8).eval()
    >>> x = torch.randn(100, 2, 3)
    >>> stream = el.Stream(rnn, batch_size=2)
    >>> outs = [stream(step) for step in x]
    >>> torch.allclose(torch.stack(outs), rnn(x)[0], atol=1e-5)
    True
    """

    @torch.inference_mode(False)  # buffers made inside inference mode could not be written outside of it
    def __init__(self, network: nn.Module, batch_size: int = 1) -> None:
        given = network if isinstance(network, RecurrentLayer) else getattr(network, "rnn", None)
        reads = given is network or isinstance(network, QuantizableReadout)  # a Model
        if not isinstance(given, RecurrentLayer) or not reads:
            raise TypeError(f"Stream takes an el.RNN, el.GRU, el.LSTM or el.Model, got {type(network).__name__}")
        if given.bidirectional:
            raise ValueError("a bidirectional layer needs the whole sequence before its first output: call it instead")
        if batch_size < 1:
            raise ValueError(f"batch_size must be at least 1, got {batch_size}")
        copied: Any = copy.deepcopy(network).eval()
        for module in copied.modules():
            if isinstance(module, Holder):
                module._hold_(True)
        self._model: Any = None if isinstance(copied, RecurrentLayer) else copied
        self._layer: RecurrentLayer = copied if self._model is None else copied.rnn
        layer = self._layer
        self._embeds = getattr(self._model, "embedding", None) is not None
        self._shape = (batch_size,) if self._embeds else (batch_size, layer.input_size)
        self._x = torch.zeros(1, batch_size, layer.input_size, dtype=layer.state_dtype, device=layer.device)
        self._states: list[Carried] = [
            tuple(self._x.new_zeros(batch_size, n) for _ in layer.CARRIED) for n in layer.hidden_sizes
        ]
        self._calls: list[kernel_calls.Recorded] = []
        self._pool = None if self._model is None else self._model.running_pool()
        self.reset()
        with torch.no_grad():
            self._V = None if self._model is None else self._model.readout_weight()
        with kernel_calls.recording() as self._calls:
            self._out, self._finals = self._run()
        if len(self._calls) != layer.num_layers:
            self._calls = []
        elif layer.state_quantizer is not None and not self._calls[0].takes(self._x):
            self._calls = []  # without U the input is rounded before the kernel, which would read an outdated copy

    def __reduce__(self) -> tuple[Any, ...]:
        # The recorded calls hold addresses of this stream's memory, so a copy must record its own.
        network = self._layer if self._model is None else self._model
        return _restored, (network, self._shape[0], self.state, copy.deepcopy(self._pool))

    @torch.no_grad()
    def _run(self) -> tuple[Tensor, list[Carried]]:
        """Run one step through the layer; recorded calls read and write the tensors of this step."""
        out, finals = self._x, []
        held = self._layer._held_weights()
        weights = self._layer._built_weights() if held is None else held.weights
        for cell, state in zip(weights, self._states, strict=True):
            out, final = self._layer._run(cell, out, state, None, False)
            finals.append(final)
        return out, finals

    @torch.no_grad()
    def __call__(self, x: Tensor) -> Tensor:
        """Run one time step; return the new state of the last layer (batch_size, n), or the outputs of a Model.

        Args:
            x: (batch_size, input_size), or the tokens of a Model with an embedding, (batch_size,).

        Raises:
            RuntimeError: x has another shape.
            ValueError: x has another precision than the weights.
        """
        if x.shape != self._shape:
            raise RuntimeError(f"a step of this stream takes an input of shape {self._shape}, got {tuple(x.shape)}")
        entered = x if self._model is None else self._model.entered(x)
        if entered.dtype != self._x.dtype:
            entered = self._layer._checked(entered, self._x.dtype)
        self._x[0].copy_(entered)
        if self._calls:
            for call in self._calls:
                call()
        else:
            self._out, self._finals = self._run()
        for state, final in zip(self._states, self._finals, strict=True):
            for kept, new in zip(state, final, strict=True):
                kept.copy_(new)
        out = self._out[0]
        if self._model is None:
            return out.clone()
        return self._model.read(out if self._pool is None else self._pool(self._model.real_features(out)), self._V)

    @property
    def state(self) -> Any:
        """A copy of the hidden state, in the form of the layer's `h_n`, or (h_n, c_n) for an LSTM."""
        return self._layer._final([tuple(part.clone() for part in state) for state in self._states], True)

    @torch.no_grad()
    def reset(self, hx: Any = None) -> None:
        """Restart from the layer's initial state, or from `hx` in the form that the layer takes."""
        initial = self._layer._initial(hx, self._shape[0], True, self._x.dtype)
        if self._pool is not None:
            self._pool.reset()
        for state, given in zip(self._states, initial, strict=True):
            for kept, value in zip(state, given, strict=True):
                kept.copy_(value)


def _restored(network: nn.Module, batch_size: int, state: Any, pool: Any = None) -> Stream:
    """Return a new stream that continues from a state and from what was pooled so far."""
    stream = Stream(network, batch_size)
    stream.reset(state)
    if pool is not None:
        stream._pool = pool
    return stream
