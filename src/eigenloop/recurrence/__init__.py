"""What happens over time. A recurrence takes the input already multiplied and knows nothing of constraints."""

from __future__ import annotations

from eigenloop.recurrence.activations import ACTIVATIONS, COMPLEX_ACTIVATIONS
from eigenloop.recurrence.gated import gated
from eigenloop.recurrence.simple import simple

__all__ = ["ACTIVATIONS", "COMPLEX_ACTIVATIONS", "gated", "simple"]
