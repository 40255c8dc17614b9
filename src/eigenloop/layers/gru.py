"""el.GRU: torch.nn.GRU with a recurrent matrix of your choice for each gate; its options give NC-GRU and GORU."""

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


class GRU(GatedLayer):
    """A GRU, each of whose three recurrent matrices is constrained or free; by default torch.nn.GRU's equations.

    The equations are in `eigenloop.recurrence.gated`. NC-GRU (Mucllari et al. 2022, eq. 19) is
    ``candidate="modrelu", reset="before", update="write"``; GORU (Jing et al. 2019) has ``reset="after"`` and
    ``update="keep"``.

    Args:
        input_size: features of x.
        hidden_size: n, or a tuple with one entry per layer.
        num_layers: number of layers; leave it out if `hidden_size` is a tuple.
        bias: add torch's ``bias_ih_l0`` and ``bias_hh_l0``; with modrelu one ``bias_l0`` (3n): the biases of the two
            gates, then modReLU's threshold.
        batch_first: inputs and outputs are (B, T, features).
        dropout: probability of dropping an output of every layer but the last, in training.
        bidirectional: add a second recurrence that runs from the last step to the first.
        recurrent: name of a matrix or callable ``n -> matrix``, called once for each constrained gate.
        constrained: the gates with this matrix, of ``"reset"``, ``"update"``, ``"candidate"``; the others are `Free`.
        candidate: activation of the candidate, as `nonlinearity` of `RNN`.
        reset: whether the reset gate acts ``"before"`` or ``"after"`` the product with the candidate's matrix.
        update: whether the update gate is the share of the old state to ``"keep"`` or of the candidate to ``"write"``.
        negative_slope: slope of leaky_relu below zero.
        train_initial_state: train h0 (``h0_l0``), used when no initial state is given.
        locked_dropout: drop the same features at all steps of a sequence (AWD-LSTM) instead of new ones at every step.
        bits: quantize every U and every recurrent matrix to this many bits, 2 to 16, each with its own step; pass a
            `quantization.Quantizer` for further options.
        around_identity: the quantized recurrent matrix is I + q(W - I).
        state_bits: round input, state, gates and candidate to this many bits at every step, 6 to 16; pass a
            `quantization.StateQuantizer` for further options.
        generator: for reproducible draws of U and of free gates, and of the others where `recurrent` is a name.

    >>> gru = GRU(10, 16, constrained=("candidate", "reset"), candidate="modrelu", reset="before", update="write")
    >>> out, h_n = gru(torch.randn(7, 2, 10))
    >>> gru.recurrent_matrix(gate="reset").shape
    torch.Size([16, 16])
    """

    GATES = ("reset", "update", "candidate")

    def __init__(
        self,
        input_size: int,
        hidden_size: int | Sequence[int],
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        *,
        recurrent: options.Recurrent = "cayley",
        constrained: Sequence[str] = ("candidate",),
        candidate: str = "tanh",
        reset: str = "after",
        update: str = "keep",
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
        options.registered("candidate", candidate, recurrence.ACTIVATIONS)
        options.one_of("reset", reset, ("before", "after"))
        options.one_of("update", update, ("keep", "write"))
        options.check_slope(negative_slope)
        self._choose_gates(constrained)
        self.candidate, self.reset, self.update, self.negative_slope = (
            candidate,
            reset,
            update,
            negative_slope,
        )
        biases = (("bias",) if candidate == "modrelu" else ("bias_ih", "bias_hh")) * bool(bias)
        self._add_gates(recurrent, generator, device, options.real_dtype(dtype), biases)
        self.round_state_(made_state_quantizer(state_bits))
        self.reset_parameters(generator)

    @property
    def recurrence(self) -> str:
        """The name of the gated recurrence, one for each meaning of the update gate."""
        return f"gated recurrence, update={self.update!r}"

    @property
    def _bounded(self) -> bool:
        return self.candidate == "tanh"  # the state is a weighted mean of candidates

    def _run(
        self, weights: CellWeights, x: Tensor, state: Carried, lengths: Tensor | None, reverse: bool
    ) -> tuple[Tensor, Carried]:
        out, h_n = recurrence.gated(
            x,
            weights.W,
            weights.bias,
            weights.recurrent_bias,
            state[0],
            lengths,
            self.candidate,
            self.reset,
            self.update,
            reverse,
            negative_slope=self.negative_slope,
            input_weight=weights.input_weight,
            input_bias=weights.input_bias,
            rounding=self._rounding(weights.step, weights.input_step),
        )
        return out, (h_n,)

    def _cell_weights(self, cell: str) -> CellWeights:
        return CellWeights(self._input_weight(cell), self._weight_hh(cell), *self._biases(cell))

    def _biases(self, cell: str) -> tuple[Tensor | None, Tensor | None, Tensor | None]:
        """Return the bias added to U x (of all gates or the first two), modReLU's b, and torch's b_hn."""
        if not self.bias:
            return None, None, None
        if self.candidate == "modrelu":
            stacked = getattr(self, f"bias{cell}")
            input_bias, bias = stacked.split([2 * len(stacked) // 3, len(stacked) // 3])
            return input_bias, bias, None
        bias_ih, bias_hh = getattr(self, f"bias_ih{cell}"), getattr(self, f"bias_hh{cell}")
        if self.reset == "before":
            return bias_ih + bias_hh, None, None
        gates, inside = bias_hh.split([2 * len(bias_hh) // 3, len(bias_hh) // 3])
        return bias_ih + torch.cat((gates, torch.zeros_like(inside))), None, inside

    def recurrent_matrix(self, layer: int = 0, reverse: bool = False, gate: str = "candidate") -> Tensor:
        """Build the dense recurrent matrix of one gate of one layer and direction: (n, n)."""
        return self._matrix_of(layer, reverse, gate)

    def _difference_from_torch(self) -> str | None:
        ours = (self.candidate, self.reset, self.update)
        if ours != ("tanh", "after", "keep"):
            return f"torch.nn.GRU is tanh / after / keep, this network is {' / '.join(ours)}"
        if not isinstance(self.hidden_size, int):
            return "torch.nn.GRU has one hidden size for all layers"
        return "torch.nn.GRU has no trained initial state" if self.train_initial_state else None

    def extra_repr(self) -> str:
        """Return the sizes and all options that differ from their defaults, for the printed module."""
        defaults = {"constrained": ("candidate",), "candidate": "tanh", "reset": "after", "update": "keep"}
        return self._shown({**defaults, "negative_slope": 0.01})
