"""Convert the accepted layouts of sequences to one: (T, B, features) and a mask of valid time steps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray


@dataclass(frozen=True, eq=False)
class Sequences:
    """A batch of sequences, time first.

    Attributes:
        x: (T, B, features), or tokens (T, B).
        valid: (T, B), whether a time step belongs to its sequence and is not padding.
        batched: False for a single sequence given without a batch dimension.
        batch_first: whether they were given as (B, T, features).
    """

    x: NDArray[Any]
    valid: NDArray[np.bool_]
    batched: bool
    batch_first: bool

    def restored(self, out: NDArray[Any]) -> NDArray[Any]:
        """Return (T, B, features) in the layout in which the input was given."""
        if not self.batched:
            return out[:, 0]
        return out.swapaxes(0, 1) if self.batch_first else out


def array_of(X: ArrayLike) -> NDArray[Any]:
    """Return an array, nested lists or a torch tensor on any device as a NumPy array."""
    return np.asarray(X.detach().cpu() if hasattr(X, "detach") else X)


def finite(x: NDArray[Any]) -> NDArray[Any]:
    """Return `x` unchanged; raise ValueError if it has NaN or infinite values, which have no codes."""
    if np.issubdtype(x.dtype, np.floating) and not np.isfinite(x).all():
        raise ValueError("the sequences hold NaN or infinite values: fill or remove them first")
    return x


def arranged(X: ArrayLike, lengths: Sequence[int] | None, batch_first: bool, tokens: bool, features: int) -> Sequences:
    """Return sequences, an array or a torch tensor, as (T, B, features) with padding set to zero.

    Raises:
        ValueError: the shape or `lengths` do not fit, there is no time step, or a valid value is not finite.
    """
    x = array_of(X)
    dimensions = 2 if tokens else 3
    shape = ("(B, T" if batch_first else "(T, B") + (")" if tokens else f", {features})")
    if x.ndim not in (dimensions - 1, dimensions):
        raise ValueError(f"expected sequences of shape {shape}, or without B for a single one, got {x.shape}")
    if not tokens and x.shape[-1] != features:
        raise ValueError(f"this network takes {features} features a step, got sequences of shape {x.shape}")
    batched = x.ndim == dimensions
    if not batched:
        x = x[:, None]
    elif batch_first:
        x = x.swapaxes(0, 1)
    if not x.size:
        raise ValueError(f"there is no step in sequences of shape {array_of(X).shape}")
    steps = np.arange(len(x))[:, None]
    counts = np.full(x.shape[1], len(x)) if lengths is None else np.asarray(lengths)
    if counts.shape != x.shape[1:2] or not ((counts >= 1) & (counts <= len(x))).all():
        raise ValueError(f"lengths has one entry from 1 to {len(x)} for each of the {x.shape[1]} sequences")
    valid = steps < counts
    if lengths is not None:
        padded = ~valid if tokens else ~valid[..., None]
        x = np.where(padded, np.zeros((), x.dtype), x)  # padding may hold anything, NaN included
    return Sequences(finite(x), valid, batched, batch_first)
