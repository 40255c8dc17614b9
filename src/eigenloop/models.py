"""The published models, built by name."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection
from typing import Any

from eigenloop import registry
from eigenloop.layers import GRU, LSTM, RNN, FastGRNN
from eigenloop.readout import Model
from eigenloop.recipes import RECIPES, Size
from eigenloop.recipes.own_matrix import without_effect

__all__ = ["NAMES", "Model", "build"]

#: The names that `build` accepts.
NAMES: Collection[str] = registry.MODELS


def build(name: str, input_size: int, hidden_size: Size, **options: Any) -> RNN | GRU | LSTM | FastGRNN:
    """Return the recurrent layer of a published model, initialised as in its paper.

    Besides the options of each model, every layer option of `RNN`, `GRU`, `LSTM` or `FastGRNN` is accepted
    (``num_layers``, ``batch_first``, ``nonlinearity``, ``dtype``, ...), and ``generator=`` for reproducible draws.
    ``recurrent=`` replaces the model's own recurrent matrix (None: does not); options of that matrix would then have no
    effect and raise an error.

    | name | model | own options |
    |---|---|---|
    | ``rnn`` | modReLU RNN, free W, Glorot start | ``init`` |
    | ``rnn-orth`` | modReLU RNN, W orthogonal only at the start | ``init`` |
    | ``scornn`` | scaled Cayley (Helfrich et al. 2018) | ``negative``, ``init`` |
    | ``exprnn`` | exponential map (Lezcano-Casado et al. 2019) | ``init`` |
    | ``dtriv`` | exponential map with a moving base (Lezcano-Casado 2019) | ``rebase_every``, ``init`` |
    | ``projunn`` | W itself, kept orthogonal by `optim.ProjUNN` (Kiani et al. 2022) | ``init`` |
    | ``ornn`` | Householder reflections (Mhammedi et al. 2017) | ``reflections``, ``init`` |
    | ``spectralrnn`` | U Sigma V^T, sigma near 1 (Zhang et al. 2018) | ``reflections``, ``margin`` |
    | ``eurnn`` | rotation layers, complex (Jing et al. 2017) | ``style``, ``capacity``, ``complex`` |
    | ``urnn-full`` | unitary, with `optim.UnitaryCayley` (Wisdom et al. 2016) | ``init`` |
    | ``nnrnn`` | Schur form (Kerg et al. 2019) | ``delta``, ``triangle_decay``, ``train_gamma``, ``blocks``, ... |
    | ``enrnn`` | long and short-term parts (Helfrich, Ye 2020) | ``short``, ``negative``, ``coupling``, ... |
    | ``ncgru`` | orthogonal GRU (Mucllari et al. 2022) | ``constrained``, ``negative``, ``order``, ... |
    | ``goru`` | rotation layers in a GRU (Jing et al. 2019) | ``style``, ``capacity`` |
    | ``qornn`` | orthogonal in few bits (Foucault et al. 2024) | ``bits``, ``strategy``, ``init``, ... |
    | ``lstm`` | LSTM, torch's equations, started as torch's or as TensorFlow's | ``init`` |
    | ``gru`` | GRU, torch's equations, started as torch's or as TensorFlow's | ``init`` |
    | ``fastgrnn`` | one product for gate and candidate (Kusupati et al. 2018) | ``init``, ``piecewise`` |

    Raises:
        ConfigError: no model has this name.
        TypeError: the model has no such option.
        ValueError: an option has no effect beside ``recurrent=``.

    >>> build("nnrnn", 10, 128, delta=1e-3).recurrent_matrix().shape
    torch.Size([128, 128])
    """
    if name not in RECIPES:
        raise registry.MODELS.unknown(name)
    recipe, layer = RECIPES[name]
    valid = _options_of(recipe) + _options_of(layer)
    unknown = [option for option in options if option not in valid]
    if unknown:
        raise TypeError(
            f"{name} has no option {', '.join(map(repr, unknown))}: its options are {', '.join(dict.fromkeys(valid))}"
        )
    if options.get("recurrent") is None:
        options.pop("recurrent", None)
    useless = without_effect(recipe, options)
    if useless:
        raise ValueError(
            f"recurrent= takes the place of the own matrix of {name}, whose options have no effect then: leave out "
            f"{', '.join(useless)}, or give the other matrix options with recurrent=functools.partial(...)"
        )
    made: RNN | GRU | LSTM | FastGRNN = recipe(input_size, hidden_size, **options)
    return made


def _options_of(function: Callable[..., Any]) -> list[str]:
    """List the options that a recipe or layer accepts, without those that the recipe sets itself."""
    decided = ("self", "input_size", "hidden_size", "proj_size")
    parameters = inspect.signature(function).parameters.values()
    return [p.name for p in parameters if p.name not in decided and p.kind is not p.VAR_KEYWORD]
