"""el.RNN: torch.nn.RNN with the recurrent matrix of your choice."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from eigenloop import dtypes, recurrence
from eigenloop.layers import options
from eigenloop.layers.base import Carried, RecurrentLayer
from eigenloop.layers.cells import CellWeights
from eigenloop.matrices import Matrix
from eigenloop.quantization import Quantizer, StateQuantizer
from eigenloop.quantization.layer_quantizer import made_quantizer
from eigenloop.quantization.state_quantizer import made_state_quantizer


class RNN(RecurrentLayer):
    """h_t = f(W h_{t-1} + U x_t) with W trained inside a set; a drop-in replacement for torch.nn.RNN.

    Args:
        input_size: features of x.
        hidden_size: n, or a tuple with one entry per layer.
        num_layers: number of layers; leave it out if `hidden_size` is a tuple.
        nonlinearity: ``"modrelu"``, ``"relu"``, ``"leaky_relu"``, ``"tanh"``, ``"identity"``, or a registered one.
        bias: with modrelu one ``bias_l0``, modReLU's threshold; otherwise torch's ``bias_ih_l0`` and ``bias_hh_l0``.
        batch_first: inputs and outputs are (B, T, features).
        dropout: probability of dropping an output of every layer but the last, in training.
        bidirectional: add a second recurrence that runs from the last step to the first.
        recurrent: name of a matrix (a key of `eigenloop.matrices.NAMES`) or a callable ``n -> matrix``; each layer and
            direction gets its own.
        input_bias: add a ``bias_ih_l0`` to U x even where `bias` does not.
        input_weight: ``"trained"``, or ``"identity"`` for U = I (ENRNN on Penn Treebank), with input_size = n.
        negative_slope: slope of leaky_relu below zero.
        train_initial_state: train h0 (``h0_l0``), used when no initial state is given.
        locked_dropout: drop the same features at all steps of a sequence (AWD-LSTM) instead of new ones at every step.
        bits: quantize every U and every recurrent matrix to this many bits, 2 to 16, each with its own step; pass a
            `quantization.Quantizer` for further options.
        around_identity: the quantized recurrent matrix is I + q(W - I).
        state_bits: round input and state to this many bits at every step, 6 to 16; pass a
            `quantization.StateQuantizer` for further options.
        generator: for reproducible draws of U, and of W where `recurrent` is a name.

    >>> rnn = RNN(10, 16, recurrent="cayley")
    >>> out, h_n = rnn(torch.randn(7, 2, 10))
    >>> out.shape, h_n.shape
    (torch.Size([7, 2, 16]), torch.Size([1, 2, 16]))
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int | Sequence[int],
        num_layers: int = 1,
        nonlinearity: str = "modrelu",
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        *,
        recurrent: options.Recurrent = "cayley",
        input_bias: bool = False,
        input_weight: str = "trained",
        negative_slope: float = 0.01,
        train_initial_state: bool = False,
        locked_dropout: bool = False,
        bits: int | Quantizer | None = None,
        around_identity: bool = False,
        state_bits: int | StateQuantizer | None = None,
        generator: torch.Generator | None = None,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__(
            input_size,
            hidden_size,
            num_layers,
            bias,
            batch_first,
            dropout,
            bidirectional,
            train_initial_state,
            locked_dropout,
            made_quantizer(bits, around_identity),
        )
        options.registered("nonlinearity", nonlinearity, recurrence.ACTIVATIONS)
        options.check_slope(negative_slope)
        options.one_of("input_weight", input_weight, ("trained", "identity"))
        self.input_weight = input_weight
        self.nonlinearity, self.input_bias, self.negative_slope = nonlinearity, input_bias, negative_slope
        real = options.real_dtype(dtype)
        for layer, _, cell in self._cells():
            m, n = self._sizes(layer)
            matrix = options.make_matrix(recurrent, n, generator, device, real)
            if matrix.is_complex:
                self._check_complex()
                if self.quantizer is not None:
                    raise ValueError("bits= quantizes real matrices, and this one is complex: leave bits out")
            self._add_cell(cell, m, n, device, real, dtypes.complex(real) if matrix.is_complex else real)
            self.add_module(f"recurrent{cell}", matrix)
        self.round_state_(made_state_quantizer(state_bits))
        self.reset_parameters(generator)

    def _add_cell(
        self,
        cell: str,
        m: int,
        n: int,
        device: torch.device | str | None,
        real: torch.dtype,
        state: torch.dtype,
    ) -> None:
        modrelu = self.nonlinearity == "modrelu"
        shapes: dict[str, tuple[tuple[int, ...], torch.dtype]] = {}
        if self.input_weight == "trained":
            shapes[f"weight_ih{cell}"] = ((n, m), state)
        elif m != n:
            raise ValueError(f'input_weight="identity" needs as many inputs as units in every layer, got {m} and {n}')
        if (self.bias and not modrelu) or self.input_bias:
            shapes[f"bias_ih{cell}"] = ((n,), state)
        if self.bias:
            shapes[f"bias{cell}" if modrelu else f"bias_hh{cell}"] = ((n,), real if modrelu else state)
        if self.train_initial_state:
            shapes[f"h0{cell}"] = ((n,), state)
        self._add_parameters(device, shapes)

    def _check_complex(self) -> None:
        if self.nonlinearity not in recurrence.COMPLEX_ACTIVATIONS:
            known = " or ".join(recurrence.COMPLEX_ACTIVATIONS)
            raise ValueError(f"nonlinearity={self.nonlinearity!r} has no meaning for a complex state: use {known}")
        if self.num_layers > 1 or self.dropout > 0:
            raise ValueError(
                "a complex matrix goes with one layer and no dropout, because the papers' complex networks have no "
                "rule for either: use num_layers=1 and dropout=0, and stack layers over their real parts yourself"
            )

    @property
    def recurrence(self) -> str:
        """The name of the simple recurrence, one for real and one for complex states."""
        return "simple recurrence" + ", complex state" * self.state_dtype.is_complex

    @property
    def _bounded(self) -> bool:
        return self.nonlinearity == "tanh"

    def _run(
        self, weights: CellWeights, x: Tensor, state: Carried, lengths: Tensor | None, reverse: bool
    ) -> tuple[Tensor, Carried]:
        out, h_n = recurrence.simple(
            x,
            weights.W,
            weights.bias,
            state[0],
            lengths,
            self.nonlinearity,
            reverse,
            negative_slope=self.negative_slope,
            input_weight=weights.input_weight,
            input_bias=weights.input_bias,
            rounding=self._rounding(weights.step, weights.input_step),
        )
        return out, (h_n,)

    def _cell_weights(self, cell: str) -> CellWeights:
        modrelu = self.nonlinearity == "modrelu"
        input_bias = getattr(self, f"bias_ih{cell}") if self.input_bias or (self.bias and not modrelu) else None
        if self.bias and not modrelu:
            input_bias = input_bias + getattr(self, f"bias_hh{cell}")
        bias = getattr(self, f"bias{cell}") if self.bias and modrelu else None
        return CellWeights(self._input_weight(cell), self._weight_hh(cell), input_bias, bias)

    def _input_weight(self, cell: str) -> Tensor | None:
        return self._quantized_inputs(getattr(self, f"weight_ih{cell}")) if self.input_weight == "trained" else None

    def recurrent_matrix(self, layer: int = 0, reverse: bool = False) -> Tensor:
        """Build the dense W in h' = f(W h + U x) of one layer and direction: (n, n)."""
        return self._weight_hh(self._cell_name(layer, reverse)).clone()

    def _weight_hh(self, cell: str) -> Tensor:
        return self._quantized(getattr(self, f"recurrent{cell}")())

    def _assign_weight_hh(self, matrices: nn.Module, weight: Tensor) -> None:
        assert isinstance(matrices, Matrix)
        matrices.assign_(weight)

    def _difference_from_torch(self) -> str | None:
        if self.nonlinearity not in ("tanh", "relu"):
            return f"torch.nn.RNN has tanh and relu, this network has {self.nonlinearity}"
        if self.input_weight != "trained":
            return "torch.nn.RNN trains its input weight"
        if not isinstance(self.hidden_size, int):
            return "torch.nn.RNN has one hidden size for all layers"
        if self.train_initial_state:
            return "torch.nn.RNN has no trained initial state"
        return None if self.bias or not self.input_bias else "torch.nn.RNN has both biases or none"

    def extra_repr(self) -> str:
        """Return the sizes and all options that differ from their defaults, for the printed module."""
        return self._shown(
            {"nonlinearity": "modrelu", "input_bias": False, "input_weight": "trained", "negative_slope": 0.01}
        )
