"""The published models: each recipe is its paper's matrix, recurrence and initialisers over our layers."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from eigenloop import initializers
from eigenloop.layers import GRU, RNN
from eigenloop.layers.base import RecurrentLayer
from eigenloop.layers.baselines import TorchGRU, TorchLSTM
from eigenloop.matrices import (
    Exponential,
    Free,
    Givens,
    Householder,
    HouseholderSVD,
    LongShort,
    Matrix,
    NeumannCayley,
    Orthogonal,
    ScaledCayley,
    Schur,
    Unitary,
)

Size = int | Sequence[int]
Generator = torch.Generator | None
Init = str | Tensor

# -------------------------------------------------------------------- initialisers of U and the biases


def _glorot(m: int, n: int) -> float:
    """Standard deviation of Glorot's rule."""
    return math.sqrt(2 / (m + n))


def _kaiming(m: int, n: int) -> float:
    """Standard deviation of Kaiming's rule for ReLU."""
    return math.sqrt(2 / m)


def _parameters(layer: RecurrentLayer, prefix: str) -> list[nn.Parameter]:
    return [parameter for name, parameter in layer.named_parameters() if name.startswith(prefix)]


def _normal_inputs_(layer: RecurrentLayer, rule: Callable[[int, int], float], generator: Generator) -> None:
    """Draw every U from a normal distribution."""
    for U in _parameters(layer, "weight_ih"):
        initializers.fill_normal_(U, rule(U.shape[1], U.shape[0]), generator)


def _uniform_inputs_(layer: RecurrentLayer, rule: Callable[[int, int], float], generator: Generator) -> None:
    """Draw every U from the uniform distribution of the same standard deviation."""
    for U in _parameters(layer, "weight_ih"):
        bound = math.sqrt(3) * rule(U.shape[1], U.shape[0])
        initializers.fill_uniform_(U, -bound, bound, generator)


def _uniform_(layer: RecurrentLayer, prefix: str, bound: float, generator: Generator) -> None:
    """Draw the parameters whose name starts with `prefix` from U(-bound, bound)."""
    for parameter in _parameters(layer, prefix):
        initializers.fill_uniform_(parameter, -bound, bound, generator)


def _constant_(layer: RecurrentLayer, prefix: str, value: float) -> None:
    for parameter in _parameters(layer, prefix):
        nn.init.constant_(parameter, value)


def _initial_states_(layer: RecurrentLayer, generator: Generator) -> None:
    """Draw trained initial states from U(+-sqrt(3 / (2n))), as uRNN and oRNN do."""
    for h0 in _parameters(layer, "h0"):
        bound = math.sqrt(3 / (2 * len(h0)))
        initializers.fill_uniform_(h0, -bound, bound, generator)


# -------------------------------------------------------------------- simple recurrences


def _modrelu_rnn(
    input_size: int, hidden_size: Size, matrix: Callable[[int], Matrix], generator: Generator, layer: dict[str, Any]
) -> RNN:
    """Make the RNN that nnRNN, expRNN and projUNN share: modReLU's b ~ U(-0.01, 0.01)."""
    rnn = RNN(input_size, hidden_size, recurrent=matrix, generator=generator, **layer)
    _uniform_(rnn, "bias_l", 0.01, generator)
    return rnn


def rnn(input_size: int, hidden_size: Size, *, init: Init = "glorot", generator: Generator = None, **layer: Any) -> RNN:
    """The plain RNN that nnRNN compares with: modReLU too, U Glorot normal, and U x has a bias."""
    matrix = partial(Free, init=init, generator=generator)
    made = _modrelu_rnn(input_size, hidden_size, matrix, generator, {"input_bias": True, **layer})
    _normal_inputs_(made, _glorot, generator)
    return made


def rnn_orth(
    input_size: int, hidden_size: Size, *, init: Init = "haar", generator: Generator = None, **layer: Any
) -> RNN:
    """The same with W orthogonal at the start, and free from there."""
    return rnn(input_size, hidden_size, init=init, generator=generator, **layer)


