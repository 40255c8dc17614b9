"""The state of any recurrent layer as one real vector."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from eigenloop.layers.base import RecurrentLayer
from eigenloop.matrices import LongShort

Layer = RecurrentLayer | nn.RNNBase


class Flat:
    """A recurrent layer whose state is one real (B, N) tensor: the states of all its layers, then an LSTM's cells.

    A complex unit gives two entries, its real and its imaginary part.
    """

    def __init__(self, rnn: Layer) -> None:
        if rnn.bidirectional:
            raise ValueError("a bidirectional layer does not go step by step: use one with bidirectional=False")
        self.rnn = rnn
        self.sizes = sizes_of(rnn)
        self.complex = isinstance(rnn, RecurrentLayer) and rnn.state_dtype.is_complex
        self.carried = rnn.CARRIED if isinstance(rnn, RecurrentLayer) else ("h0", "c0")[: 1 + isinstance(rnn, nn.LSTM)]
        self.copies = len(self.carried)

    @property
    def size(self) -> int:
        """Return N."""
        return sum(self.sizes) * self.copies * (2 if self.complex else 1)

    def initial(self) -> Tensor:
        """Return the initial state, (N,): zero unless it is trained."""
        if getattr(self.rnn, "train_initial_state", False):
            names = [f"{name}_l{i}" for name in self.carried for i in range(len(self.sizes))]
            return torch.cat([self._real(getattr(self.rnn, name)[None]) for name in names], 1)[0]
        weight = next(self.rnn.parameters())
        return torch.zeros(self.size, dtype=weight.real.dtype, device=weight.device)

    def step(self, x: Tensor, state: Tensor) -> Tensor:
        """Return the state (B, N) after one step with input x (B, m) from `state` (B, N); differentiable."""
        _, after = self.rnn(x[:, None] if self.rnn.batch_first else x[None], self._given(state))
        return torch.cat([self._real(layer) for layer in _single(after)], dim=1)

    def _given(self, state: Tensor) -> Any:
        """Convert (B, N) to the form in which the layer takes its state."""
        if self.complex:
            state = torch.view_as_complex(state.unflatten(1, (-1, 2)).contiguous())
        layers = state.split(self.sizes * self.copies, dim=1)
        count = len(self.sizes)
        parts = [layers[i * count : (i + 1) * count] for i in range(self.copies)]
        uniform = isinstance(self.rnn.hidden_size, int)
        given = [torch.stack(part) if uniform else [layer[None] for layer in part] for part in parts]
        return given[0] if self.copies == 1 else tuple(given)

    @staticmethod
    def _real(h: Tensor) -> Tensor:
        return torch.view_as_real(h).flatten(1) if h.is_complex() else h


def _single(state: Any) -> list[Tensor]:
    """Return the (B, n) tensors that make up a state, whatever its form."""
    if isinstance(state, Tensor):
        return list(state) if state.dim() == 3 else [state]
    return [part for one in state for part in _single(one)]


def sizes_of(rnn: Layer) -> list[int]:
    """Return the hidden size of each layer."""
    return list(rnn.hidden_sizes) if isinstance(rnn, RecurrentLayer) else [rnn.hidden_size] * rnn.num_layers


def parts_of(rnn: Layer) -> dict[str, slice]:
    """Return the named parts of the flat state: layers, ENRNN's long and short-term parts, an LSTM's h and c."""
    parts: dict[str, slice] = {}
    flat = Flat(rnn)
    width = 2 if flat.complex else 1
    start = 0
    for copy in range(flat.copies):
        for layer, size in enumerate(flat.sizes):
            names = {"": size}
            matrix = getattr(rnn, f"recurrent_l{layer}", None)
            if isinstance(matrix, LongShort) and 0 < matrix.short_size < size:
                names = {"long": size - matrix.short_size, "short": matrix.short_size}
            elif flat.copies == 2:
                names = {("hidden", "cell")[copy]: size}
            for name, count in names.items():
                prefix = f"layer {layer + 1}" if len(flat.sizes) > 1 else ""
                parts[" ".join(filter(None, (prefix, name))) or "state"] = slice(start, start + count * width)
                start += count * width
    return parts
