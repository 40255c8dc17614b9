"""Describe the cells of a quantized layer, with codes and biases; layers without an integer form raise an error."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from eigenloop.layers import GRU, LSTM, RNN, FastGRNN
from eigenloop.layers.base import RecurrentLayer
from eigenloop.quantization import Codes, network_codes

Real = NDArray[np.float64]
#: The activations that integer cells support.
ACTIVATIONS = ("modrelu", "relu", "leaky_relu", "tanh", "identity", "piecewise")
_Layer = RNN | GRU | LSTM | FastGRNN


@dataclass(frozen=True, eq=False)
class Gate:
    """One pre-activation, z = W h + U x + bias, with codes for W and U.

    Attributes:
        name: the gate's name; ``""`` in a simple recurrence.
        W: the recurrent codes.
        U: the input codes; None if x is added without a matrix.
        bias: added to z, (n,) or None.
        inner_bias: torch's b_hn, added to W h inside the reset product.
        threshold: modReLU's b; for FastGRNN the candidate's bias minus the gate's, which is `bias`.
    """

    name: str
    W: Codes
    U: Codes | None
    bias: Real | None = None
    inner_bias: Real | None = None
    threshold: Real | None = None


@dataclass(frozen=True, eq=False)
class Cell:
    """One trained layer: its codes, and everything else in real numbers.

    Attributes:
        kind: ``"simple"``, ``"gated"``, ``"lstm"`` or ``"fastgrnn"``, the names in `eigenloop.recurrence`.
        ending: the suffix of the layer's parameter names, such as ``_l0``.
        gates: the pre-activations by name.
        activation: of the state, or of the candidate of a gated cell or LSTM; for FastGRNN ``"tanh"``, or
            ``"piecewise"`` for the piecewise-linear tanh and sigmoid.
        slope: the negative slope of leaky_relu.
        reset, update: the options of the gated recurrence.
        initial: the initial state: h0, and an LSTM's c0.
        mixing: FastGRNN's zeta and nu.
    """

    kind: str
    ending: str
    gates: dict[str, Gate]
    activation: str
    slope: float
    reset: str
    update: str
    initial: tuple[Real, ...]
    mixing: tuple[float, ...] = ()

    @property
    def size(self) -> int:
        """The number of units, n."""
        return len(self.initial[0])

    @property
    def input_size(self) -> int:
        """The number of inputs, m."""
        U = next(iter(self.gates.values())).U
        return self.size if U is None else U.numbers.shape[1]


@torch.no_grad()
def cells_of(layer: RecurrentLayer) -> list[Cell]:
    """Return the cells of a quantized layer.

    Raises:
        TypeError: it is not an RNN, GRU, LSTM or FastGRNN of this library.
        ValueError: it is complex, bidirectional or not quantized, or its activation has no integer form.
    """
    if not isinstance(layer, _Layer):
        kinds = "el.RNN, el.GRU, el.LSTM or el.FastGRNN"
        raise TypeError(f"an integer network is made of {kinds}, got {type(layer).__name__}")
    if layer.state_dtype.is_complex:
        raise ValueError(
            "a complex state has no integer form here: train a real matrix instead (givens with complex=False in place "
            "of eurnn, orthogonal in place of urnn-full)"
        )
    if layer.bidirectional:
        raise ValueError(
            "a bidirectional layer needs the whole sequence before its first output, which a device that runs step by "
            "step does not have: train it with bidirectional=False"
        )
    if layer.quantizer is None:
        raise ValueError(
            "the weights of this layer are in floating point: train it with bits=, or call "
            "el.quantization.quantize_(net, bits=8) first"
        )
    activation = _activation_of(layer)
    if activation not in ACTIVATIONS:
        raise ValueError(
            f"the activation {activation!r} has no integer form: choose one of {', '.join(ACTIVATIONS)}, or leave the "
            "network in floating point"
        )
    codes = network_codes(layer)
    return [
        _cell(layer, codes, ending, n) for (_, _, ending), n in zip(layer._cells(), layer.hidden_sizes, strict=True)
    ]


def _activation_of(layer: _Layer) -> str:
    if isinstance(layer, FastGRNN):
        return "piecewise" if layer.piecewise else "tanh"
    name = layer.nonlinearity if isinstance(layer, RNN) else layer.candidate if isinstance(layer, GRU) else layer.cell
    # Without its bias, modReLU is the identity.
    return "identity" if name == "modrelu" and not layer.bias else name


def _cell(layer: _Layer, codes: dict[str, Codes], ending: str, n: int) -> Cell:
    weights = layer._cell_weights(ending)
    trained = layer.train_initial_state
    initial = tuple(_real(getattr(layer, name + ending)) if trained else np.zeros(n) for name in layer.CARRIED)
    if isinstance(layer, FastGRNN):
        assert weights.bias is not None
        assert weights.mixing is not None
        first, second = _real(weights.bias)
        gate = Gate("", codes[f"recurrent{ending}"], codes[f"weight_ih{ending}"], first, threshold=second - first)
        mixing = tuple(_real(weights.mixing).tolist())
        return Cell("fastgrnn", ending, {"": gate}, _activation_of(layer), 0.0, "", "", initial, mixing)
    names = ("",) if isinstance(layer, RNN) else layer.GATES
    added = _per_gate(weights.input_bias, len(names), n)
    gates = {}
    for name, bias in zip(names, added, strict=True):
        tail = ending + (f".{name}" if name else "")
        activated = name in ("", "candidate", "cell")  # the one with the layer's activation; the others have a sigmoid
        gates[name] = Gate(
            name,
            codes[f"recurrent{tail}"],
            codes.get(f"weight_ih{tail}"),
            bias,
            _optional(weights.recurrent_bias) if activated else None,
            _optional(weights.bias) if activated else None,
        )
    gated = isinstance(layer, GRU)
    return Cell(
        kind="simple" if isinstance(layer, RNN) else "gated" if gated else "lstm",
        ending=ending,
        gates=gates,
        activation=_activation_of(layer),
        slope=getattr(layer, "negative_slope", 0.0),
        reset=layer.reset if isinstance(layer, GRU) else "",
        update=layer.update if isinstance(layer, GRU) else "",
        initial=initial,
    )


def _per_gate(bias: Tensor | None, gates: int, n: int) -> list[Real | None]:
    """Split a stacked bias into one for each gate; None for a bias of zeros and for gates beyond its length."""
    if bias is None:
        return [None] * gates
    parts: list[Real | None] = [part if part.any() else None for part in _real(bias).reshape(-1, n)]
    return parts + [None] * (gates - len(parts))


def _real(tensor: Tensor) -> Real:
    return tensor.detach().cpu().double().numpy()


def _optional(tensor: Tensor | None) -> Real | None:
    return None if tensor is None else _real(tensor)


def layer_of(network: nn.Module) -> RecurrentLayer:
    """Return the recurrent layer of a Model, or the layer itself; raise TypeError for anything else."""
    layer = network if isinstance(network, RecurrentLayer) else getattr(network, "rnn", None)
    if not isinstance(layer, RecurrentLayer):
        raise TypeError(
            "integer() takes an el.RNN, el.GRU, el.LSTM, el.FastGRNN or an el.Model of one, got "
            f"{type(network).__name__}"
        )
    return layer


def real_matrix(codes: Codes | None) -> Callable[[Real], Real]:
    """Return the function q -> q C^T in float64 for the matrix C that `codes` stand for; None is the identity."""
    if codes is None:
        return lambda q: q
    C = codes.numbers.double() * codes.step.double()
    if codes.around_identity:
        C = C + torch.eye(len(C), dtype=C.dtype, device=C.device)
    if codes.divisor is not None:
        C = C / codes.divisor.double()
    transposed = _real(C).T
    return lambda q: q @ transposed
