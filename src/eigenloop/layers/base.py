"""What el.RNN, el.GRU and el.LSTM share: layers and directions, every input torch takes, torch's state_dict."""

from __future__ import annotations

import copy
import math
from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from typing import Any, ClassVar

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import PackedSequence

from eigenloop import dtypes, initializers
from eigenloop.layers import options
from eigenloop.layers.dropout import locked_dropout
from eigenloop.layers.sequences import Lengths, arrange
from eigenloop.layers.states import State, join_state, split_state
from eigenloop.matrices import Matrix
from eigenloop.matrices.base import full_precision
from eigenloop.quantization import Quantizer
from eigenloop.quantization.layer import QuantizableLayer

#: What a cell carries from step to step: its state, and the cell of an LSTM; each (B, n).
Carried = tuple[Tensor, ...]


class RecurrentLayer(QuantizableLayer):
    """A stack of recurrences over time with torch's shapes and rules.

    One layer in one direction is a *cell*; its names end in ``_l0``, ``_l0_reverse``, ``_l1``, ... A subclass
    makes the parameters of a cell in `_add_cell` and runs it in `_run`.
    """

    #: The names of what a cell carries, as those of trained initial states.
    CARRIED: ClassVar[tuple[str, ...]] = ("h0",)
    #: What `Model` reads of a complex state unless it is told: its ``"real"`` part or ``"both"`` parts.
    complex_readout: str = "real"

    def __init__(
        self,
        input_size: int,
        hidden_size: int | Sequence[int],
        num_layers: int,
        bias: bool,
        batch_first: bool,
        dropout: float,
        bidirectional: bool,
        train_initial_state: bool,
        locked_dropout: bool,
        quantizer: Quantizer | None,
    ) -> None:
        super().__init__()
        options.whole_number("input_size", input_size)
        self.hidden_sizes = options.hidden_sizes(hidden_size, num_layers)
        self.hidden_size = hidden_size if isinstance(hidden_size, int) else self.hidden_sizes
        self.input_size, self.num_layers = input_size, len(self.hidden_sizes)
        self.bias, self.batch_first, self.bidirectional = bias, batch_first, bidirectional
        self.dropout = options.check_dropout(dropout, self.num_layers)
        self.train_initial_state, self.locked_dropout = train_initial_state, locked_dropout
        self.quantizer = quantizer
        self._cell_table = tuple(
            (layer, reverse, f"_l{layer}" + "_reverse" * reverse)
            for layer in range(self.num_layers)
            for reverse in (False, True)[: self._directions]
        )

    # ---------------------------------------------------------------- what a subclass writes

    @property
    @abstractmethod
    def recurrence(self) -> str:
        """The name of what is computed over time, as `eigenloop.numerics` lists it."""

    @abstractmethod
    def _run(
        self, cell: str, x: Tensor, state: Carried, lengths: Tensor | None, reverse: bool
    ) -> tuple[Tensor, Carried]:
        """Run a cell: (T, B, m) and what it carries give the states (T, B, n) and what it carries in the end."""

    @abstractmethod
    def _input_weight(self, cell: str) -> Tensor | None:
        """Return a cell's U as the recurrence takes it, quantized where it is; None where x enters as it is."""

    @abstractmethod
    def _weight_hh(self, cell: str) -> Tensor:
        """Build a cell's recurrent matrix as torch's ``weight_hh`` holds it."""

    @abstractmethod
    def _assign_weight_hh(self, matrices: nn.Module, weight: Tensor) -> None:
        """Set a cell's matrices so that they build torch's ``weight_hh``."""

    @abstractmethod
    def _difference_from_torch(self) -> str | None:
        """Say what torch's layer of the same name lacks, or None if it computes the same."""

    # ---------------------------------------------------------------- parameters

    @property
    def _directions(self) -> int:
        return 2 if self.bidirectional else 1

    def _cells(self) -> tuple[tuple[int, bool, str], ...]:
        """Return layer, direction and the ending of its names for each cell, in torch's order."""
        return self._cell_table

    def _sizes(self, layer: int) -> tuple[int, int]:
        """Return input and hidden size of a layer."""
        m = self.input_size if layer == 0 else self._directions * self.hidden_sizes[layer - 1]
        return m, self.hidden_sizes[layer]

    def _add_parameters(
        self, device: torch.device | str | None, shapes: dict[str, tuple[tuple[int, ...], torch.dtype]]
    ) -> None:
        for name, (shape, dtype) in shapes.items():
            self.register_parameter(name, nn.Parameter(torch.empty(shape, device=device, dtype=dtype)))

    @torch.no_grad()
    def reset_parameters(self, generator: torch.Generator | None = None) -> None:
        """Draw U and additive biases from U(-1/sqrt n, 1/sqrt n) as torch does; modReLU's b and h0 start at 0.

        The matrices are left as they are: they started in their own way when they were made.
        """
        for layer, _, cell in self._cells():
            bound = 1 / math.sqrt(self.hidden_sizes[layer])
            for name in ("weight_ih", "bias_ih", "bias_hh"):
                parameter = getattr(self, name + cell, None)
                if parameter is not None:
                    initializers.fill_uniform_(parameter, -bound, bound, generator)
            for name in ("bias", *self.CARRIED):
                if hasattr(self, name + cell):
                    getattr(self, name + cell).zero_()

    def _cell_name(self, layer: int, reverse: bool) -> str:
        for found, direction, cell in self._cells():
            if (found, direction) == (layer, reverse):
                return cell
        raise IndexError(
            f"there is no layer {layer} with reverse={reverse}: this network has layers 0..{self.num_layers - 1}"
            + (" in both directions" if self.bidirectional else " and bidirectional=False")
        )

    def _matrices(self) -> Iterator[Matrix]:
        """Yield the outermost matrices: those that the recurrence multiplies with."""
        for _, _, cell in self._cells():
            found = getattr(self, f"recurrent{cell}")
            yield from ([found] if isinstance(found, Matrix) else found.values())

    @property
    def state_dtype(self) -> torch.dtype:
        """The dtype of the state, complex if W is."""
        return next(self._matrices()).dtype

    @property
    def device(self) -> torch.device:
        """The device of the weights."""
        return next(self._matrices()).device

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> RecurrentLayer:
        """Convert parameters, complex ones to complex and real ones to real."""
        super()._apply(dtypes.keeping_kind(fn), recurse)
        return self

    def penalty(self) -> Tensor:
        """Return the sum of what the matrices' papers, and STE-pen's, add to the loss; zero for most."""
        total = torch.stack([matrix.penalty() for matrix in self._matrices()]).sum()
        quantizer = self.active_quantizer()
        if quantizer is not None and quantizer.penalty:
            for quantized in self.quantized_matrices():
                total = total + quantizer.distance(quantized)
        return total

    def flatten_parameters(self) -> None:
        """Do nothing, for code written for torch.nn.RNN: there are no flat weights here."""

    # ---------------------------------------------------------------- forward

    def forward(
        self, input: Tensor | PackedSequence, hx: Any = None, *, lengths: Lengths | None = None
    ) -> tuple[Any, Any]:
        """Run the network over time.

        Args:
            input: (T, B, input_size), (B, T, input_size) with ``batch_first``, (T, input_size) for a single
                sequence, or a PackedSequence.
            hx: initial state (layers * directions, B, n), without B for a single sequence; a list with one
                (directions, B, n_l) tensor a layer where `hidden_size` is a tuple. An LSTM takes a pair of these,
                (h, c). Zeros, or the trained initial state, if left out.
            lengths: valid steps of each sequence, (B,), for a padded batch. As a PackedSequence would, the
                state stops there, the reverse direction starts there, and the output is zero beyond.

        Returns:
            The states of the last layer in the form of the input, and the final states in the form of `hx`.
        """
        if torch.jit.is_tracing():  # type: ignore[attr-defined]
            raise RuntimeError(
                f"torch.jit.trace would record this {type(self).__name__} as a constant that ignores its input: use "
                "torch.export.export(model.eval(), (input,)), or torch.compile"
            )
        batch = arrange(input, lengths, self.batch_first, type(self).__name__)
        dtype = self.state_dtype
        x = self._checked(batch.x, dtype)
        initial = self._initial(hx, x.shape[1], batch.batched, dtype)
        final: list[Carried] = []
        outs: list[Tensor] = []
        with full_precision(x.device):
            for (layer, reverse, cell), state in zip(self._cells(), initial, strict=True):
                if layer > 0 and not reverse:
                    x = self._dropped(_joined(outs))
                    outs = []
                out, carried = self._run(cell, x, state, batch.lengths, reverse)
                outs.append(out)
                final.append(carried)
        return batch.restore(_joined(outs)), self._final(final, batch.batched)

    def _dropped(self, x: Tensor) -> Tensor:
        """Apply the dropout between layers, x being (T, B, features)."""
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
        """Return what each cell begins with."""
        if hx is not None:
            uniform = isinstance(self.hidden_size, int)
            split = (
                split_state(one, self.hidden_sizes, self._directions, uniform, batch, batched)
                for one in self._given_states(hx)
            )
            parts = ([_converted(h, dtype, "the initial state", "hx", dtype) for h in cells] for cells in split)
            return list(zip(*parts, strict=True))
        if self.train_initial_state:
            return [
                tuple(getattr(self, name + cell).expand(batch, -1) for name in self.CARRIED)
                for _, _, cell in self._cells()
            ]
        sizes = (self.hidden_sizes[layer] for layer, _, _ in self._cells())
        return [tuple(torch.zeros(batch, n, dtype=dtype, device=self.device) for _ in self.CARRIED) for n in sizes]

    def _given_states(self, hx: Any) -> Sequence[State]:
        """Return a given state as one entry for each thing that a cell carries."""
        if len(self.CARRIED) == 1:
            return (hx,)
        if not isinstance(hx, (tuple, list)) or len(hx) != len(self.CARRIED):
            given = f"{len(hx)} of them" if isinstance(hx, (tuple, list)) else f"one {type(hx).__name__}"
            raise TypeError(f"the initial state of an {type(self).__name__} is a pair (h_0, c_0), got {given}")
        return hx

    def _final(self, carried: Sequence[Carried], batched: bool) -> Any:
        """Put what the cells carry in the end into the form of `hx`."""
        uniform = isinstance(self.hidden_size, int)
        joined = tuple(join_state(parts, self._directions, uniform, batched) for parts in zip(*carried, strict=True))
        return joined[0] if len(joined) == 1 else joined

    # ---------------------------------------------------------------- torch's state_dict

    def torch_state_dict(self) -> dict[str, Tensor]:
        """Return the state_dict of the torch.nn layer that computes the same.

        Of a quantized layer these are q(U) and q(W), which the torch.nn layer holds in floating point; one that is
        quantized in evaluation only gives them in evaluation.

        >>> import torch, eigenloop as el
        >>> ours = el.RNN(3, 5, nonlinearity="tanh")
        >>> torch.nn.RNN(3, 5).load_state_dict(ours.torch_state_dict())
        <All keys matched successfully>
        """
        difference = self._difference_from_torch()
        if difference is not None:
            raise ValueError(f"no layer of torch.nn computes the same: {difference}")
        result = {}
        with torch.no_grad():
            for _, _, cell in self._cells():
                U = self._input_weight(cell)
                assert U is not None  # torch's layers have one, so another was refused above
                result[f"weight_ih{cell}"] = U.detach().clone()
                result[f"weight_hh{cell}"] = self._weight_hh(cell).detach().clone()
                for name in ("bias_ih", "bias_hh") * bool(self.bias):
                    result[name + cell] = getattr(self, name + cell).detach().clone()
        return result

    def _load_from_state_dict(
        self,
        state_dict: dict[str, Any],
        prefix: str,
        local_metadata: dict[str, Any],
        strict: bool,
        missing_keys: list[str],
        unexpected_keys: list[str],
        error_msgs: list[str],
    ) -> None:
        """Load torch's own dict too: ``weight_hh_l0`` goes through `assign_` and becomes ``recurrent_l0.*``."""
        for _, _, cell in self._cells():
            theirs, ours = f"{prefix}weight_hh{cell}", f"{prefix}recurrent{cell}."
            if theirs not in state_dict or any(key.startswith(ours) for key in state_dict):
                continue
            weight = state_dict.pop(theirs)
            try:
                found = copy.deepcopy(getattr(self, f"recurrent{cell}"))
                if local_metadata.get("assign_to_params_buffers") and isinstance(weight, Tensor):
                    found = _taken_to(found, weight)
                self._assign_weight_hh(found, weight)
            except (ValueError, TypeError) as error:
                error_msgs.append(f"{prefix}weight_hh{cell}: {error}")
                found = getattr(self, f"recurrent{cell}")
            for name, tensor in found.state_dict().items():
                state_dict[f"{prefix}recurrent{cell}.{name}"] = tensor
        super()._load_from_state_dict(
            state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs
        )

    def _shown(self, defaults: dict[str, Any]) -> str:
        """Describe the layer by its sizes and what differs from the defaults."""
        defaults = {
            **defaults,
            "bias": True,
            "batch_first": False,
            "dropout": 0.0,
            "bidirectional": False,
            "train_initial_state": False,
            "locked_dropout": False,
            "quantizer": None,
        }
        shown = [str(self.input_size), str(self.hidden_size)]
        if isinstance(self.hidden_size, int) and self.num_layers > 1:
            shown.append(f"num_layers={self.num_layers}")
        shown += [f"{k}={getattr(self, k)!r}" for k, v in defaults.items() if getattr(self, k) != v]
        return ", ".join(shown)


