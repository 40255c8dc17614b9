"""The published models as recipes over layers and matrices, by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torch import nn

from eigenloop.layers import GRU, LSTM, RNN
from eigenloop.recipes.gated import goru, gru, lstm, ncgru
from eigenloop.recipes.quantized import qornn
from eigenloop.recipes.simple import (
    dtriv,
    enrnn,
    eurnn,
    exprnn,
    nnrnn,
    ornn,
    projunn,
    rnn,
    rnn_orth,
    scornn,
    spectralrnn,
    urnn_full,
)
from eigenloop.recipes.starts import Size

__all__ = ["RECIPES", "Size"]

#: Each name with its recipe and the layer whose options it hands on.
RECIPES: dict[str, tuple[Callable[..., Any], type[nn.Module]]] = {
    "rnn": (rnn, RNN),
    "rnn-orth": (rnn_orth, RNN),
    "lstm": (lstm, LSTM),
    "gru": (gru, GRU),
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
    "qornn": (qornn, RNN),
}
