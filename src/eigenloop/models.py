"""The published models by their names: one recipe each, with its paper's matrix, initialisers and defaults."""

from __future__ import annotations

import difflib
import inspect
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
from eigenloop.matrices import Exponential, Free, Matrix, ScaledCayley, Schur
from eigenloop.readout import Model

__all__ = ["NAMES", "Model", "build"]

Size = int | Sequence[int]
Generator = torch.Generator | None


def build(name: str, input_size: int, hidden_size: Size, **options: Any) -> RNN | GRU | TorchLSTM | TorchGRU:
    """Make a published model's recurrent layer, initialised as its paper does.

    Besides the options of each model, every layer option of `RNN` or `GRU` is accepted (``num_layers``,
    ``batch_first``, ``nonlinearity``, ``dtype``, ...), and ``generator=`` for reproducible draws.

    | name | model | own options |
    |---|---|---|
    | ``rnn`` | modReLU RNN, free W, Glorot start | ``init`` |
    | ``rnn-orth`` | the same, W orthogonal only at the start | ``init`` |
    | ``scornn`` | scaled Cayley (Helfrich et al. 2018) | ``negative``, ``init`` |
    | ``exprnn`` | exponential map (Lezcano-Casado et al. 2019) | ``init`` |
    | ``dtriv`` | the same with a moving base | ``rebase_every``, ``init`` |
    | ``nnrnn`` | Schur form (Kerg et al. 2019) | ``delta``, ``triangle_decay``, ``train_gamma``, ``blocks``, ``init`` |
    | ``lstm``, ``gru`` | torch's own | |

    >>> build("nnrnn", 10, 128, delta=1e-3).recurrent_matrix().shape
    torch.Size([128, 128])
    """
    if name not in _RECIPES:
        near = difflib.get_close_matches(str(name), _RECIPES, n=1)
        hint = f"did you mean {near[0]!r}? " if near else ""
        raise ValueError(f"there is no model named {name!r}: {hint}The names are {', '.join(_RECIPES)}")
    recipe, layer = _RECIPES[name]
    valid = _options_of(recipe) + _options_of(layer)
    unknown = [option for option in options if option not in valid]
    if unknown:
        raise TypeError(
            f"{name} has no option {', '.join(map(repr, unknown))}: its options are {', '.join(dict.fromkeys(valid))}"
        )
    return recipe(input_size, hidden_size, **options)


def _options_of(function: Callable[..., Any]) -> list[str]:
    """List the options a recipe or layer takes, without those that a recipe decides itself."""
    decided = ("self", "mode", "input_size", "hidden_size", "proj_size", "recurrent")
    parameters = inspect.signature(function).parameters.values()
    return [p.name for p in parameters if p.name not in decided and p.kind is not p.VAR_KEYWORD]


# -------------------------------------------------------------------- initialisers of U and the biases


def _draw_inputs_(layer: RecurrentLayer, deviation: Callable[[int, int], float], generator: Generator) -> None:
    """Draw every U from N(0, s^2) with s = deviation(m, n)."""
    for name, U in layer.named_parameters():
        if name.startswith("weight_ih"):
            initializers.fill_normal_(U, deviation(U.shape[1], U.shape[0]), generator)


def _draw_uniform_(layer: RecurrentLayer, prefix: str, bound: float, generator: Generator) -> None:
    """Draw the parameters whose name starts with `prefix` from U(-bound, bound)."""
    for name, parameter in layer.named_parameters():
        if name.startswith(prefix):
            initializers.fill_uniform_(parameter, -bound, bound, generator)


def _glorot(m: int, n: int) -> float:
    return math.sqrt(2 / (m + n))


def _kaiming(m: int, n: int) -> float:
    return math.sqrt(2 / m)


# -------------------------------------------------------------------- recipes


def _modrelu_rnn(
    input_size: int,
    hidden_size: Size,
    matrix: Callable[[int], Matrix],
    generator: Generator,
    layer: dict[str, Any],
) -> RNN:
    """Make the RNN that nnRNN and expRNN share: modReLU's b ~ U(-0.01, 0.01)."""
    rnn = RNN(input_size, hidden_size, recurrent=matrix, generator=generator, **layer)
    if rnn.nonlinearity == "modrelu":
        _draw_uniform_(rnn, "bias_l", 0.01, generator)
    return rnn