def _taken_to(matrices: nn.Module, weight: Tensor) -> nn.Module:
    """Bring matrices to the device and dtype of a weight that they are to build; from the meta device too."""
    if not weight.is_meta and any(parameter.is_meta for parameter in matrices.parameters()):
        if any(True for _ in matrices.buffers()):
            raise ValueError(
                "the constrained matrix of this layer is on the meta device, where it has no values, and torch's dict "
                "holds only some of them: build the layer on the CPU, or load a state_dict of its own"
            )
        matrices = matrices.to_empty(device=weight.device)
    return matrices.to(weight.device, weight.dtype)


def _autocast(device: torch.device) -> bool:
    return device.type != "meta" and torch.is_autocast_enabled(device.type)


def _joined(directions: list[Tensor]) -> Tensor:
    """Put the outputs of a layer's directions side by side."""
    return directions[0] if len(directions) == 1 else torch.cat(directions, dim=-1)


def _converted(x: Tensor, dtype: torch.dtype, what: str, argument: str, fix: torch.dtype) -> Tensor:
    """Bring a tensor to the dtype of the state; refuse one of another precision, except under autocast."""
    if x.dtype == dtype:
        return x
    if x.is_floating_point() and _autocast(x.device):
        return x.to(dtype)  # what came before may have run in autocast's precision; this layer does not
    if x.dtype != dtypes.real(dtype):
        other = f", or the layer with .to({dtypes.real(x.dtype)})" if x.is_floating_point() else ""
        raise ValueError(
            f"{what} is {x.dtype} and its weights are {dtype}: convert it with {argument}.to({fix}){other}"
        )
    return x.to(dtype)
