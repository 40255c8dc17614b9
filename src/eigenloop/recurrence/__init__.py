"""Recurrences over time. A recurrence knows nothing of constraints on its matrices.

It takes the input x together with its weight U or, without `input_weight`, the product U x. Each recurrence has two
biases: `input_bias` is added to U x, and `bias` belongs to the activation (modReLU's b).
"""

from __future__ import annotations

from eigenloop.recurrence import buffers, kernel
from eigenloop.recurrence.activations import ACTIVATIONS, COMPLEX_ACTIVATIONS, Activation
from eigenloop.recurrence.fastgrnn import fastgrnn
from eigenloop.recurrence.gated import gated
from eigenloop.recurrence.lstm import lstm, lstm_cells
from eigenloop.recurrence.rounding import Rounding
from eigenloop.recurrence.simple import simple

__all__ = [
    "ACTIVATIONS",
    "COMPLEX_ACTIVATIONS",
    "Activation",
    "Rounding",
    "fastgrnn",
    "gated",
    "lstm",
    "lstm_cells",
    "release_memory",
    "simple",
]


def release_memory() -> None:
    """Return to the system the memory that is kept between calls: workspaces and recycled outputs."""
    buffers.release()
    loaded = kernel.library()
    if loaded is not None:
        loaded.release_workspace()
