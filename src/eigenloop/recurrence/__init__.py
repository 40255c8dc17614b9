"""What happens over time. A recurrence takes the input already multiplied and knows nothing of constraints."""

from __future__ import annotations

from eigenloop.recurrence import buffers, kernel
from eigenloop.recurrence.activations import ACTIVATIONS, COMPLEX_ACTIVATIONS, Activation
from eigenloop.recurrence.gated import gated
from eigenloop.recurrence.lstm import lstm
from eigenloop.recurrence.simple import simple

__all__ = ["ACTIVATIONS", "COMPLEX_ACTIVATIONS", "Activation", "gated", "lstm", "release_memory", "simple"]


def release_memory() -> None:
    """Give the memory that is kept between calls back to the system: scratch, and outputs to be used again."""
    buffers.release()
    loaded = kernel.library()
    if loaded is not None:
        loaded.release_workspace()
