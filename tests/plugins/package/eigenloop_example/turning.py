"""A model of one's own: rotations and softsign."""

from __future__ import annotations

from functools import partial
from typing import Any

import torch

from eigenloop import RNN
from eigenloop_example.rotations import Rotations


def turning(
    input_size: int,
    hidden_size: int,
    *,
    largest: float = 3.0,
    generator: torch.Generator | None = None,
    **layer: Any,
) -> RNN:
    """An RNN that turns its state; options of the layer, `recurrent` included, win over those that are set here."""
    own = {"recurrent": partial(Rotations, largest=largest, generator=generator), "nonlinearity": "softsign"}
    return RNN(input_size, hidden_size, generator=generator, **{**own, **layer})
