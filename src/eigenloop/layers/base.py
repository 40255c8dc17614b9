"""The base of all recurrent layers: torch's input and output formats, and the loop over layers and directions."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import PackedSequence

from eigenloop import dtypes
from eigenloop.layers.cells import CellWeights, HeldWeights
from eigenloop.layers.dropout import locked_dropout
from eigenloop.layers.sequences import Lengths, arrange
from eigenloop.layers.states import State, join_state, split_state
from eigenloop.layers.torch_dict import TorchDict
from eigenloop.matrices.base import full_precision
from eigenloop.recurrence import kernel_calls
from eigenloop.recurrence.replay import replay_of
from eigenloop.recurrence.time import valid_steps

#: The tensors that a cell carries from step to step, each (B, n): its state, and in an LSTM also c.
Carried = tuple[Tensor, ...]


class RecurrentLayer(TorchDict):
    """A stack of recurrences over time with torch's shapes and conventions.

    One layer in one direction is called a *cell*. A subclass creates the parameters of its cells, builds the weights of
    a cell in `_cell_weights` and runs it in `_run`.
    """

    #: The default `complex_readout` of a `Model` on this layer: ``"real"`` or ``"both"`` parts of a complex state.
    complex_readout: str = "real"

    # ---------------------------------------------------------------- implemented by subclasses

    @property
    @abstractmethod
    def recurrence(self) -> str:
        """The name of the recurrence, as in `eigenloop.numerics`."""

    @abstractmethod
    def _run(
        self, weights: CellWeights, x: Tensor, state: Carried, lengths: Tensor | None, reverse: bool
    ) -> tuple[Tensor, Carried]:
        """Run a cell on x (T, B, m) from its initial state; return all states (T, B, n) and the final state."""

    # ---------------------------------------------------------------- forward

    def forward(
        self, input: Tensor | PackedSequence, hx: Any = None, *, lengths: Lengths | None = None
    ) -> tuple[Any, Any]:
        """Run the layer over time.

        Args:
            input: (T, B, input_size), (B, T, input_size) with ``batch_first``, (T, input_size) for a single
                sequence, or a PackedSequence.
            hx: initial state (layers * directions, B, n), without B for a single sequence; a list with one
                (directions, B, n_l) tensor per layer if `hidden_size` is a tuple. An LSTM takes a pair of these,
                (h, c). Default: zeros, or the trained initial state.
            lengths: valid steps of each sequence, (B,), for a padded batch. As with a PackedSequence, the state stops
                changing there, the reverse direction starts there, and the output is zero beyond.

        Returns:
            The states of the last layer in the layout of the input, and the final states in the layout of `hx`.

        Raises:
            RuntimeError: the input has the wrong number of features, or torch.jit.trace is active.
            ValueError: the input or `hx` has another precision than the weights.
        """
        if torch.jit.is_tracing():  # type: ignore[attr-defined]
            raise RuntimeError(
                f"torch.jit.trace would record this {type(self).__name__} as a constant that ignores its input: use "
                "torch.export.export(model.eval(), (input,)), or torch.compile"
            )
        batch = arrange(input, lengths, self.batch_first, type(self).__name__)
        held = self._held_weights()
        dtype = self.state_dtype if held is None else held.weights[0].W.dtype
        x = self._checked(batch.x, dtype)
        initial = self._initial(hx, x.shape[1], batch.batched, dtype)
        final: list[Carried] = []
        outs: list[Tensor] = []
        with full_precision(x.device):
            weights = self._built_weights() if held is None else held.weights
            for number, ((layer, reverse, _), state) in enumerate(zip(self._cells(), initial, strict=True)):
                if layer > 0 and not reverse:
                    x = self._dropped(_joined(outs))
                    outs = []
                if held is not None and batch.lengths is None and len(x) == 1:
                    out, carried = self._step(held, number, x, state)
                else:
                    out, carried = self._run(weights[number], x, state, batch.lengths, reverse)
                if self.observed is not None:
                    self._observe_cell(number, weights[number], x, state, batch.lengths, out)
                outs.append(out)
                final.append(carried)
        return batch.restore(_joined(outs)), self._final(final, batch.batched)

    def _step(self, held: HeldWeights, number: int, x: Tensor, state: Carried) -> tuple[Tensor, Carried]:
        """Run a cell over one time step with held weights, by repeating the recorded step if it has the same form."""
        replay = held.replays[number]
        repeated = None if replay is None else replay(x, state)
        if repeated is not None:
            return repeated
        with kernel_calls.recording() as calls:
            out, carried = self._run(held.weights[number], x, state, None, False)
        held.replays[number] = replay_of(calls, x, state, out)
        return out, carried

    def _observe_cell(
        self, number: int, weights: CellWeights, x: Tensor, state: Carried, lengths: Tensor | None, out: Tensor
    ) -> None:
        """Record the values from which the ranges of a cell are chosen: those of valid steps."""
        layer, _, cell = self._cells()[number]
        valid = slice(None) if lengths is None else valid_steps(lengths, len(x)).squeeze(-1)
        if layer == 0:
            self._observe("input_range", x[valid])
        self._observe(f"{self._RANGE}{cell}", out[valid])

    def _dropped(self, x: Tensor) -> Tensor:
        """Apply the dropout between layers to x, (T, B, features)."""
        if self.locked_dropout and self.training and self.dropout:
            return locked_dropout(x, self.dropout, time=0)
        return nn.functional.dropout(x, self.dropout, self.training)

    def _checked(self, x: Tensor, dtype: torch.dtype) -> Tensor:
        name = type(self).__name__
        if x.shape[-1] != self.input_size:
            raise RuntimeError(
                f"the last dimension of the input is {x.shape[-1]}, but this {name} was built with "
                f"input_size={self.input_size}: give it (..., {self.input_size}) or build it with "
                f"input_size={x.shape[-1]}"
            )
        return _converted(x, dtype, f"the input of this {name}", "input", dtypes.real(dtype))

    def _initial(self, hx: Any, batch: int, batched: bool, dtype: torch.dtype) -> list[Carried]:
        """Return the initial state of each cell."""
        if hx is not None:
            uniform = isinstance(self.hidden_size, int)
            parts = []
            for one in self._given_states(hx):
                cells = split_state(one, self.hidden_sizes, self._directions, uniform, batch, batched)
                parts.append(
                    [h if h.dtype == dtype else _converted(h, dtype, "the initial state", "hx", dtype) for h in cells]
                )
            starts = list(zip(*parts, strict=True))
        elif self.train_initial_state:
            starts = [
                tuple(getattr(self, name + cell).expand(batch, -1) for name in self.CARRIED)
                for _, _, cell in self._cells()
            ]
        else:  # zeros need no rounding
            sizes = (self.hidden_sizes[layer] for layer, _, _ in self._cells())
            return [tuple(torch.zeros(batch, n, dtype=dtype, device=self.device) for _ in self.CARRIED) for n in sizes]
        if self.state_quantizer is None:
            return starts
        return [self._rounded_start(h, cell, k) for h, (k, _, cell) in zip(starts, self._cells(), strict=True)]

    def _given_states(self, hx: Any) -> Sequence[State]:
        """Return a given state as a sequence with one entry per name in `CARRIED`: (h,), or (h, c) for an LSTM."""
        if len(self.CARRIED) == 1:
            return (hx,)
        if not isinstance(hx, (tuple, list)) or len(hx) != len(self.CARRIED):
            given = f"{len(hx)} of them" if isinstance(hx, (tuple, list)) else f"one {type(hx).__name__}"
            raise TypeError(f"the initial state of an {type(self).__name__} is a pair (h_0, c_0), got {given}")
        return hx

    def _final(self, carried: Sequence[Carried], batched: bool) -> Any:
        """Convert the final states of the cells to the layout of `hx`."""
        uniform = isinstance(self.hidden_size, int)
        joined = tuple([join_state(parts, self._directions, uniform, batched) for parts in zip(*carried, strict=True)])
        return joined[0] if len(joined) == 1 else joined

    def _shown(self, defaults: dict[str, Any]) -> str:
        """Return the sizes and all options that differ from `defaults`, for `extra_repr`."""
        defaults = {
            **defaults,
            "bias": True,
            "batch_first": False,
            "dropout": 0.0,
            "bidirectional": False,
            "train_initial_state": False,
            "locked_dropout": False,
            "quantizer": None,
            "state_quantizer": None,
        }
        shown = [str(self.input_size), str(self.hidden_size)]
        if isinstance(self.hidden_size, int) and self.num_layers > 1:
            shown.append(f"num_layers={self.num_layers}")
        shown += [f"{k}={getattr(self, k)!r}" for k, v in defaults.items() if getattr(self, k) != v]
        return ", ".join(shown)


def _autocast(device: torch.device) -> bool:
    return device.type != "meta" and torch.is_autocast_enabled(device.type)


def _joined(directions: list[Tensor]) -> Tensor:
    """Concatenate the outputs of a layer's directions."""
    return directions[0] if len(directions) == 1 else torch.cat(directions, dim=-1)


def _converted(x: Tensor, dtype: torch.dtype, what: str, argument: str, fix: torch.dtype) -> Tensor:
    """Convert a tensor to the dtype of the state; raises ValueError if its precision differs, except in autocast."""
    if x.dtype == dtype:
        return x
    if x.is_floating_point() and _autocast(x.device):
        return x.to(dtype)  # earlier modules may have run in autocast's precision; this layer does not
    if x.dtype != dtypes.real(dtype):
        other = f", or the layer with .to({dtypes.real(x.dtype)})" if x.is_floating_point() else ""
        raise ValueError(
            f"{what} is {x.dtype} and its weights are {dtype}: convert it with {argument}.to({fix}){other}"
        )
    return x.to(dtype)