def _rnn(
    input_size: int,
    hidden_size: Size,
    *,
    init: str | Tensor = "glorot",
    generator: Generator = None,
    **layer: Any,
) -> RNN:
    """The plain RNN that nnRNN compares with: modReLU too, U Glorot normal, and U x has a bias."""
    matrix = partial(Free, init=init, generator=generator)
    rnn = _modrelu_rnn(input_size, hidden_size, matrix, generator, {"input_bias": True, **layer})
    _draw_inputs_(rnn, _glorot, generator)
    return rnn


def _rnn_orth(
    input_size: int,
    hidden_size: Size,
    *,
    init: str | Tensor = "haar",
    generator: Generator = None,
    **layer: Any,
) -> RNN:
    return _rnn(input_size, hidden_size, init=init, generator=generator, **layer)


def _scornn(
    input_size: int,
    hidden_size: Size,
    *,
    negative: int | None = None,
    init: str | Tensor = "cayley",
    generator: Generator = None,
    **layer: Any,
) -> RNN:
    """scoRNN: U ~ U(-0.01, 0.01), b = 0, negative = n // 2 (Helfrich et al. 2018, section 5)."""
    matrix = partial(ScaledCayley, negative=negative, init=init, generator=generator)
    rnn = RNN(input_size, hidden_size, recurrent=matrix, generator=generator, **layer)
    _draw_uniform_(rnn, "weight_ih", 0.01, generator)
    return rnn


def _exprnn(
    input_size: int,
    hidden_size: Size,
    *,
    init: str | Tensor = "henaff",
    generator: Generator = None,
    **layer: Any,
) -> RNN:
    """expRNN: U Kaiming normal, W = exp(A) from Henaff's start (copying) or "cayley" (MNIST)."""
    matrix = partial(Exponential, init=init, generator=generator)
    rnn = _modrelu_rnn(input_size, hidden_size, matrix, generator, layer)
    _draw_inputs_(rnn, _kaiming, generator)
    return rnn


def _dtriv(
    input_size: int,
    hidden_size: Size,
    *,
    rebase_every: int = 100,
    init: str | Tensor = "henaff",
    generator: Generator = None,
    **layer: Any,
) -> RNN:
    """dtriv: expRNN whose base moves every 100 steps (Lezcano-Casado 2019)."""
    matrix = partial(Exponential, rebase_every=rebase_every, init=init, generator=generator)
    rnn = _modrelu_rnn(input_size, hidden_size, matrix, generator, layer)
    _draw_inputs_(rnn, _kaiming, generator)
    return rnn


def _nnrnn(
    input_size: int,
    hidden_size: Size,
    *,
    delta: float = 1e-4,
    triangle_decay: float = 1e-6,
    train_gamma: bool = True,
    blocks: str = "paper",
    orthogonal: Callable[[int], Matrix] | None = None,
    init: str | Tensor = "henaff",
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
    rnn = _modrelu_rnn(input_size, hidden_size, matrix, generator, layer)
    _draw_inputs_(rnn, _glorot, generator)
    return rnn


def _torch_baseline(kind: type[Any], input_size: int, hidden_size: int, generator: Generator, layer: Any) -> Any:
    made = kind(input_size, hidden_size, **layer)
    if generator is not None:
        bound = 1 / math.sqrt(hidden_size)
        for parameter in made.parameters():
            initializers.fill_uniform_(parameter, -bound, bound, generator)
    return made


def _lstm(input_size: int, hidden_size: int, *, generator: Generator = None, **layer: Any) -> TorchLSTM:
    made: TorchLSTM = _torch_baseline(TorchLSTM, input_size, hidden_size, generator, layer)
    return made


def _gru(input_size: int, hidden_size: int, *, generator: Generator = None, **layer: Any) -> TorchGRU:
    made: TorchGRU = _torch_baseline(TorchGRU, input_size, hidden_size, generator, layer)
    return made


# Each name with its recipe and the layer whose options it hands on.
_RECIPES: dict[str, tuple[Callable[..., Any], type[nn.Module]]] = {
    "rnn": (_rnn, RNN),
    "rnn-orth": (_rnn_orth, RNN),
    "lstm": (_lstm, nn.RNNBase),
    "gru": (_gru, nn.RNNBase),
    "scornn": (_scornn, RNN),
    "exprnn": (_exprnn, RNN),
    "dtriv": (_dtriv, RNN),
    "nnrnn": (_nnrnn, RNN),
}

#: The names that `build` takes.
NAMES = tuple(_RECIPES)
