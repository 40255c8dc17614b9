"""The cells of a recurrent layer, one for each layer and direction: sizes, names, parameters, matrices and weights."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from typing import Any, ClassVar, NamedTuple

import torch
from torch import Tensor, nn

from eigenloop import dtypes, initializers
from eigenloop.layers import options
from eigenloop.layers.rounded_state import RoundedState
from eigenloop.matrices import Matrix
from eigenloop.matrices.outermost import outermost
from eigenloop.matrices.snapshot import Snapshot
from eigenloop.quantization import Quantizer, StateQuantizer
from eigenloop.recurrence import kernel
from eigenloop.recurrence.replay import Replay


class CellWeights(NamedTuple):
    """The weights of a cell in the form that the recurrence takes; None for weights that it does not have.

    `step` and `input_step` are the quantization steps of its rounded state and of the first layer's input; `mixing`
    holds FastGRNN's zeta and nu.
    """

    input_weight: Tensor | None
    W: Tensor
    input_bias: Tensor | None
    bias: Tensor | None
    recurrent_bias: Tensor | None = None
    step: Tensor | None = None
    input_step: Tensor | None = None
    mixing: Tensor | None = None


class HeldWeights(NamedTuple):
    """The weights of all cells built inside `eigenloop.cached`, and what is needed to notice that they are outdated."""

    weights: tuple[CellWeights, ...]
    snapshot: Snapshot
    quantizer: Quantizer | None
    inference: bool
    replays: list[Replay | None]


class Cells(RoundedState):
    """A stack of cells, whose parameter names end in ``_l0``, ``_l0_reverse``, ``_l1``, ..."""

    #: What a cell carries from step to step, named like the trained initial states.
    CARRIED: ClassVar[tuple[str, ...]] = ("h0",)

    _holding: bool = False
    _held: HeldWeights | None = None

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
        self.quantizer, self.state_quantizer = quantizer, None
        self._cell_table = tuple(
            (layer, reverse, f"_l{layer}" + "_reverse" * reverse)
            for layer in range(self.num_layers)
            for reverse in (False, True)[: self._directions]
        )

    # ---------------------------------------------------------------- implemented by subclasses

    @abstractmethod
    def _input_weight(self, cell: str) -> Tensor | None:
        """Return a cell's U, quantized if the layer is; None if the layer has no U and x is added directly."""

    @abstractmethod
    def _weight_hh(self, cell: str) -> Tensor:
        """Build a cell's recurrent matrix in the layout of torch's ``weight_hh``."""

    @abstractmethod
    def _cell_weights(self, cell: str) -> CellWeights:
        """Build all weights of a cell."""

    # ---------------------------------------------------------------- names, parameters, matrices

    @property
    def _directions(self) -> int:
        return 2 if self.bidirectional else 1

    def _cells(self) -> tuple[tuple[int, bool, str], ...]:
        """Return the layer, whether it runs in reverse, and the suffix of the parameter names of each cell."""
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
        """Draw U and additive biases from U(-1/sqrt n, 1/sqrt n) as torch does; set modReLU's b and h0 to 0.

        The recurrent matrices are not changed: each is initialised when it is created.
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
        for number, direction, cell in self._cells():
            if (number, direction) == (layer, reverse):
                return cell
        raise IndexError(
            f"there is no layer {layer} with reverse={reverse}: this network has layers 0..{self.num_layers - 1}"
            + (" in both directions" if self.bidirectional else " and bidirectional=False")
        )

    def _matrices(self) -> Iterator[Matrix]:
        """Yield the matrices that the recurrence multiplies by, not those that are part of another matrix."""
        for _, matrix in outermost(self):
            yield matrix

    def cell_matrices(self) -> dict[str, dict[str, Matrix]]:
        """Return the recurrent matrices by cell (``"recurrent_l0"``) and gate (``".reset"``; ``""`` without gates)."""
        cells = {f"recurrent{cell}": getattr(self, f"recurrent{cell}") for _, _, cell in self._cells()}
        return {
            name: {f".{gate}" if gate else "": matrix for gate, matrix in outermost(cell)}
            for name, cell in cells.items()
        }

    @property
    def state_dtype(self) -> torch.dtype:
        """The dtype of the state, complex if W is."""
        return next(self._matrices()).dtype

    @property
    def device(self) -> torch.device:
        """The device of the weights."""
        return next(self._matrices()).device

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> Cells:
        """Convert parameters; complex ones stay complex and real ones real."""
        super()._apply(dtypes.keeping_kind(fn), recurse)
        return self

    def penalty(self) -> Tensor:
        """Return the penalty to add to the loss: the sum of the matrices' penalties and of STE-pen's; zero for most."""
        total = torch.stack([matrix.penalty() for matrix in self._matrices()]).sum()
        quantizer = self.active_quantizer()
        if quantizer is not None and quantizer.penalty:
            for quantized in self.quantized_matrices():
                total = total + quantizer.distance(quantized)
        return total

    def round_state_(self, quantizer: StateQuantizer | None) -> None:
        """Round input, state and gates with `quantizer` from now on, starting with its ranges; None: no rounding."""
        super().round_state_(quantizer)
        self._held = None

    def carried_sizes(self) -> dict[str, int]:
        """Return how many numbers each cell carries from step to step, by name; a complex number counts twice."""
        parts = 2 if self.state_dtype.is_complex else 1
        names = {"h0": "state", "c0": "cell"}
        return {
            names[name] + cell: parts * self.hidden_sizes[layer]
            for layer, _, cell in self._cells()
            for name in self.CARRIED
        }

    def flatten_parameters(self) -> None:
        """Do nothing; there are no flat weights here. For code written for torch.nn.RNN."""

    # ---------------------------------------------------------------- built and held weights

    def _built_weights(self) -> tuple[CellWeights, ...]:
        """Build the weights of all cells; inside `eigenloop.cached` they are held if no gradient is needed."""
        weights = tuple(
            self._cell_weights(cell)._replace(step=self._carried_step(cell, layer), input_step=self._input_step(layer))
            for layer, _, cell in self._cells()
        )
        if self._holding and self.observed is None and not torch.is_grad_enabled() and _plain(weights):
            inference = any(tensor is not None and tensor.is_inference() for cell in weights for tensor in cell)
            self._held = HeldWeights(weights, Snapshot(self), self.active_quantizer(), inference, [None] * len(weights))
        return weights

    def _held_weights(self) -> HeldWeights | None:
        """Return the held weights, or None if there are none or they are out of date."""
        held = self._held
        if held is None or self.observed is not None or torch.is_grad_enabled() or torch.compiler.is_compiling():
            return None
        usable = not held.inference or torch.is_inference_mode_enabled()
        if usable and held.quantizer is self.active_quantizer() and held.snapshot.unchanged():
            return held
        return None

    def _hold_(self, holding: bool) -> None:
        """Begin or end holding the built weights; to be called by `eigenloop.cached`."""
        self._holding = holding
        self._held = None

    def __getstate__(self) -> dict[str, Any]:
        # As in Matrix: a copied or unpickled layer is outside of `eigenloop.cached`.
        return {key: value for key, value in self.__dict__.items() if key not in ("_holding", "_held")}


def _plain(weights: Sequence[CellWeights]) -> bool:
    """Whether these are ordinary tensors that can be held: not traced, and not inside a torch.func transform."""
    return all(kernel.reachable(*cell) for cell in weights)
