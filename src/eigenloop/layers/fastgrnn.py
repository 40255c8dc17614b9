"""el.FastGRNN: a gated recurrence whose gate and candidate share W and U; for the smallest devices."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from eigenloop import recurrence
from eigenloop.layers import options
from eigenloop.layers.base import Carried, RecurrentLayer
from eigenloop.layers.cells import CellWeights
from eigenloop.matrices import Matrix
from eigenloop.quantization import Quantizer, StateQuantizer
from eigenloop.quantization.layer_quantizer import made_quantizer
from eigenloop.quantization.state_quantizer import made_state_quantizer

#: Initial values of zeta and nu before the sigmoid, as in the published code; after it, 0.73 and 0.018.
ZETA, NU = 1.0, -4.0


class FastGRNN(RecurrentLayer):
    """FastGRNN (Kusupati et al. 2018): a gate and a candidate from one product W h + U x, with a bias each.

    The equations are in `eigenloop.recurrence.fastgrnn`. The scalars zeta and nu are sigmoids of the parameters
    ``zeta_l0`` and ``nu_l0``. The paper's sparse and low-rank matrices are not implemented.

    Args:
        input_size: features of x.
        hidden_size: n, or a tuple with one entry per layer.
        num_layers: number of layers; leave it out if `hidden_size` is a tuple.
        bias: ``bias_gate_l0`` and ``bias_candidate_l0``.
        batch_first: inputs and outputs are (B, T, features).
        dropout: probability of dropping an output of every layer but the last, in training.
        bidirectional: add a second recurrence that runs from the last step to the first.
        recurrent: name of a matrix or callable ``n -> matrix``, called once for each layer and direction.
        piecewise: use the paper's piecewise-linear sigmoid and tanh, which need no lookup table on a device.
        train_initial_state: train h0 (``h0_l0``), used when no initial state is given.
        locked_dropout: drop the same features at all steps of a sequence (AWD-LSTM) instead of new ones at every step.
        bits: quantize U and W to this many bits, 2 to 16, each with its own step; pass a `quantization.Quantizer` for
            further options.
        around_identity: the quantized recurrent matrix is I + q(W - I).
        state_bits: round input, state, gate and candidate to this many bits at every step, 6 to 16; pass a
            `quantization.StateQuantizer` for further options.
        generator: for reproducible draws of U, and of W where `recurrent` is a name.

    >>> layer = FastGRNN(10, 16, recurrent="cayley")
    >>> out, h_n = layer(torch.randn(7, 2, 10))
    >>> layer.recurrent_matrix().shape
    torch.Size([16, 16])
    """

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
        recurrent: options.Recurrent = "free",
        piecewise: bool = False,
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
        self.piecewise = piecewise
        real = options.real_dtype(dtype)
        for layer, _, cell in self._cells():
            m, n = self._sizes(layer)
            shapes: dict[str, tuple[tuple[int, ...], torch.dtype]] = {f"weight_ih{cell}": ((n, m), real)}
            for name in ("bias_gate", "bias_candidate") * bool(bias):
                shapes[name + cell] = ((n,), real)
            for name in ("zeta", "nu"):
                shapes[name + cell] = ((), real)
            for name in self.CARRIED * self.train_initial_state:
                shapes[name + cell] = ((n,), real)
            self._add_parameters(device, shapes)
            matrix = options.make_matrix(recurrent, n, generator, device, real)
            if matrix.is_complex:
                raise ValueError("a gate is real, so el.FastGRNN needs a real matrix: use el.RNN for a complex one")
            self.add_module(f"recurrent{cell}", matrix)
        self.round_state_(made_state_quantizer(state_bits))
        self.reset_parameters(generator)

    @torch.no_grad()
    def reset_parameters(self, generator: torch.Generator | None = None) -> None:
        """Draw U from U(-1/sqrt n, 1/sqrt n); set biases to 1, ``zeta_l0`` to 1 and ``nu_l0`` to -4, as published."""
        super().reset_parameters(generator)
        starts = {"bias_gate": 1.0, "bias_candidate": 1.0, "zeta": ZETA, "nu": NU}
        for _, _, cell in self._cells():
            for name, value in starts.items():
                if hasattr(self, name + cell):
                    getattr(self, name + cell).fill_(value)

    @property
    def recurrence(self) -> str:
        """The name of FastGRNN's recurrence."""
        return "FastGRNN recurrence"

    @property
    def _bounded(self) -> bool:
        return False  # nu c is added even if the gate keeps all of h

    def _run(
        self, weights: CellWeights, x: Tensor, state: Carried, lengths: Tensor | None, reverse: bool
    ) -> tuple[Tensor, Carried]:
        assert weights.bias is not None
        assert weights.mixing is not None
        out, h_n = recurrence.fastgrnn(
            x,
            weights.W,
            weights.bias,
            weights.mixing,
            state[0],
            lengths,
            self.piecewise,
            reverse,
            input_weight=weights.input_weight,
            rounding=self._rounding(weights.step, weights.input_step),
        )
        return out, (h_n,)

    def mixing(self, layer: int = 0, reverse: bool = False) -> Tensor:
        """Return zeta and nu of one layer and direction: (2,), between 0 and 1."""
        return self._mixing(self._cell_name(layer, reverse))

    def _mixing(self, cell: str) -> Tensor:
        return torch.stack([getattr(self, name + cell) for name in ("zeta", "nu")]).sigmoid()

    def _cell_weights(self, cell: str) -> CellWeights:
        W = self._weight_hh(cell)
        names = ("bias_gate", "bias_candidate")
        biases = torch.stack([getattr(self, name + cell) for name in names]) if self.bias else W.new_zeros(2, len(W))
        return CellWeights(self._input_weight(cell), W, None, biases, mixing=self._mixing(cell))

    def _input_weight(self, cell: str) -> Tensor:
        return self._quantized_inputs(getattr(self, f"weight_ih{cell}"))

    def recurrent_matrix(self, layer: int = 0, reverse: bool = False) -> Tensor:
        """Build the dense W of one layer and direction: (n, n)."""
        return self._weight_hh(self._cell_name(layer, reverse)).clone()

    def _weight_hh(self, cell: str) -> Tensor:
        return self._quantized(getattr(self, f"recurrent{cell}")())

    def _assign_weight_hh(self, matrices: nn.Module, weight: Tensor) -> None:
        assert isinstance(matrices, Matrix)
        matrices.assign_(weight)

    def _difference_from_torch(self) -> str | None:
        return "torch.nn has no FastGRNN"

    def extra_repr(self) -> str:
        """Return the sizes and all options that differ from their defaults, for the printed module."""
        return self._shown({"piecewise": False})