def scornn(
    input_size: int,
    hidden_size: Size,
    *,
    negative: int | None = None,
    init: Init = "cayley",
    generator: Generator = None,
    **layer: Any,
) -> RNN:
    """scoRNN: U ~ U(-0.01, 0.01), b = 0, negative = n // 2 (Helfrich et al. 2018, section 5)."""
    matrix = partial(ScaledCayley, negative=negative, init=init, generator=generator)
    made = RNN(input_size, hidden_size, recurrent=matrix, generator=generator, **layer)
    _uniform_(made, "weight_ih", 0.01, generator)
    return made


def exprnn(
    input_size: int, hidden_size: Size, *, init: Init = "henaff", generator: Generator = None, **layer: Any
) -> RNN:
    """expRNN: U Kaiming normal, W = exp(A) from Henaff's start (copying) or "cayley" (MNIST)."""
    matrix = partial(Exponential, init=init, generator=generator)
    made = _modrelu_rnn(input_size, hidden_size, matrix, generator, layer)
    _normal_inputs_(made, _kaiming, generator)
    return made


def dtriv(
    input_size: int,
    hidden_size: Size,
    *,
    rebase_every: int = 100,
    init: Init = "henaff",
    generator: Generator = None,
    **layer: Any,
) -> RNN:
    """dtriv: expRNN whose base moves every 100 steps (Lezcano-Casado 2019)."""
    matrix = partial(Exponential, rebase_every=rebase_every, init=init, generator=generator)
    made = _modrelu_rnn(input_size, hidden_size, matrix, generator, layer)
    _normal_inputs_(made, _kaiming, generator)
    return made


def nnrnn(
    input_size: int,
    hidden_size: Size,
    *,
    delta: float = 1e-4,
    triangle_decay: float = 1e-6,
    train_gamma: bool = True,
    blocks: str = "paper",
    orthogonal: Callable[[int], Matrix] | None = None,
    init: Init = "henaff",
    generator: Generator = None,
    **layer: Any,
) -> RNN:
    """nnRNN: U Glorot normal, P by the exponential map; delta and decay of the copying task (supplement, Table 2).

    `init` starts P; the eigenvalues start on the unit circle at theta ~ U(0, 2 pi).
    """
    matrix = partial(
        Schur,
        orthogonal=orthogonal or partial(Exponential, init=init, generator=generator),
        delta=delta,
        triangle_decay=triangle_decay,
        train_gamma=train_gamma,
        blocks=blocks,
        generator=generator,
    )
    made = _modrelu_rnn(input_size, hidden_size, matrix, generator, layer)
    _normal_inputs_(made, _glorot, generator)
    return made


def projunn(
    input_size: int, hidden_size: Size, *, init: Init = "henaff", generator: Generator = None, **layer: Any
) -> RNN:
    """projUNN: U Glorot uniform, W from Henaff's start (copying), the identity (adding) or Haar (MNIST).

    Train it with `eigenloop.optim.ProjUNN`.
    """
    matrix = partial(Orthogonal, init=init, generator=generator)
    made = _modrelu_rnn(input_size, hidden_size, matrix, generator, layer)
    _uniform_inputs_(made, _glorot, generator)
    return made


def ornn(
    input_size: int,
    hidden_size: Size,
    *,
    reflections: int | None = None,
    init: Init = "gaussian",
    generator: Generator = None,
    **layer: Any,
) -> RNN:
    """oRNN: leaky ReLU of slope 0.1 with one bias, U Glorot uniform, trained h0 (Mhammedi et al. 2017)."""
    matrix = partial(Householder, reflections=reflections, init=init, generator=generator)
    own = {"nonlinearity": "leaky_relu", "negative_slope": 0.1, "bias": False, "input_bias": True}
    layer = {**own, "train_initial_state": True, **layer}
    made = RNN(input_size, hidden_size, recurrent=matrix, generator=generator, **layer)
    _uniform_inputs_(made, _glorot, generator)
    _constant_(made, "bias", 0.0)
    _initial_states_(made, generator)
    return made


