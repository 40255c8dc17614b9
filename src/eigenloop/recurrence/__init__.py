"""What happens over time. A recurrence knows nothing of constraints.

It takes the input x together with its weight U, or, where no `input_weight` is given, the input already multiplied. Two
vectors go with every recurrence: `input_bias` is added to U x, and `bias` belongs to the activation (modReLU's b).
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
    """Give the memory that is kept between calls back to the system: scratch, and outputs to be used again."""
    buffers.release()
    loaded = kernel.library()
    if loaded is not None:
        loaded.release_workspace()
