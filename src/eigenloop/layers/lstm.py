"""el.LSTM: torch.nn.LSTM on the compiled kernel, with a recurrent matrix of your choice for each gate."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from eigenloop import recurrence
from eigenloop.layers import options
from eigenloop.layers.base import Carried
from eigenloop.layers.cells import CellWeights
from eigenloop.layers.gated import GatedLayer
from eigenloop.quantization import Quantizer, StateQuantizer
from eigenloop.quantization.layer_quantizer import made_quantizer
from eigenloop.quantization.state_quantizer import made_state_quantizer
from eigenloop.recurrence.lstm import check_cell


class LSTM(GatedLayer):
    """A drop-in replacement for torch.nn.LSTM; each of its four recurrent matrices is free or constrained.

    The equations are in `eigenloop.recurrence.lstm`. States are pairs (h, c), as in torch.

    Args:
        input_size: features of x.
        hidden_size: n, or a tuple with one entry per layer.
        num_layers: number of layers; leave it out if `hidden_size` is a tuple.
        bias: add torch's ``bias_ih_l0`` and ``bias_hh_l0``; with ``cell="modrelu"`` one ``bias_l0`` (4n), whose third
            quarter is modReLU's threshold.
        batch_first: inputs and outputs are (B, T, features).
        dropout: probability of dropping an output of every layer but the last, in training.
        bidirectional: add a second recurrence that runs from the last step to the first.
        proj_size: must be 0; projections are not implemented.
        recurrent: name of a matrix or callable ``n -> matrix``, called once for each constrained gate;
            default: ``"cayley"``.
        constrained: the gates with this matrix, of ``"input"``, ``"forget"``, ``"cell"``, ``"output"``; the others are
            `Free`.
        cell: activation of the candidate: ``"tanh"``, ``"modrelu"``, ``"relu"``, ``"identity"``, or a registered one.
        train_initial_state: train h0 and c0 (``h0_l0``, ``c0_l0``), used when no initial state is given.
        locked_dropout: drop the same features at all steps of a sequence (AWD-LSTM) instead of new ones at every step.
        bits: quantize every U and every recurrent matrix to this many bits, 2 to 16, each with its own step; pass a
            `quantization.Quantizer` for further options.
        around_identity: the quantized recurrent matrix is I + q(W - I).
        state_bits: round input, state, cell and gates to this many bits at every step, 6 to 16; pass a
            `quantization.StateQuantizer` for further options.
        generator: for reproducible draws of U and of free gates, and of the others where `recurrent` is a name.

    >>> lstm = LSTM(10, 16, constrained=("cell",), cell="modrelu")
    >>> out, (h_n, c_n) = lstm(torch.randn(7, 2, 10))
    >>> lstm.recurrent_matrix(gate="cell").shape
    torch.Size([16, 16])
    """

    GATES = ("input", "forget", "cell", "output")
    CARRIED = ("h0", "c0")
    _RANGE = "cell_range"

    def __init__(
        self,
        input_size: int,
        hidden_size: int | Sequence[int],
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        proj_size: int = 0,
        *,
        recurrent: options.Recurrent | None = None,
        constrained: Sequence[str] = (),
        cell: str = "tanh",
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
        if proj_size != 0:
            raise ValueError(
                f"el.LSTM has no projection, got proj_size={proj_size}: leave it out and put a torch.nn.Linear behind "
                "the layer, or use torch.nn.LSTM"
            )
        options.registered("cell", cell, recurrence.ACTIVATIONS)
        check_cell(cell)
        self._choose_gates(constrained)
        if recurrent is not None and not self.constrained:
            raise ValueError(
                "recurrent= is for constrained gates, and none is: say which with constrained=, any of "
                f"{', '.join(self.GATES)}"
            )
        self.cell = cell
        biases = (("bias",) if cell == "modrelu" else ("bias_ih", "bias_hh")) * bool(bias)
        self._add_gates(
            "cayley" if recurrent is None else recurrent, generator, device, options.real_dtype(dtype), biases
        )
        self.round_state_(made_state_quantizer(state_bits))
        self.reset_parameters(generator)

    @property
    def recurrence(self) -> str:
        """The name of the LSTM's recurrence."""
        return "lstm recurrence"

    @property
    def _bounded(self) -> bool:
        return False  # the range is that of the cell c, which is not bounded

    def _run(
        self, weights: CellWeights, x: Tensor, state: Carried, lengths: Tensor | None, reverse: bool
    ) -> tuple[Tensor, Carried]:
        h0, c0 = state
        out, h_n, c_n = recurrence.lstm(
            x,
            weights.W,
            weights.bias,
            h0,
            c0,
            lengths,
            self.cell,
            reverse,
            input_weight=weights.input_weight,
            input_bias=weights.input_bias,
            rounding=self._rounding(weights.step, weights.input_step),
        )
        return out, (h_n, c_n)

    def _observe_cell(
        self, number: int, weights: CellWeights, x: Tensor, state: Carried, lengths: Tensor | None, out: Tensor
    ) -> None:
        _, reverse, _ = self._cells()[number]
        h0, c0 = state
        cells = recurrence.lstm_cells(
            x,
            weights.W,
            weights.bias,
            h0,
            c0,
            lengths,
            self.cell,
            reverse,
            input_weight=weights.input_weight,
            input_bias=weights.input_bias,
        )
        super()._observe_cell(number, weights, x, state, lengths, cells)

    def _cell_weights(self, cell: str) -> CellWeights:
        return CellWeights(self._input_weight(cell), self._weight_hh(cell), *self._biases(cell))

    def _biases(self, cell: str) -> tuple[Tensor | None, Tensor | None]:
        """Return the bias added to U x of the four gates, and modReLU's b."""
        if not self.bias:
            return None, None
        if self.cell != "modrelu":
            return getattr(self, f"bias_ih{cell}") + getattr(self, f"bias_hh{cell}"), None
        i, f, bias, o = getattr(self, f"bias{cell}").chunk(4)
        return torch.cat((i, f, torch.zeros_like(bias), o)), bias

    def recurrent_matrix(self, layer: int = 0, reverse: bool = False, gate: str = "cell") -> Tensor:
        """Build the dense recurrent matrix of one gate of one layer and direction: (n, n)."""
        return self._matrix_of(layer, reverse, gate)

    def _difference_from_torch(self) -> str | None:
        if self.cell != "tanh":
            return f"torch.nn.LSTM has tanh for its cell, this network has {self.cell}"
        if not isinstance(self.hidden_size, int):
            return "torch.nn.LSTM has one hidden size for all layers"
        return "torch.nn.LSTM has no trained initial state" if self.train_initial_state else None

    def extra_repr(self) -> str:
        """Return the sizes and all options that differ from their defaults, for the printed module."""
        return self._shown({"constrained": (), "cell": "tanh"})