def spectralrnn(
    input_size: int,
    hidden_size: Size,
    *,
    reflections: int | None = None,
    margin: float = 0.01,
    generator: Generator = None,
    **layer: Any,
) -> RNN:
    """Spectral RNN: ReLU with one bias, singular values within 0.01 of 1, U Glorot uniform (Zhang et al. 2018)."""
    matrix = partial(HouseholderSVD, reflections=reflections, margin=margin, generator=generator)
    layer = {"nonlinearity": "relu", "bias": False, "input_bias": True, **layer}
    made = RNN(input_size, hidden_size, recurrent=matrix, generator=generator, **layer)
    _uniform_inputs_(made, _glorot, generator)
    _constant_(made, "bias", 0.0)
    return made


def eurnn(
    input_size: int,
    hidden_size: Size,
    *,
    style: str = "tunable",
    capacity: int | None = None,
    complex: bool = True,
    generator: Generator = None,
    **layer: Any,
) -> RNN:
    """EURNN: complex state, Re h is read, U ~ U(-0.01, 0.01), b = 0, capacity 2 (Jing et al. 2017)."""
    matrix = partial(Givens, style=style, capacity=capacity, complex=complex, generator=generator)
    made = RNN(input_size, hidden_size, recurrent=matrix, generator=generator, **layer)
    _uniform_(made, "weight_ih", 0.01, generator)
    return made


def urnn_full(
    input_size: int, hidden_size: Size, *, init: Init = "urnn", generator: Generator = None, **layer: Any
) -> RNN:
    """Full-capacity uRNN: complex state, both parts read, U Glorot uniform, trained h0 (Wisdom et al. 2016).

    Train it with `eigenloop.optim.UnitaryCayley`.
    """
    matrix = partial(Unitary, init=init, generator=generator)
    made = _modrelu_rnn(input_size, hidden_size, matrix, generator, {"train_initial_state": True, **layer})
    made.complex_readout = "both"
    # Real and imaginary parts are the columns of one m x 2n matrix there.
    _uniform_inputs_(made, lambda m, n: _glorot(m, 2 * n), generator)
    _initial_states_(made, generator)
    return made


def enrnn(
    input_size: int,
    hidden_size: Size,
    *,
    short: int | None = None,
    negative: int | None = None,
    coupling: bool = True,
    coupling_init: Init = "glorot",
    eps: float = 0.0,
    generator: Generator = None,
    **layer: Any,
) -> RNN:
    """ENRNN: U ~ U(-0.01, 0.01), b = 0 (one bias vector also with ReLU), short = 0.4 n (Helfrich, Ye 2020)."""
    matrix = partial(
        LongShort,
        short=short,
        coupling=coupling,
        coupling_init=coupling_init,
        long=partial(ScaledCayley, negative=negative, generator=generator),
        eps=eps,
        generator=generator,
    )
    if layer.get("nonlinearity", "modrelu") != "modrelu":
        layer = {"bias": False, "input_bias": True, **layer}
    made = RNN(input_size, hidden_size, recurrent=matrix, generator=generator, **layer)
    _uniform_(made, "weight_ih", 0.01, generator)
    _constant_(made, "bias", 0.0)
    return made


# -------------------------------------------------------------------- gated recurrences


