"""The recurrent layers, drop-in replacements for torch.nn's."""

from __future__ import annotations

from eigenloop.layers.fastgrnn import FastGRNN
from eigenloop.layers.gru import GRU
from eigenloop.layers.lstm import LSTM
from eigenloop.layers.rnn import RNN
from eigenloop.layers.stream import Stream

__all__ = ["GRU", "LSTM", "RNN", "FastGRNN", "Stream"]