def ncgru(
    input_size: int,
    hidden_size: Size,
    *,
    constrained: Sequence[str] = ("candidate",),
    negative: int | None = None,
    order: int = 2,
    reset_every: int = 50,
    tolerance: float = 1e-5,
    exact: bool = False,
    generator: Generator = None,
    **layer: Any,
) -> GRU:
    """NC-GRU: He uniform kernels, gate biases 0, modReLU's b ~ U(-0.1, 0.1) (Mucllari et al. 2022, eq. 19)."""
    matrix = partial(
        NeumannCayley,
        negative=negative,
        order=order,
        reset_every=reset_every,
        tolerance=tolerance,
        exact=exact,
        generator=generator,
    )
    layer = {"candidate": "modrelu", "reset": "before", "update": "write", **layer}
    made = GRU(input_size, hidden_size, recurrent=matrix, constrained=constrained, generator=generator, **layer)
    for cell, matrices in made.named_children():
        U = made.get_parameter(cell.replace("recurrent", "weight_ih"))
        m, n = U.shape[1], U.shape[0] // 3
        # One kernel takes [x, h] to both gates; the candidate's takes x alone.
        gates, alone = math.sqrt(6 / (m + n)), math.sqrt(6 / m)
        initializers.fill_uniform_(U[: 2 * n], -gates, gates, generator)
        initializers.fill_uniform_(U[2 * n :], -alone, alone, generator)
        for free in (module for module in matrices.modules() if isinstance(module, Free)):
            initializers.fill_uniform_(free.weight, -gates, gates, generator)
    _constant_(made, "bias", 0.0)
    if made.candidate == "modrelu":
        for bias in _parameters(made, "bias_l"):
            initializers.fill_uniform_(bias[2 * len(bias) // 3 :], -0.1, 0.1, generator)
    return made


def goru(
    input_size: int,
    hidden_size: Size,
    *,
    style: str = "tunable",
    capacity: int | None = None,
    generator: Generator = None,
    **layer: Any,
) -> GRU:
    """GORU: all kernels ~ U(-0.01, 0.01); biases: reset 2, update Glorot uniform, candidate 0.01 (Jing et al. 2019)."""
    capacity = 4 if capacity is None and style == "tunable" else capacity
    matrix = partial(Givens, style=style, capacity=capacity, generator=generator)
    layer = {"candidate": "modrelu", **layer}
    made = GRU(input_size, hidden_size, recurrent=matrix, generator=generator, **layer)
    _uniform_(made, "weight_ih", 0.01, generator)
    for free in (module for module in made.modules() if isinstance(module, Free)):
        initializers.fill_uniform_(free.weight, -0.01, 0.01, generator)
    for bias in _parameters(made, "bias_l"):
        reset, update, candidate = bias.chunk(3)
        bound = math.sqrt(3 / len(update))
        nn.init.constant_(reset, 2.0)
        initializers.fill_uniform_(update, -bound, bound, generator)
        nn.init.constant_(candidate, 0.01)
    return made


# -------------------------------------------------------------------- torch's own


def _torch_baseline(kind: type[Any], input_size: int, hidden_size: int, generator: Generator, layer: Any) -> Any:
    made = kind(input_size, hidden_size, **layer)
    if generator is not None:
        bound = 1 / math.sqrt(hidden_size)
        for parameter in made.parameters():
            initializers.fill_uniform_(parameter, -bound, bound, generator)
    return made


def lstm(input_size: int, hidden_size: int, *, generator: Generator = None, **layer: Any) -> TorchLSTM:
    """torch.nn.LSTM."""
    made: TorchLSTM = _torch_baseline(TorchLSTM, input_size, hidden_size, generator, layer)
    return made


def gru(input_size: int, hidden_size: int, *, generator: Generator = None, **layer: Any) -> TorchGRU:
    """torch.nn.GRU."""
    made: TorchGRU = _torch_baseline(TorchGRU, input_size, hidden_size, generator, layer)
    return made


#: Each name with its recipe and the layer whose options it hands on.
RECIPES: dict[str, tuple[Callable[..., Any], type[nn.Module]]] = {
    "rnn": (rnn, RNN),
    "rnn-orth": (rnn_orth, RNN),
    "lstm": (lstm, nn.RNNBase),
    "gru": (gru, nn.RNNBase),
    "scornn": (scornn, RNN),
    "exprnn": (exprnn, RNN),
    "dtriv": (dtriv, RNN),
    "projunn": (projunn, RNN),
    "ornn": (ornn, RNN),
    "spectralrnn": (spectralrnn, RNN),
    "eurnn": (eurnn, RNN),
    "urnn-full": (urnn_full, RNN),
    "nnrnn": (nnrnn, RNN),
    "enrnn": (enrnn, RNN),
    "ncgru": (ncgru, GRU),
    "goru": (goru, GRU),
}
